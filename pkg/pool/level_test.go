package pool

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// levelled is a server, and in which order it was told of levels and called.
func levelled(t *testing.T, w *world, f *fakes, info upstream.Info) (*Instance, func() string) {
	f.info = info
	i := w.get(w.approve(w.server()))
	heard := make(chan string, 64)
	f.last().answers(func(_ context.Context, call upstream.Call) (upstream.Reply, error) {
		switch {
		case call.Method == "logging/setLevel":
			heard <- member(call.Params, "level")
		case call.LogLevel != "":
			heard <- "call at " + call.LogLevel
		default:
			heard <- "call"
		}
		return fine(), nil
	})
	return i, func() string {
		var all []string
		for len(heard) > 0 {
			all = append(all, <-heard)
		}
		return strings.Join(all, ", ")
	}
}

var logging = []byte(`{"logging":{}}`)

// R72: a legacy server is told the lowest level that its sessions want, before the
// call it matters for and only when that is another.
func TestLevelIsTheLowest(t *testing.T) {
	w, f := fakeWorld(t)
	a, b := w.join("a"), w.join("b")
	i, heard := levelled(t, w, f, upstream.Info{Capabilities: logging})
	for _, step := range []struct {
		session string
		p       *person
		level   string
		want    string
	}{
		{"a", a, "", "call"},
		{"a", a, "warning", "warning, call"},
		{"a", a, "warning", "call"},
		{"b", b, "", "call"},
		{"b", b, "debug", "debug, call"},
		{"a", a, "error", "call"},
		{"b", b, "alert", "error, call"},
		{"b", b, "alert", "call"},
		{"b", b, "no such word", "call"},
		{"a", a, "emergency", "emergency, call"},
		{"nobody", a, "emergency", "call"},
	} {
		step.p.wants(step.level)
		if _, _, err := i.Do(t.Context(), step.session, toolCall("echo", "{}")); err != nil {
			t.Fatal(err)
		}
		if got := heard(); got != step.want {
			t.Errorf("%s at %q: %q, want %q", step.session, step.level, got, step.want)
		}
	}
}

// R72: what one session wanted to hear does not stay for the others when it leaves.
func TestLevelOfWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		a, b := w.join("a"), w.join("b")
		i, heard := levelled(t, w, f, upstream.Info{Capabilities: logging})
		a.wants("debug")
		b.wants("error")
		for _, s := range []string{"b", "a"} {
			if _, _, err := i.Do(t.Context(), s, toolCall("echo", "{}")); err != nil {
				t.Fatal(err)
			}
		}
		heard()
		w.join("c")
		w.pool.Leave("c")
		w.pool.Leave("a")
		synctest.Wait()
		if got := heard(); got != "error" {
			t.Errorf("told %q", got)
		}
		w.pool.Leave("b") // and nobody is left
		synctest.Wait()
		if got := heard(); got != "" {
			t.Errorf("told %q", got)
		}
	})
}

// A server without logging is told nothing, and a modern one with each call, unless
// that says for itself.
func TestLevelByServer(t *testing.T) {
	for name, tt := range map[string]struct {
		info upstream.Info
		call string
		want string
	}{
		"no logging":            {upstream.Info{Capabilities: []byte(`{"tools":{}}`)}, "", "call"},
		"modern":                {upstream.Info{Era: upstream.EraModern, Capabilities: logging}, "", "call at info"},
		"modern, in the call":   {upstream.Info{Era: upstream.EraModern, Capabilities: logging}, "debug", "call at debug"},
		"legacy, told and calm": {upstream.Info{Capabilities: logging}, "", "info, call"},
	} {
		w, f := fakeWorld(t)
		w.join("a").wants("info")
		i, heard := levelled(t, w, f, tt.info)
		call := toolCall("echo", "{}")
		call.LogLevel = tt.call
		if _, _, err := i.Do(t.Context(), "a", call); err != nil {
			t.Fatal(err)
		}
		if got := heard(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A server that does not answer logging/setLevel is waited for once, and a started
// one is told anew.
func TestLevelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		w.join("a").wants("info")
		f.info = upstream.Info{Capabilities: logging}
		a := w.approve(w.server())
		i := w.get(a)
		f.last().answers(func(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
			if call.Method == "logging/setLevel" {
				return silent(ctx, call)
			}
			return fine(), nil
		})
		for n, want := range []time.Duration{config.LevelWait, 0} {
			begin := time.Now()
			if _, _, err := i.Do(t.Context(), "a", toolCall("echo", "{}")); err != nil || time.Since(begin) != want {
				t.Errorf("call %d: %v after %v", n, err, time.Since(begin))
			}
		}
		w.pool.Stop(a.Key())
		w.mustAnswer("a", a)
		if n := f.last().received(); n != 2 {
			t.Errorf("%d requests to the server that was started again", n)
		}
	})
}

// R72: each session is told what its own level lets through.
func TestMessagesAreFiltered(t *testing.T) {
	w, f := fakeWorld(t)
	f.info = upstream.Info{Capabilities: logging}
	i := w.get(w.approve(w.server()))
	m := func(level string) wire.Message {
		m, err := wire.Parse(wire.NotificationLine(logMessage, []byte(`{"level":"`+level+`","data":1}`)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, tt := range []struct {
		told   string // to the server
		modern bool
		wants  string
		shown  string
	}{
		{"", false, "", "debug info error odd"},
		{"debug", false, "", "info error odd"},
		{"debug", false, "debug", "debug info error odd"},
		{"debug", false, "warning", "error odd"},
		{"debug", true, "", ""},
		{"debug", true, "info", "info error odd"},
	} {
		i.level.Store(rank(tt.told))
		p := &person{level: tt.wants, modern: tt.modern}
		var shown []string
		for _, level := range []string{"debug", "info", "error", "odd"} {
			if i.wanted(p, m(level)) {
				shown = append(shown, level)
			}
		}
		if !slices.Equal(shown, strings.Fields(tt.shown)) {
			t.Errorf("%+v: shown %q", tt, shown)
		}
	}
}
