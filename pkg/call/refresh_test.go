package call

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// several declares servers in every state a refresh may find.
const several = `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
  more: {command: $FAKE, args: [-events, $WORK/events, -tools, $WORK/tools]}
  bad: {command: $FAKE, args: [-events, $WORK/events, -fault, exit-at-start=4]}
  hung: {command: $FAKE, args: [-events, $WORK/events, -fault, no-initialize]}
  off: {command: $FAKE, args: [-events, $WORK/events], enabled: false}
  out: {command: $FAKE, args: [-events, $WORK/events]}
policies:
  some: {servers: [fake, more, bad, docs], allow: [read]}
defaults: {policy: some, trust_level: 2}
`

func newSeveral(t *testing.T) *world {
	return newWorld(t, several, map[string]string{"tools": `[{"name":"a"},{"name":"b"}]`, "project/.mcp.json": repository})
}

// refresh asks servers for their lists and is what became of them, by id.
func (w *world) refresh(ctx context.Context, s *Session, limit time.Duration, ids ...string) map[string]Refreshed {
	w.t.Helper()
	v := s.View()
	var servers []*Server
	for _, id := range ids {
		servers = append(servers, v.Server(id))
	}
	got := map[string]Refreshed{}
	s.Refresh(ctx, v, servers, RefreshLimits{Jobs: 2, Timeout: limit}, func(r Refreshed) { got[r.Server.Declared.ID] = r })
	if len(got) != len(ids) {
		w.t.Errorf("%d of %d servers were reported", len(got), len(ids))
	}
	return got
}

// R66: a refresh starts the servers it names and no others, records what each lists
// and stops it; what failed keeps its last good list, and what is not trusted or
// disabled starts nothing.
func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	s := w.session(true)
	got := w.refresh(t.Context(), s, 2*time.Second, "fake", "more", "bad", "hung", "off", "docs")
	for id, word := range map[string]Word{"bad": Closed, "hung": Timeout, "off": Disabled, "docs": Untrusted} {
		if r := got[id]; r.Err == nil || r.Err.Word != word || r.Catalog != nil {
			t.Errorf("%s: %+v", id, r.Err)
		}
	}
	if m := got["hung"].Err.Message; !strings.Contains(m, "2s") || !strings.Contains(m, "hung") {
		t.Errorf("says %s", m)
	}
	if r := got["more"]; r.Err != nil || !slices.Equal(r.Change.Added, []string{"a", "b"}) || len(r.Catalog.Tools) != 2 {
		t.Errorf("more: %+v", r)
	}
	for id, started := range map[string]bool{"fake": true, "bad": true, "off": false, "docs": false} {
		if (got[id].Stderr != "") != started || started && filepath.Dir(got[id].Stderr) != w.path("state/stderr") {
			t.Errorf("%s: stderr in %q", id, got[id].Stderr)
		}
	}
	if n := w.starts(); n != 4 {
		t.Errorf("%d processes, want those of fake, more, bad and hung", n)
	}
	if n := len(mcptest.Events(t, w.events, "clean")); n < 2 {
		t.Errorf("%d servers were ended", n)
	}

	w.write("tools", `[{"name":"b","description":"new"},{"name":"c"}]`)
	r := w.refresh(t.Context(), s, upstreamBound, "more")["more"]
	if !slices.Equal(r.Change.Added, []string{"c"}) || !slices.Equal(r.Change.Removed, []string{"a"}) || !slices.Equal(r.Change.Changed, []string{"b"}) {
		t.Errorf("change %+v", r.Change)
	}
	if n := w.starts(); n != 5 {
		t.Errorf("%d processes for one server", n-4)
	}
	w.write("tools", "broken")
	if r := w.refresh(t.Context(), s, upstreamBound, "more")["more"]; r.Err == nil {
		t.Error("a broken server was refreshed")
	}
	if c, p := w.host.catalogs.Read(catalog.IdentityOf(s.View().Server("more").Declared)); p != catalog.Cached || len(c.Tools) != 2 {
		t.Error("the last good list is gone")
	}
}

// A refresh that is interrupted ends soon and leaves nothing running.
func TestRefreshIsInterrupted(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	s := w.session(true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the first was started
		mcptest.WaitEvents(t, w.events, "start", 1)
		cancel()
	}()
	begin := time.Now()
	got := w.refresh(ctx, s, time.Minute, "hung", "fake", "more", "bad")
	if r := got["hung"]; r.Err == nil || r.Err.Word != Cancelled {
		t.Errorf("hung: %+v", r.Err)
	}
	if took := time.Since(begin); took > upstreamBound {
		t.Errorf("it took %v", took)
	}
	got = w.refresh(ctx, s, time.Minute, "fake")
	if r := got["fake"]; r.Err == nil || r.Err.Word != Cancelled || r.Stderr != "" {
		t.Errorf("fake: %+v", r)
	}
}

// A refresh whose list cannot be kept has failed: the record is what was asked for.
func TestRefreshWithoutCache(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	if err := os.RemoveAll(w.path("cache")); err != nil {
		t.Fatal(err)
	}
	w.write("cache", "")
	if r := w.refresh(t.Context(), w.session(true), upstreamBound, "fake")["fake"]; r.Err == nil || r.Err.Word != Unavailable {
		t.Errorf("got %+v", r)
	}
}

// R66: a discovery starts the trusted servers of the caller that were never
// listed, at the same time, shows what they said when it is over, and does not
// repeat what failed.
func TestDiscover(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	w.allow("docs", config.ClassRead)
	w.list(true, "more")
	listed := w.starts()
	s := w.session(true)
	wait := func() {
		t.Helper()
		select {
		case <-s.Discover(t.Context()):
		case <-time.After(mcptest.Bound):
			t.Fatal("it does not end")
		}
	}
	wait()
	v := s.View()
	for id, want := range map[string]catalog.Provenance{"fake": catalog.Live, "docs": catalog.Live, "more": catalog.Cached, "bad": catalog.Missing, "off": catalog.Missing, "out": catalog.Missing} {
		if got := v.Server(id).Provenance; got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if n := w.starts() - listed; n != 3 {
		t.Errorf("%d processes, want those of fake, docs and bad", n)
	}
	wait()
	if n := w.starts() - listed; n != 3 {
		t.Errorf("a second discovery started %d processes", n-3)
	}
	told := strings.Join(w.warnings(), "\n")
	if !strings.Contains(told, "bad") || !strings.Contains(told, "exit status 4") {
		t.Errorf("nobody was told of the failure: %s", told)
	}
}

// Tools lists what may be called of one server, from its record or, when there
// is none, from the server.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	s := w.session(true)
	for id, word := range map[string]Word{"off": Disabled, "out": PolicyDenied, "docs": Untrusted, "nobody": UnknownTool, "bad": Closed} {
		before := w.starts()
		tools, err := s.Tools(t.Context(), id)
		r, ok := asError[*Refusal](err)
		if !ok || r.Word != word || r.Step == "" || tools != nil {
			t.Errorf("%s: %v, %v", id, tools, err)
		}
		if started := w.starts() - before; started != 0 && id != "bad" {
			t.Errorf("%s was started", id)
		}
	}
	before := w.starts()
	for range 2 {
		tools, err := s.Tools(t.Context(), "fake")
		if err != nil || len(tools) != 2 || tools[0].Exposed != "fake__echo" || tools[1].Exposed != "fake__env" {
			t.Errorf("%v, %v", tools, err)
		}
	}
	if n := w.starts() - before; n != 1 {
		t.Errorf("%d processes", n)
	}
}

// Find resolves one tool and neither decides, sends nor logs.
func TestFind(t *testing.T) {
	t.Parallel()
	w := newSeveral(t)
	s := w.session(true)
	for range 2 {
		found, r := s.Find(t.Context(), "fake", "slow")
		if r != nil || found.Def.Name != "slow" || found.Visible() {
			t.Errorf("got %+v, %v", found, r)
		}
	}
	for _, c := range []struct {
		server, tool string
		word         Word
	}{{"fake", "nope", UnknownTool}, {"nobody", "x", UnknownTool}, {"docs", "echo", Untrusted}, {"out", "echo", PolicyDenied}} {
		if found, r := s.Find(t.Context(), c.server, c.tool); r == nil || r.Word != c.word || r.Step == "" || found != nil {
			t.Errorf("%s/%s: %+v, %v", c.server, c.tool, found, r)
		}
	}
	if n := w.starts(); n != 1 || len(w.sent()) != 0 {
		t.Errorf("%d processes, sent %q", n, w.sent())
	}
}

// C23: the commands that count as postern itself.
func TestSelfPaths(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := SelfPaths([]string{"mcp-serve", "mcp-call"})
	if len(got) != 3 || filepath.Base(got[0]) != filepath.Base(exe) || got[1] != filepath.Join(filepath.Dir(got[0]), "mcp-serve") {
		t.Errorf("got %q", got)
	}
}
