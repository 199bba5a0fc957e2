package pool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// offer is what a catalog has of the lists beside the tools.
func offer(c *catalog.Catalog) string {
	var all []string
	for _, p := range c.ParsedPrompts() {
		all = append(all, p.Name)
	}
	for _, r := range c.ParsedResources() {
		all = append(all, r.URI)
	}
	for _, t := range c.ParsedTemplates() {
		all = append(all, t.URI)
	}
	return strings.Join(all, " ")
}

const offered = "greet rounds fake://text fake://blob fake://rounds fake://big/{bytes} fake://item/{id}"

// R14, R73: all four lists are read at the start, in both eras, and recorded.
func TestAllListsAreRead(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		w := newWorld(t)
		srv := w.server("-more", "-era", era)
		i := w.get(w.approve(srv))
		recorded, _ := w.catalogs.Read(catalog.IdentityOf(srv))
		if recorded == nil || offer(i.Catalog()) != offered || offer(recorded) != offered || len(i.Catalog().Tools) == 0 {
			t.Errorf("%s: %s", era, offer(i.Catalog()))
		}
	}
}

// MB-095, R54: after each of the three announcements that list is read again, no
// other, and what is new is told; what is the same is not (MB-093).
func TestEachListChanges(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		w := newWorld(t)
		i := w.get(w.approve(w.server("-more", "-era", era)))
		if era == "modern" {
			until(t, "it is listened to", func() bool { i.listens.mu.Lock(); defer i.listens.mu.Unlock(); return i.listens.now != nil })
		}
		until(t, "the start is told", func() bool { return w.changes.Load() == 1 })
		for n, tt := range []struct{ change, asked, want string }{
			{`{"prompts":[{"name":"new"}]}`, "prompts/list", "new fake://text"},
			{`{"resources":[{"uri":"new:"}]}`, "resources/list", "new new:"},
			{`{"templates":[{"uriTemplate":"new:{x}"}]}`, "resources/templates/list", "new new: new:{x}"},
		} {
			before := len(w.received(tt.asked))
			w.mustCall(i, "change", tt.change)
			until(t, era+": the change is seen: "+tt.want, func() bool { return strings.HasPrefix(offer(i.Catalog()), tt.want) })
			until(t, "and told", func() bool { return w.changes.Load() == int64(n+2) })
			if got := len(w.received(tt.asked)); got != before+1 {
				t.Errorf("%s: %s was asked for %d times", era, tt.asked, got-before)
			}
		}
		if got := len(w.received("tools/list")); got != 1 {
			t.Errorf("%s: tools were listed %d times", era, got)
		}
	}
}

// lister is a connection whose lists come to what a test says.
type lister struct {
	*fake
	list func(ctx context.Context, method string) ([]json.RawMessage, bool, int64, error)
}

func (l lister) List(ctx context.Context, method, _ string) ([]json.RawMessage, bool, int64, error) {
	if items, more, ttl, err := l.list(ctx, method); items != nil || err != nil {
		return items, more, ttl, err
	}
	return l.fake.List(ctx, method, "")
}

// listing is a world whose servers list so; all lists are declared.
func listing(t *testing.T, list func(ctx context.Context, method string) ([]json.RawMessage, bool, int64, error)) (*world, *fakes) {
	w, f := fakeWorld(t)
	f.info = upstream.Info{Capabilities: []byte(`{"tools":{},"prompts":{},"resources":{}}`)}
	w.pool.connect = func(ctx context.Context, o upstream.Options) (connection, error) {
		c, err := f.connect(ctx, o)
		if err != nil {
			return nil, err
		}
		return lister{c.(*fake), list}, nil
	}
	return w, f
}

// R14: a list beside the tools that cannot be read is empty, and the catalog says
// why; the server starts. One that it does not know is empty and no fault.
func TestListsThatFail(t *testing.T) {
	rpc := func(code int, text string) *upstream.Failure {
		return &upstream.Failure{Word: upstream.ServerError, Server: "fake", Phase: "list", Detail: text, RPC: &wire.RPCError{Code: code}}
	}
	w, _ := listing(t, func(_ context.Context, method string) ([]json.RawMessage, bool, int64, error) {
		switch method {
		case "prompts/list":
			return nil, false, 0, rpc(-32603, "out of order")
		case "resources/list":
			return []json.RawMessage{[]byte(`{"uri":"r:"}`), []byte(`{}`)}, true, 5000, nil
		case "resources/templates/list":
			return nil, false, 0, rpc(-32601, "no such method")
		}
		return nil, false, 0, nil
	})
	i := w.get(w.approve(w.server()))
	c := i.Catalog()
	var refused []string
	for _, r := range c.Refused {
		refused = append(refused, r.Name+": "+r.Why)
	}
	want := []string{"prompts: server fake: list: out of order", `resources[1]: it has no URI`}
	if offer(c) != "r:" || !c.Truncated || c.TTLMS != 5000 || !slices.Equal(refused, want) || len(c.Tools) != 1 {
		t.Errorf("offers %s, refused %q, truncated %v, ttl %d", offer(c), refused, c.Truncated, c.TTLMS)
	}
}

// Of a server whose capabilities cannot be read the tools are asked for, and
// nothing else.
func TestUnreadableCapabilities(t *testing.T) {
	for _, capabilities := range []string{"", `{"prompts":{},"Prompts":{}}`} {
		var asked []string
		w, f := listing(t, func(_ context.Context, method string) ([]json.RawMessage, bool, int64, error) {
			asked = append(asked, method)
			return nil, false, 0, nil
		})
		f.info = upstream.Info{Capabilities: []byte(capabilities)}
		c := w.get(w.approve(w.server())).Catalog()
		if len(c.Tools) > 1 || len(asked) > 1 || len(asked) == 1 && asked[0] != "tools/list" {
			t.Errorf("%s: asked %q", capabilities, asked)
		}
	}
}

// Tools are not waited for longer than they take themselves and config.SideListWait;
// what was late is seen when it comes.
func TestSlowList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w, _ := listing(t, func(ctx context.Context, method string) ([]json.RawMessage, bool, int64, error) {
			if method != "prompts/list" {
				return nil, false, 0, nil
			}
			asked++
			select {
			case <-time.After(config.SideListWait + time.Second):
				return []json.RawMessage{[]byte(`{"name":"late"}`)}, false, 0, nil
			case <-ctx.Done():
				return nil, false, 0, &upstream.Failure{Word: upstream.Timeout, Server: "fake", Detail: "late"}
			}
		})
		begin := time.Now()
		i := w.get(w.approve(w.server()))
		if took := time.Since(begin); took != config.SideListWait || len(i.Catalog().Refused) == 0 || len(i.Catalog().Tools) != 1 {
			t.Errorf("started after %v, refused %v", took, i.Catalog().Refused)
		}
		after(config.SideListWait + 2*time.Second)
		if c := i.Catalog(); offer(c) != "late" || len(c.Refused) != 0 || asked != 2 || w.changes.Load() != 2 {
			t.Errorf("offers %q, refused %v, asked %d times, told %d times", offer(c), c.Refused, asked, w.changes.Load())
		}
	})
}

// A start that is given up while it lists leaves nothing behind, recorded or
// running, and one whose process ends there has failed.
func TestStartEndsWhileListing(t *testing.T) {
	for name, end := range map[string]func(w *world, f *fakes, key string){
		"given up": func(w *world, _ *fakes, key string) { go w.pool.Stop(key) }, // ends with the teardown
		"died":     func(_ *world, f *fakes, _ string) { f.last().crash() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				var f *fakes
				var key string
				w, f = listing(t, func(ctx context.Context, method string) ([]json.RawMessage, bool, int64, error) {
					if method != "prompts/list" {
						return nil, false, 0, nil
					}
					end(w, f, key)
					select {
					case <-ctx.Done():
					case <-f.last().done:
					}
					return nil, false, 0, &upstream.Failure{Word: upstream.Closed, Server: "fake", Detail: "gone"}
				})
				srv := w.server()
				a := w.approve(srv)
				key = a.Key()
				if _, err := w.pool.Get(t.Context(), a); err == nil {
					t.Error("it started")
				}
				if c, _ := w.catalogs.Read(catalog.IdentityOf(srv)); c != nil {
					t.Error("half of its lists are recorded")
				}
				synctest.Wait()
				if !f.last().isClosed() {
					t.Error("it is left running")
				}
			})
		})
	}
}

// A list that fails later stands as it was, with no word about it.
func TestLaterFailureChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		w, f := listing(t, func(_ context.Context, method string) ([]json.RawMessage, bool, int64, error) {
			switch {
			case method == "tools/list" || method == "resources/templates/list":
				return nil, false, 0, nil
			case broken && method == "prompts/list":
				return nil, false, 0, &upstream.Failure{Word: upstream.Protocol, Server: "fake", Detail: "no list"}
			case broken:
				return []json.RawMessage{[]byte(`{"uri":"new:"}`)}, false, 0, nil
			}
			return []json.RawMessage{[]byte(`{"name":"old","uri":"old:"}`)}, false, 0, nil
		})
		i := w.get(w.approve(w.server()))
		synctest.Wait()
		broken = true
		f.last().says(promptsChanged, `{}`)
		f.last().says(resourcesChanged, `{}`)
		after(time.Minute)
		if c := i.Catalog(); offer(c) != "old new:" || len(c.Refused) != 0 || w.changes.Load() != 2 {
			t.Errorf("offers %q, refused %v, told %d times", offer(c), c.Refused, w.changes.Load())
		}
	})
}

// C31: what a server was given stands in none of its lists.
func TestListsHoldNoSecret(t *testing.T) {
	const value = "hunter2hunter2"
	w, _ := listing(t, func(_ context.Context, method string) ([]json.RawMessage, bool, int64, error) {
		return []json.RawMessage{fmt.Appendf(nil, `{"name":"n","uri":"u:","uriTemplate":"t:","description":"it is %s"}`, value)}, false, 0, nil
	})
	w.secrets.AddCredentials(value)
	c := w.get(w.approve(w.server())).Catalog()
	for _, list := range [][]json.RawMessage{c.Tools, c.Prompts, c.Resources, c.ResourceTemplates} {
		if len(list) != 1 || strings.Contains(string(list[0]), value) {
			t.Errorf("%s", list)
		}
	}
}

// MB-093: a server that announces a change whenever it is listed is listed a few
// times in ten seconds, ever more seldom, and nobody is told; what really changes is
// seen all the same, and makes it be believed again.
func TestMB093AnnouncesWhenListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fakes
		var mu sync.Mutex
		lists, tools, loops := 0, `{"name":"a","inputSchema":{"type":"object"}}`, true
		w, f := listing(t, func(_ context.Context, method string) ([]json.RawMessage, bool, int64, error) {
			mu.Lock()
			defer mu.Unlock()
			if method != "tools/list" {
				return nil, false, 0, nil
			}
			if lists++; loops && len(f.lives) > 0 {
				go f.lives[0].says(toolsChanged, "{}") // ends with the notification
			}
			return []json.RawMessage{[]byte(tools)}, false, 0, nil
		})
		w.get(w.approve(w.server()))
		listed := func(during time.Duration) int {
			mu.Lock()
			before := lists
			mu.Unlock()
			time.Sleep(during)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return lists - before
		}
		told := w.changes.Load()
		if n := listed(10 * time.Second); n < 3 || n > 5 {
			t.Errorf("%d times in the first ten seconds", n)
		}
		if n := listed(time.Minute); n > 16 {
			t.Errorf("%d times in the minute after", n)
		}
		if n := w.changes.Load() - told; n > 1 { // the start
			t.Errorf("%d changes were told", n)
		}
		mu.Lock()
		tools = strings.Replace(tools, `"a"`, `"b"`, 1)
		mu.Unlock()
		told = w.changes.Load()
		if listed(config.ListUnchangedRest + time.Second); w.changes.Load() != told+1 {
			t.Errorf("%d changes were told", w.changes.Load()-told)
		}
		mu.Lock()
		loops = false
		mu.Unlock()
		listed(time.Minute)
	})
}
