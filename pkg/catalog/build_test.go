package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

func tools500(n int) []json.RawMessage {
	var out []json.RawMessage
	for i := range n {
		out = append(out, json.RawMessage(fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i)))
	}
	return out
}

// R14: 500 tools, and a list that goes on is said to.
func TestTooManyTools(t *testing.T) {
	for n, truncated := range map[int]bool{config.MaxTools: false, config.MaxTools + 1: true} {
		c, err := Build(testID, time.Now(), Raw{Tools: tools500(n)})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Tools) != config.MaxTools || len(c.Parsed()) != config.MaxTools || c.Truncated != truncated {
			t.Errorf("%d tools: kept %d, truncated %v", n, len(c.Tools), c.Truncated)
		}
	}
	c, err := Build(testID, time.Now(), Raw{Truncated: true})
	if err != nil || !c.Truncated || len(c.Parsed()) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// C70: more than 8 MiB is no catalog, and nothing of it is kept.
func TestTooLarge(t *testing.T) {
	raw := Raw{Instructions: strings.Repeat("x", config.MaxCatalogBytes)}
	c, err := Build(testID, time.Now(), raw)
	var large *TooLargeError
	if !errors.As(err, &large) || c != nil || large.Server != "srv" || large.Bytes <= large.Most {
		t.Errorf("%v, %v", c, err)
	}
}

func TestBuildRefusesBrokenHead(t *testing.T) {
	for name, raw := range map[string]Raw{
		"serverInfo":   {ServerInfo: json.RawMessage(`{"name":`)},
		"capabilities": {Capabilities: json.RawMessage(`["tools"]`)},
	} {
		_, err := Build(testID, time.Now(), raw)
		var bad *MalformedError
		if !errors.As(err, &bad) || bad.What != name || bad.Unwrap() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// R14 for the other lists: an item nobody could ask for is refused by name.
func TestOtherLists(t *testing.T) {
	list := func(items ...string) []json.RawMessage {
		var out []json.RawMessage
		for _, i := range items {
			out = append(out, json.RawMessage(i))
		}
		return out
	}
	c, err := Build(testID, time.Now(), Raw{
		Prompts:           list(`{"name":"p","x": 1}`, `{"title":"no name"}`, `{"name":"p"}`, `7`),
		Resources:         list(`{"uri":"a:b"}`, `{"uri":null}`, `{"uri":"a:b","name":"twice is harmless"}`, `{"uri":"x","URI":"y"}`),
		ResourceTemplates: list(`{"uriTemplate":"a:{b}"}`, `{"uri":"a:b"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Prompts) != 1 || string(c.Prompts[0]) != `{"name":"p","x": 1}` || len(c.Resources) != 2 || len(c.ResourceTemplates) != 1 {
		t.Errorf("%s\n%s\n%s", c.Prompts, c.Resources, c.ResourceTemplates)
	}
	var names []string
	for _, r := range c.Refused {
		names = append(names, r.Name)
	}
	want := []string{"prompts[1]", "prompt:p", "prompts[3]", "resources[1]", "resources[3]", "resourceTemplates[1]"}
	if !slices.Equal(names, want) {
		t.Errorf("refused %v, want %v", names, want)
	}
}

// A hostile list of bad items is counted, not copied.
func TestRefusedIsBounded(t *testing.T) {
	raw := Raw{}
	for range 5 * config.MaxRefused {
		raw.Prompts = append(raw.Prompts, json.RawMessage(`{}`))
	}
	raw.Prompts = append(raw.Prompts, json.RawMessage(`{"name":"`+strings.Repeat("é", 5000)+`"}`))
	c, err := Build(testID, time.Now(), raw)
	if err != nil {
		t.Fatal(err)
	}
	last := c.Refused[len(c.Refused)-1]
	if len(c.Refused) != config.MaxRefused+1 || !strings.Contains(last.Why, "400 more") {
		t.Errorf("%d refused, the last is %v", len(c.Refused), last)
	}
	if name := clip(strings.Repeat("é", 5000)); len(name) > config.MaxToolName+len("…") || !strings.HasSuffix(name, "é…") {
		t.Errorf("clipped to %q", name)
	}
}

// A definition that came with line breaks (HTTP) is kept without, so that it
// can stand in a line (R4).
func TestLineBreaksAreDropped(t *testing.T) {
	tool := one(t, "{\n  \"name\": \"a\",\r\n  \"inputSchema\": {\"type\": \"object\"}\n}")
	if string(tool.Raw) != `{  "name": "a",  "inputSchema": {"type": "object"}}` {
		t.Errorf("%q", tool.Raw)
	}
}

// R14, MB-202, MB-203, MB-109: what a refresh reports.
func TestCompare(t *testing.T) {
	old := build(t, `{"name":"a","description":"1"}`, `{"name":"b"}`, `{"name":"read","description":"r"}`, `{"name":"z"}`)
	tests := []struct {
		why      string
		old, new *Catalog
		want     Change
	}{
		{"itself", old, old, Change{}},
		{"order and white space", old, build(t, `{"name":"z"}`, `{"name":"b"}`, `{ "description":"1","name":"a" }`, `{"name":"read","description":"r"}`), Change{}},
		{
			"rename with a new tool under the old name", old,
			build(t, `{"name":"a","description":"2"}`, `{"name":"read","description":"new"}`, `{"name":"read2","description":"r"}`, `{"name":"z"}`),
			Change{Added: []string{"read2"}, Removed: []string{"b"}, Changed: []string{"a", "read"}},
		},
		{"first", nil, build(t, `{"name":"y"}`, `{"name":"x"}`), Change{Added: []string{"y", "x"}}},
		{"last", build(t, `{"name":"y"}`, `{"name":"x"}`), nil, Change{Removed: []string{"y", "x"}}},
		{"nothing", nil, nil, Change{}},
	}
	for _, tt := range tests {
		got := Compare(tt.old, tt.new)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || got.Empty() != tt.want.Empty() {
			t.Errorf("%s: %+v, want %+v", tt.why, got, tt.want)
		}
	}
	if (Change{Changed: []string{"a"}}).Empty() {
		t.Error("a changed tool counts as no change")
	}
}
