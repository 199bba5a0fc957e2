package pool

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// task is one open task of one session; a server may use an id twice.
type task struct{ session, id string }

// Hold says that a session has a task with this server: for config.TaskLife, or
// until it is Released, the server is not stopped for idleness, and it is
// restarted when it dies. What the server says of the task goes to the session
// as long as that is there. Of one server the newest config.ServerTasks are kept, and
// the session with most gives way. A
// task that is held again begins a new hour.
func (i *Instance) Hold(session, id string) {
	if !i.hold(session, id) || !i.hasTasks() || i.listens.due.Swap(true) {
		return
	}
	if i.pool.attend() {
		go i.listenForTasks() // ends when the listen is acknowledged or refused, or with the connection
	}
}

// hold notes a task; false when the session is not there any more. What the server
// said of the task before goes to the session first.
func (i *Instance) hold(session, id string) bool {
	for tries := 0; ; tries++ {
		early, ok := i.tryHold(session, id, tries == config.EarlyNews)
		if !ok {
			return false
		}
		for _, m := range early.news {
			early.peer.Note(i.server, m)
		}
		if early.held {
			return true
		}
	}
}

// early is what a server said of a task before anybody was known to have it.
type early struct {
	peer Peer
	news []wire.Message
	held bool
}

// tryHold takes what was said of a task, and notes the task once there is nothing:
// what comes meanwhile must not be told first. In the end it is noted whatever
// there is.
func (i *Instance) tryHold(session, id string, end bool) (e early, ok bool) {
	p, b := i.pool, i.berth
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.here(session) {
		return e, false
	}
	e.peer = p.peers[session]
	if e.peer != nil {
		about := func(m wire.Message) bool { return member(m.ParamsBytes(), "taskId") == id }
		for _, m := range i.early {
			if about(m) {
				e.news = append(e.news, m)
			}
		}
		i.early = slices.DeleteFunc(i.early, about)
		i.dropped.Add(-uint64(len(e.news)))
	}
	if len(e.news) > 0 && !end {
		return e, true
	}
	p.user(b, session)
	b.tasks[task{session, id}] = time.Now().Add(config.TaskLife)
	if len(b.tasks) > config.ServerTasks {
		b.forgetTask(b.oldestTask())
	}
	p.nudge()
	e.held = true
	return e, true
}

// toHolder is the session that has the task which a notification is about. A server
// may speak of a task before it answers the call that makes it: what is of nobody
// is kept for whoever holds it soon, and counts as dropped until then.
func (i *Instance) toHolder(m wire.Message) Peer {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	id := member(m.ParamsBytes(), "taskId")
	switch holders := i.holdersOf(id); {
	case len(holders) == 1:
		return holders[0].peer
	case len(holders) == 0 && len(m.Raw) <= config.EarlyBytes:
		if len(i.early) == config.EarlyNews {
			i.early = slices.Delete(i.early, 0, 1)
		}
		m.Raw = bytes.Clone(m.Raw) // it may lie in a large buffer
		i.early = append(i.early, m)
	}
	return nil
}

// listenForTasks listens for what is held by now. One under way does for all that
// are held before it begins.
func (i *Instance) listenForTasks() {
	defer i.pool.watch.Done()
	i.pool.contain("server "+i.server.ID, i.listenAgain)
}

// Release says that a task is over. What the server says of it later goes
// nowhere.
func (i *Instance) Release(session, id string) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	i.berth.forgetTask(task{session, id})
	i.pool.nudge()
}

// holder is a session with a task.
type holder struct {
	session string
	peer    Peer
}

// owners is the sessions with a task of this id, or else those that had one last,
// peer being nil where they have left. More than one means that the server does
// not tell its tasks apart. None means that nobody had one yet.
func (i *Instance) owners(id string) []holder {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	all := i.holdersOf(id)
	if len(all) > 0 {
		return all
	}
	for _, t := range i.berth.past {
		if t.id == id {
			all = append(all, holder{t.session, i.pool.peers[t.session]})
		}
	}
	return all
}

// sameOwner is the one that all are, if it is still there.
func sameOwner(owners []holder) (session string, peer Peer) {
	first := owners[0]
	if first.peer == nil || slices.ContainsFunc(owners, func(h holder) bool { return h.session != first.session }) {
		return "", nil
	}
	return first.session, first.peer
}

// holdersOf is the sessions that have a task of this id and are there. The caller
// holds Pool.mu.
func (i *Instance) holdersOf(id string) (all []holder) {
	for t := range i.berth.tasks {
		if peer := i.pool.peers[t.session]; t.id == id && peer != nil {
			all = append(all, holder{t.session, peer})
		}
	}
	return all
}

// taskIDs is the tasks that are held, in order.
func (i *Instance) taskIDs() []string {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
	ids := map[string]bool{}
	for t := range i.berth.tasks {
		ids[t.id] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// tasksUntil is until when the open tasks of b keep it from being stopped.
func (b *berth) tasksUntil() (latest time.Time) {
	for _, until := range b.tasks {
		if until.After(latest) {
			latest = until
		}
	}
	return latest
}

// oldestTask is the oldest of the session with most.
func (b *berth) oldestTask() task {
	all := slices.SortedFunc(maps.Keys(b.tasks), func(x, y task) int { return b.tasks[x].Compare(b.tasks[y]) })
	return all[givesWay(all, func(t task) string { return t.session })]
}

func (b *berth) forgetTasks(session string) {
	for t := range b.tasks {
		if t.session == session {
			b.forgetTask(t)
		}
	}
}

// forgetTask ends what holding a task does, and remembers whose it was, of the
// last config.ServerTasks: what the server still has to say of it is for nobody
// else. The caller holds Pool.mu, as with the others.
func (b *berth) forgetTask(t task) {
	if _, held := b.tasks[t]; !held {
		return
	}
	delete(b.tasks, t)
	if len(b.past) >= config.ServerTasks {
		gone := givesWay(b.past, func(t task) string { return t.session })
		b.past = slices.Delete(b.past, gone, gone+1)
	}
	b.past = append(b.past, t)
}
