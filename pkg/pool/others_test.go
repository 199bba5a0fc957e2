package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// asks is the session that a question of the server's is put to.
func (c *crowd) asks(params string) (who string) {
	m, err := wire.Parse(wire.RequestLine([]byte("1"), "elicitation/create", []byte(params)))
	if err != nil {
		c.t.Fatal(err)
	}
	session, peer := c.i.addressee(m.ParamsBytes())
	if (peer == nil) != (session == "") {
		c.t.Errorf("session %q with peer %v", session, peer)
	}
	return session
}

// R72: what names a task of one session is never put to another one, not even when
// that is the only one with a call under way: not after the session of the task has
// left, not after the task is over, and not when two have tasks of that id.
func TestMessagesOfTasksStayWithTheirSession(t *testing.T) {
	const about = `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},"message":"m"}`
	c := newCrowd(t, upstream.Info{})
	begun := c.calls("b")
	c.i.Hold("a", "t")
	check := func(what, want string) {
		t.Helper()
		if got := c.asks(about); got != want {
			t.Errorf("%s: put to %q, want %q", what, got, want)
		}
		if c.server.says("notifications/vendor/x", about); c.heard() != want {
			t.Errorf("%s: a notification went elsewhere", what)
		}
	}
	check("held", "a")
	c.i.Release("a", "t")
	check("over", "a")
	c.i.Hold("c", "t")
	check("held by another one since", "c")
	c.i.Hold("a", "t")
	check("held by two", "")
	c.i.Hold("b", "t")
	check("held by three", "")
	c.i.Release("b", "t")
	c.i.Release("c", "t")
	c.pool.Leave("a")
	c.i.Release("a", "t")
	check("its sessions are several", "")
	c.i.Hold("c", "u")
	c.pool.Leave("c")
	if got := c.asks(strings.Replace(about, `"t"`, `"u"`, 1)); got != "" {
		t.Errorf("a question about a task of a session that has left is put to %q", got)
	}
	if got := c.asks(strings.Replace(about, `"t"`, `"new"`, 1)); got != "b" {
		t.Errorf("one about a task that nobody had is put to %q", got)
	}
	c.answered(begun)
	for range config.ServerTasks + 10 {
		c.i.Hold("b", "v")
		c.i.Release("b", "v")
	}
	if n := len(c.i.berth.past); n > config.ServerTasks {
		t.Errorf("%d tasks are remembered", n)
	}
}

// MB-098, R72: a server may go on with a call that its session has given up, and ask
// about it. Nobody else is asked then, and the session itself only in a call.
func TestMB098QuestionsOfACallThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, upstream.Info{})
		c.server.answers(silent)
		asks := func(what, want string) {
			t.Helper()
			if got := c.asks(`{"message":"m"}`); got != want {
				t.Errorf("%s: put to %q, want %q", what, got, want)
			}
		}
		calls := func(session string, limit time.Duration) (cancel context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			call := toolCall("echo", "{}")
			call.Timeout = limit
			go func() { _, _, _ = c.i.Do(ctx, session, call) }() // ends with cancel, or limit
			synctest.Wait()
			return cancel
		}
		calls("a", time.Second)
		end := calls("b", time.Hour)
		asks("two are under way", "")
		time.Sleep(2 * time.Second)
		asks("one of two has timed out", "")
		time.Sleep(config.GivenUpLife)
		asks("that was a while ago", "b")
		other := calls("a", time.Hour)
		end()
		synctest.Wait()
		asks("one of two was cancelled", "")
		other()
		synctest.Wait()
		asks("none is under way", "")
		end = calls("b", time.Hour)
		asks("another one gave up, too", "")
		time.Sleep(config.GivenUpLife)
		asks("that was a while ago", "b")
		end()
		synctest.Wait()
		end = calls("b", time.Hour)
		asks("it gave up itself", "b")
		end()
		c.pool.Leave("b")
		calls("c", time.Second)
		asks("who gave up has left", "")
	})
}

// R24, R72: a session with very many tasks does not make those of others forgotten,
// nor whose they were.
func TestManyTasksOfOneSession(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	c.i.Hold("b", "mine")
	c.i.Hold("b", "past")
	c.i.Release("b", "past")
	begun := c.calls("c")
	for n := range config.ServerTasks + 10 {
		c.i.Hold("a", fmt.Sprint(n))
	}
	for n := range config.ServerTasks + 10 {
		c.i.Release("a", fmt.Sprint(n))
	}
	if c.server.says(taskStatus, `{"taskId":"mine"}`); c.heard() != "b" {
		t.Error("the task of another session is forgotten")
	}
	for _, id := range []string{"mine", "past"} {
		if got := c.asks(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}},"message":"m"}`); got != "b" {
			t.Errorf("a question about the task %s of b is put to %q", id, got)
		}
	}
	if n := len(c.i.berth.past); n > config.ServerTasks {
		t.Errorf("%d tasks are remembered", n)
	}
	c.answered(begun)
}

// R42, S9: what a server wrote last may be about the call of another session, whether
// that was answered or not: then nobody is told it, not even when the server is held
// down for it. Its user sees it in status.
func TestLastWordsOfAnothersCall(t *testing.T) {
	t.Parallel()
	const words = "the arguments of a were odd"
	w := newWorld(t)
	w.join("a")
	w.join("b")
	srv := w.server()
	srv.MaxConcurrency = 4
	a := w.approve(srv)
	for n := range config.FlapDeaths {
		i := w.get(a)
		before := len(w.received("tools/call"))
		bystander := begin(t, i, "b", "never", "{}")
		until(t, "the call is there", func() bool { return len(w.received("tools/call")) == before+1 })
		await(t, begin(t, i, "a", "exit", `{"stderr":"`+words+`"}`))
		f := failure(t, await(t, bystander).err, upstream.Closed)
		if strings.Contains(f.Explained(), words) {
			t.Fatalf("%d: b is told %s", n, f.Explained())
		}
		until(t, "it is gone", func() bool { return w.pool.Running(a.Key()) == nil })
	}
	_, err := w.pool.Get(t.Context(), a)
	var held *HeldError
	if !errors.As(err, &held) || strings.Contains(err.Error(), words) {
		t.Errorf("got %v", err)
	}
	if s := w.pool.Status()[0]; !strings.Contains(s.LastError, words) {
		t.Errorf("the user is told %s", s.LastError)
	}
	other := w.approve(w.server("-ttl", "1"))
	if o := await(t, begin(t, w.get(other), "a", "exit", `{"stderr":"`+words+`"}`)); !strings.Contains(failure(t, o.err, upstream.Closed).Explained(), words) {
		t.Errorf("whose call it was is told %v", o.err)
	}
}

// A server cannot make the pool keep what it likes: the id of an elicitation is as
// long as a name at most.
func TestLongElicitationsAreNotRemembered(t *testing.T) {
	c := newCrowd(t, upstream.Info{})
	c.i.remember("a", strings.Repeat("x", config.MaxToolName))
	c.i.remember("a", strings.Repeat("x", config.MaxToolName+1))
	if n := len(c.i.berth.elicitations); n != 1 {
		t.Errorf("%d are remembered", n)
	}
}

// R24: a request that could not be written says nothing about the server: no agent
// can open the breaker for all others by sending what nobody can read.
func TestUnsentRequestsDoNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a := w.approve(w.server())
		w.get(a)
		sent := false
		f.last().answers(func(context.Context, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{}, &upstream.Failure{Word: upstream.Protocol, Server: "fake", Sent: sent, Detail: "the params of the request: _meta is not an object"}
		})
		for range 6 {
			failure(t, w.slowly(a), upstream.Protocol)
		}
		sent = true // an answer that breaks the protocol
		for range 5 {
			failure(t, w.slowly(a), upstream.Protocol)
		}
		open(t, w.slowly(a), 30*time.Second)
	})
}
