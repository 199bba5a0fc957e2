package pool

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
)

// R21, R22: a server with an open task is not idle, for an hour at most, and wanted
// when it dies; released, it rests as any other.
func TestTaskKeepsItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		w.join("a")
		srv := w.server()
		srv.RestartDelay = time.Second
		a := w.approve(srv)
		i := w.get(a)
		i.Hold("a", "t1")
		after(config.TaskLife - time.Second)
		if w.pool.Running(a.Key()) == nil {
			t.Fatal("it was stopped with a task open")
		}
		f.last().crash()
		after(500 * time.Millisecond)
		if f.started() != 1 {
			t.Fatal("started again before its time")
		}
		after(time.Minute)
		if f.started() != 2 {
			t.Fatalf("%d starts: a task does not want its server", f.started())
		}
		if key, ok := w.holder("a", "t1"); !ok || key != a.Key() {
			t.Error("the task is forgotten")
		}
		after(srv.IdleStop + time.Minute)
		if w.pool.Running(a.Key()) != nil {
			t.Error("it runs for a task of more than an hour")
		}

		i = w.get(a)
		i.Hold("a", "t2")
		after(srv.IdleStop + time.Second)
		if w.pool.Running(a.Key()) == nil {
			t.Fatal("it was stopped with a task open")
		}
		i.Release("a", "t2")
		after(time.Second)
		if w.pool.Running(a.Key()) != nil {
			t.Error("it runs without a task")
		}
	})
}

// R22: a subscription keeps its server as long as its session is there.
func TestSubscriptionKeepsItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWorld(t)
		w.join("a")
		a := w.approve(w.server())
		i := w.get(a)
		if _, err := i.Subscribe(t.Context(), "a", text, upstream.Call{}); err != nil {
			t.Fatal(err)
		}
		after(99 * time.Hour)
		if w.pool.Running(a.Key()) != i {
			t.Fatal("it was stopped while somebody is subscribed")
		}
		w.pool.Stop(a.Key())
		after(99 * time.Hour)
		if w.berths() != 1 {
			t.Fatal("what is subscribed to is forgotten")
		}
		w.pool.Leave("a")
		after(time.Hour)
		if w.berths() != 0 {
			t.Error("it is remembered for nobody")
		}
	})
}

// Tasks are found by session and id, the newest first; of one server so many are
// kept, and who has most gives way; a session's are forgotten with it, and one that has left holds nothing.
func TestTasksAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWorld(t)
		w.join("a")
		w.join("b")
		first, second := w.approve(w.server()), w.approve(w.server("-ttl", "1"))
		one, two := w.get(first), w.get(second)
		holder := func(session, id string) string {
			switch key, ok := w.holder(session, id); {
			case !ok:
				return ""
			case key == first.Key():
				return "first"
			default:
				return "second"
			}
		}
		one.Hold("a", "t")
		after(time.Second)
		two.Hold("a", "t")
		if holder("a", "t") != "second" || holder("b", "t") != "" || holder("a", "u") != "" {
			t.Error("found in the wrong place")
		}
		two.Release("a", "t")
		if holder("a", "t") != "first" {
			t.Error("not found where it still is")
		}
		two.Hold("b", "b")
		for n := range config.ServerTasks {
			time.Sleep(time.Millisecond)
			two.Hold("a", fmt.Sprint(n))
		}
		if holder("a", "0") != "" || holder("b", "b") != "second" || holder("a", "1") != "second" {
			t.Error("the oldest of who has most stays, or another goes")
		}
		w.pool.Leave("a")
		two.Hold("a", "late")
		if holder("a", "1")+holder("a", "t")+holder("a", "late") != "" {
			t.Error("a session that has left has tasks")
		}
	})
}

// R73: a modern server is listened to for the tasks that are held, and what it says
// goes to the session that holds them.
func TestModernTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.join("b")
	a := w.join("a")
	i := w.get(w.approve(w.server("-more", "-era", "modern")))
	call := toolCall("task", `{"ms":0,"requests":{"q":{"method":"roots/list"}}}`)
	call.Capabilities = []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	reply, _, err := i.Do(t.Context(), "a", call)
	if err != nil {
		t.Fatal(err)
	}
	id := member(reply.Message.ResultBytes(), "taskId")
	i.Hold("a", id)
	until(t, "it is listened to for the task", func() bool {
		filters, _ := w.listens()
		return strings.Contains(strings.Join(filters, "\n"), `"taskIds":["`+id+`"]`)
	})
	until(t, "that is acknowledged", func() bool {
		i.listens.mu.Lock()
		defer i.listens.mu.Unlock()
		return i.listens.now != nil && i.listens.next == nil
	})
	if _, _, err := i.Do(t.Context(), "b", toolCall("finish", `{"taskId":"`+id+`"}`)); err != nil {
		t.Fatal(err)
	}
	until(t, "its holder is told", func() bool { return strings.Contains(strings.Join(a.told(), "\n"), taskModern+" ") })
}

// R72: a server that speaks of a task before it answers the call that makes it is
// heard by the session that holds the task then, in order, and by nobody else. Of
// what nobody has so much is kept.
func TestEarlyNewsOfATask(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	begun := c.calls("a b")
	c.server.says(taskStatus, `{"taskId":"0","status":"lost"}`)
	for n := range config.EarlyNews {
		c.server.says(taskStatus, fmt.Sprintf(`{"taskId":"t%d","status":"%d"}`, n%2, n))
	}
	c.server.says(taskStatus, `{"taskId":"0","status":"`+strings.Repeat("x", config.EarlyBytes)+`"}`)
	if got := c.heard(); got != "" {
		t.Errorf("heard by %q before anybody holds it", got)
	}
	dropped := c.i.Info().Dropped
	c.i.Hold("a", "0")
	c.i.Hold("b", "t1")
	c.server.says(taskStatus, `{"taskId":"t1","status":"over"}`)
	want := taskStatus
	for n := 1; n < config.EarlyNews; n += 2 {
		want += fmt.Sprintf(` {"taskId":"t1","status":"%d"}`+"\n"+taskStatus, n)
	}
	want += ` {"taskId":"t1","status":"over"}`
	if got := strings.Join(c.people["b"].told(), "\n"); got != want {
		t.Errorf("its holder was told\n%s\nnot\n%s", got, want)
	}
	if got := c.heard(); got != "" {
		t.Errorf("heard by %q, too", got)
	}
	if got := c.i.Info().Dropped; got != dropped-config.EarlyNews/2 {
		t.Errorf("%d dropped, then %d", dropped, got)
	}
	c.answered(begun)
}

// holder is the key whose server has a task of a session; of several the one that
// was held last.
func (w *world) holder(session, id string) (key string, ok bool) {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	var newest time.Time
	for _, b := range w.pool.berths {
		if until, held := b.tasks[task{session, id}]; held && until.After(newest) {
			key, ok, newest = b.key, true, until
		}
	}
	return key, ok
}
