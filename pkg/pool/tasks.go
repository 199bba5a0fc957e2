package pool

import (
	"maps"
	"slices"
	"time"

	"postern/pkg/config"
)

// task is one open task of one session; a server may use an id twice.
type task struct{ session, id string }

// Hold says that a session has a task with this server: for config.TaskLife, or
// until it is Released, the server is not stopped for idleness, and it is
// restarted when it dies. What the server says of the task goes to the session
// as long as that is there. Of one server the newest config.ServerTasks are kept. A
// task that is held again begins a new hour.
func (i *Instance) Hold(session, id string) {
	if !i.hold(session, id) || !i.hasTasks() || i.listens.due.Swap(true) {
		return
	}
	if i.pool.attend() {
		go i.listenForTasks() // ends when the listen is acknowledged or refused, or with the connection
	}
}

// hold notes a task; false when the session is not there any more.
func (i *Instance) hold(session, id string) bool {
	p, b := i.pool, i.berth
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.here(session) {
		return false
	}
	p.user(b, session)
	b.tasks[task{session, id}] = time.Now().Add(config.TaskLife)
	if len(b.tasks) > config.ServerTasks {
		delete(b.tasks, b.oldestTask())
	}
	p.nudge()
	return true
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
	delete(i.berth.tasks, task{session, id})
	i.pool.nudge()
}

// Holder is the key whose server has this task of a session, whether that runs or
// not. Where two have a task with the id, it is the one that was held last.
func (p *Pool) Holder(session, id string) (key string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var newest time.Time
	for _, b := range p.berths {
		if until, held := b.tasks[task{session, id}]; held && until.After(newest) {
			key, ok, newest = b.key, true, until
		}
	}
	return key, ok
}

// holder is a session with a task.
type holder struct {
	session string
	peer    Peer
}

// holders is the sessions with a task of this id. More than one means that the
// server does not tell its tasks apart.
func (i *Instance) holders(id string) (all []holder) {
	i.pool.mu.Lock()
	defer i.pool.mu.Unlock()
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

func (b *berth) oldestTask() (oldest task) {
	var first time.Time
	for t, until := range b.tasks {
		if first.IsZero() || until.Before(first) {
			oldest, first = t, until
		}
	}
	return oldest
}

func (b *berth) forgetTasks(session string) {
	for t := range b.tasks {
		if t.session == session {
			delete(b.tasks, t)
		}
	}
}
