package pool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

func names(c *catalog.Catalog) (names []string) {
	for _, t := range c.Parsed() {
		names = append(names, t.Name)
	}
	return names
}

// A started server's list is live and recorded, as the bytes it sent (C70).
func TestCatalogIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	odd := `{"name":"one", "inputSchema":{"type":"object","maximum":1.0},"x":9007199254740993}`
	srv := w.server("-tools", w.file("tools", "["+odd+","+tool("two", "")+"]"), "-ttl", "120000", "-instructions", "Be kind.")
	i := w.get(w.approve(srv))
	recorded, provenance := w.catalogs.Read(catalog.IdentityOf(srv))
	if provenance != catalog.Cached {
		t.Fatalf("it is %s", provenance)
	}
	for _, c := range []*catalog.Catalog{i.Catalog(), recorded} {
		if !slices.Equal(names(c), []string{"one", "two"}) || string(c.Tools[0]) != odd {
			t.Errorf("tools %s", c.Tools)
		}
		if c.Instructions != "Be kind." || c.TTLMS != 120000 || c.Era != "legacy" || c.Protocol == "" || c.ServerInfo == nil {
			t.Errorf("got %+v", c)
		}
	}
	if i.Started() <= 0 {
		t.Error("a start that took no time")
	}
}

// A server without tools is not asked for them.
func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.get(w.approve(w.server("-capabilities", `{"prompts":{}}`)))
	if n := w.lists(); n != 0 || len(names(i.Catalog())) != 0 {
		t.Errorf("%d lists, tools %v", n, names(i.Catalog()))
	}
}

func TestDeclares(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{"tools":{}}`: true, `{"tools":null}`: true, `{}`: false, `{"prompts":{"tools":1}}`: false,
		``: true, `null`: true, `[]`: true, `{"tools":1,"tools":2}`: true, `{"Tools":{}}`: true,
	} {
		if got := declares(json.RawMessage(capabilities), "tools", true); got != want {
			t.Errorf("%s: %v, want %v", capabilities, got, want)
		}
	}
}

// R13: the era is remembered in the catalog, and the next start asks the right
// question first.
func TestEraIsRemembered(t *testing.T) {
	t.Parallel()
	for era, first := range map[string]string{"modern": "server/discover", "legacy": "initialize"} {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t)
			a := w.approve(w.server("-era", era))
			if got := w.get(a).Info().Era; got != era {
				t.Fatalf("the era is %s", got)
			}
			w.pool.Stop(a.Key())
			second := w.get(a).Info().PID
			for _, e := range mcptest.Events(t, w.events, "recv") {
				if e.PID == second {
					if !strings.Contains(e.Data, `"`+first+`"`) {
						t.Errorf("the second start began with %s", e.Data)
					}
					return
				}
			}
			t.Error("the second process was asked nothing")
		})
	}
}

// After list_changed the list is read again, and recorded; only a real change
// is announced.
func TestListChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	i := w.get(w.approve(srv))
	until(t, "the start is announced", func() bool { return w.changes.Load() == 1 })
	first := i.Catalog()

	w.mustCall(i, "notify", `{"method":"notifications/tools/list_changed"}`)
	until(t, "the list was read again", func() bool { return w.lists() == 2 && i.Catalog() != first })
	if n := w.changes.Load(); n != 1 {
		t.Error("a list that is the same was announced")
	}
	recorded, _ := w.catalogs.Read(catalog.IdentityOf(srv))
	if !recorded.At.Equal(first.At) {
		t.Error("a list that is the same was recorded again")
	}

	w.mustCall(i, "change", `{"tools":[`+tool("only", "new")+`]}`)
	until(t, "the change is announced", func() bool { return w.changes.Load() == 2 })
	if got := names(i.Catalog()); !slices.Equal(got, []string{"only"}) {
		t.Errorf("live: %v", got)
	}
	recorded, _ = w.catalogs.Read(catalog.IdentityOf(srv))
	if got := names(recorded); !slices.Equal(got, []string{"only"}) {
		t.Errorf("recorded: %v", got)
	}

	w.mustCall(i, "change", `{"tools":[`+tool("only", "another description")+`]}`)
	until(t, "the changed definition is announced", func() bool { return w.changes.Load() == 3 })
}

// A server that announces changes without end is listed now and then.
func TestListChangedIsPaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.get(w.approve(w.server()))
	begin := time.Now()
	for range 40 {
		w.mustCall(i, "notify", `{"method":"notifications/tools/list_changed","times":10}`)
		time.Sleep(10 * time.Millisecond) // the subject: announcements over some time
	}
	until(t, "the last is seen", func() bool { return w.lists() >= 3 })
	most := 3 + int(time.Since(begin)/config.ListChangedEvery)
	if n := w.lists(); n > most {
		t.Errorf("%d lists in %v, at most %d are due", n, time.Since(begin), most)
	}
}

// A list that cannot be read leaves the last good one.
func TestRelistFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	i := w.get(a)
	before := i.Catalog()
	w.pool.Stop(a.Key())
	i.stale.Or(1 << tools)
	i.relist()
	if i.Catalog() != before {
		t.Error("the list is another")
	}
	if recorded, _ := w.catalogs.Read(catalog.IdentityOf(a.Server())); recorded == nil || len(recorded.Tools) != len(before.Tools) {
		t.Error("the recorded list is another")
	}
	if n := w.changes.Load(); n != 1 {
		t.Errorf("announced %d times, want the start", n)
	}
}
