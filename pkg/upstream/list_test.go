package upstream

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// list runs List against pages given by cursor; "" is the first page.
func list(t *testing.T, page func(cursor string) string) (items []string, truncated bool, ttl int64, pages int, err error) {
	t.Helper()
	p := newPeer(t, Options{MaxMessage: 4 << 20, MaxQueue: 4 << 20})
	go func() { // ends when the client closes stdin
		for {
			line, err := p.in.ReadBytes('\n')
			if err != nil {
				return
			}
			m, _ := wire.Parse(line[:len(line)-1])
			cursor := ""
			if m.Params.Ok() {
				cursor = member(t, m.ParamsBytes(), "cursor")
			}
			pages++
			p.send(`{"jsonrpc":"2.0","id":%s,%s}`, m.IDBytes(), page(cursor))
		}
	}()
	raw, truncated, ttl, err := p.c.List(t.Context(), "tools/list", "tools")
	for _, item := range raw {
		items = append(items, string(item))
	}
	return items, truncated, ttl, pages, err
}

func tools(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"name":"t%d","x":1.0}`, from+i)
	}
	return `"tools":[` + b.String() + `]`
}

// R14: pages to the end, in order, as they came.
func TestList(t *testing.T) {
	three := tools(0, 3)
	for _, tc := range []struct {
		name      string
		pages     map[string]string // by cursor as sent
		items     int
		truncated bool
		asked     int
		ttl       int64
	}{
		{"one page", map[string]string{"": three}, 3, false, 1, 0},
		{"null cursor (MB-081)", map[string]string{"": three + `,"nextCursor":null`}, 3, false, 1, 0},
		{"two pages", map[string]string{"": three + `,"nextCursor":"\u0061","ttlMs":5000`, `"\u0061"`: tools(3, 2) + `,"ttlMs":3000`}, 5, false, 2, 3000},
		{"an empty cursor is one", map[string]string{"": three + `,"nextCursor":""`, `""`: tools(3, 1)}, 4, false, 2, 0},
		{"the same cursor for ever (MB-103)", map[string]string{"": three + `,"nextCursor":"8"`, `"8"`: three + `,"nextCursor":"8"`}, 3, true, 2, 0},
		{"a last page that does not advance", map[string]string{"": three + `,"nextCursor":"8"`, `"8"`: tools(3, 3) + `,"nextCursor":"8"`}, 6, true, 2, 0},
		{"a cycle (MB-103)", map[string]string{"": three + `,"nextCursor":"a"`, `"a"`: three + `,"nextCursor":"b"`, `"b"`: three + `,"nextCursor":"a"`}, 3, true, 3, 0},
		{"nothing", map[string]string{"": `"tools":[]`}, 0, false, 1, 0},
		{"501 tools", map[string]string{"": tools(0, config.MaxTools+1)}, config.MaxTools, true, 1, 0},
		{"500 tools", map[string]string{"": tools(0, config.MaxTools)}, config.MaxTools, false, 1, 0},
		{"odd ttl", map[string]string{"": three + `,"ttlMs":-5`}, 3, false, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			items, truncated, ttl, asked, err := list(t, func(cursor string) string { return `"result":{` + tc.pages[cursor] + `}` })
			if err != nil {
				t.Fatal(err)
			}
			if len(items) != tc.items || truncated != tc.truncated || asked != tc.asked || ttl != tc.ttl {
				t.Errorf("%d items, truncated %v, %d pages, ttl %d; want %d, %v, %d, %d",
					len(items), truncated, asked, ttl, tc.items, tc.truncated, tc.asked, tc.ttl)
			}
			for i, item := range items {
				if want := fmt.Sprintf(`{"name":"t%d","x":1.0}`, i); item != want {
					t.Errorf("item %d is %s", i, item)
				}
			}
		})
	}
}

// R14: 100 pages, and no more bytes than a catalog holds.
func TestListBounds(t *testing.T) {
	n := 0
	items, truncated, _, asked, err := list(t, func(string) string {
		n++
		return fmt.Sprintf(`"result":{%s,"nextCursor":"%d"}`, tools(n, 1), n)
	})
	if err != nil || !truncated || asked != config.MaxListPages || len(items) != asked {
		t.Errorf("%d items, truncated %v, %d pages, %v", len(items), truncated, asked, err)
	}
	n = 0
	big := strings.Repeat("x", 1<<20)
	items, truncated, _, _, err = list(t, func(string) string {
		n++
		return fmt.Sprintf(`"result":{"tools":[{"n":%d,"x":"%s"}],"nextCursor":"%d"}`, n, big, n)
	})
	if err != nil || !truncated || len(items) != 7 {
		t.Errorf("%d items, truncated %v, %v", len(items), truncated, err)
	}
}

// MB-107: what is no list is an error, never an empty list.
func TestListBroken(t *testing.T) {
	for _, page := range []string{
		`"result":{}`, `"result":{"tools":null}`, `"result":{"tools":{}}`, `"result":[]`,
		`"result":{"tools":[],"nextCursor":7}`, `"result":{"tools":[],"Tools":[]}`,
	} {
		_, _, _, _, err := list(t, func(string) string { return page })
		if f := failure(t, err, Protocol); f.Phase != "tools/list" {
			t.Errorf("%s: %+v", page, f)
		}
	}
	_, _, _, _, err := list(t, func(cursor string) string {
		if cursor == "" {
			return `"result":{"tools":[{}],"nextCursor":"2"}`
		}
		return `"error":{"code":-32603,"message":"page 2 is gone"}`
	})
	if f := failure(t, err, ServerError); f.RPC.Code != -32603 || !strings.Contains(f.Error(), "page 2 is gone") {
		t.Errorf("got %+v", f)
	}
}
