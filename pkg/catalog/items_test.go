package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

func raws(items ...string) (out []json.RawMessage) {
	for _, i := range items {
		out = append(out, json.RawMessage(i))
	}
	return out
}

func must(t testing.TB, raw Raw) *Catalog {
	t.Helper()
	c, err := Build(testID, time.Now(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// R4, R60, R61: of a definition only the name or the URI is another; spelling,
// order, numbers and unknown members stay, and the own name keeps its spelling.
func TestItemsAreRenamed(t *testing.T) {
	c := must(t, Raw{
		Prompts:           raws(`{"x":1e400, "name" : "pl\u0061n", "arguments":[{"name":"a"}],"_meta":{"k":-0}}`),
		Resources:         raws(`{"size":9007199254740993,"uri":"fake:\/\/a","name":"a"}`),
		ResourceTemplates: raws(`{"uriTemplate":"fake://{x}","name":"uriTemplate","title":null}`),
	})
	p, r, tt := c.Prompt("plan"), c.Resource("fake://a"), c.Template("fake://{x}")
	if p == nil || r == nil || tt == nil {
		t.Fatal("not found")
	}
	for _, s := range []struct{ got, want string }{
		{string(p.WithName("plan")), string(c.Prompts[0])},
		{string(p.WithName(`s__"plan"`)), `{"x":1e400, "name" : "s__\"plan\"", "arguments":[{"name":"a"}],"_meta":{"k":-0}}`},
		{string(r.WithURI("fake://a")), string(c.Resources[0])},
		{string(r.WithURI("postern+s:fake://a")), `{"size":9007199254740993,"uri":"postern+s:fake://a","name":"a"}`},
		{string(tt.WithURI("fake://{x}")), string(c.ResourceTemplates[0])},
		{string(tt.WithURI("postern+s:fake://{x}")), `{"uriTemplate":"postern+s:fake://{x}","name":"uriTemplate","title":null}`},
	} {
		if s.got != s.want {
			t.Errorf("got  %s\nwant %s", s.got, s.want)
		}
	}
	if len(c.ParsedPrompts()) != 1 || len(c.ParsedResources()) != 1 || len(c.ParsedTemplates()) != 1 {
		t.Error("not one of each")
	}
	if c.Prompt("other") != nil || c.Resource("fake://A") != nil || c.Template("other:x") != nil {
		t.Error("found what is not there")
	}
}

// R14: an item that cannot be asked for, routed or shown is left out by name.
func TestItemsAreRefused(t *testing.T) {
	long := strings.Repeat("x", config.MaxURIBytes+1)
	c := must(t, Raw{
		Prompts:   raws(`{"name":"ok"}`, `{"name":""}`, `{"name":"a\nb"}`, `{"name":"`+strings.Repeat("n", config.MaxToolName+1)+`"}`),
		Resources: raws(`{"uri":"ok:"}`, `{"uri":""}`, `{"uri":"a:\u0007"}`, `{"uri":"`+long+`"}`, `{"uri":["a:"]}`, `{"uri":"a:","uri":"b:"}`),
		ResourceTemplates: raws(`{"uriTemplate":"ok:{x}"}`, `{"uriTemplate":"`+strings.Repeat("a{b}", config.MaxExpressions+1)+`"}`,
			`{"uriTemplate":"`+strings.Repeat("a{b}", config.MaxExpressions)+`"}`),
	})
	var refused []string
	for _, r := range c.Refused {
		refused = append(refused, clipTo(r.Name, 24))
	}
	want := []string{
		"prompts[1]", "prompts[2]", "prompts[3]",
		"resources[1]", "resources[2]", "resources[3]", "resources[4]", "resources[5]", "resource:a{b}a{b}a{b}a{b",
	}
	if !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
	if len(c.Prompts) != 1 || len(c.Resources) != 1 || len(c.ResourceTemplates) != 2 {
		t.Errorf("kept %d, %d, %d", len(c.Prompts), len(c.Resources), len(c.ResourceTemplates))
	}
}

func clipTo(s string, n int) string { return s[:min(n, len(s))] }

// R14: no list is longer than its bound, a catalog says that one went on, and a
// file with more is none.
func TestListsAreBounded(t *testing.T) {
	many := func(format string, n int) (out []json.RawMessage) {
		for i := range n {
			out = append(out, json.RawMessage(fmt.Sprintf(format, i)))
		}
		return out
	}
	for name, raw := range map[string]Raw{
		"prompts":   {Prompts: many(`{"name":"p%d"}`, config.MaxPrompts+1)},
		"resources": {Resources: many(`{"uri":"r:%d"}`, config.MaxResources+1)},
		"templates": {ResourceTemplates: many(`{"uriTemplate":"r:%d{x}"}`, config.MaxTemplates+1)},
	} {
		c := must(t, raw)
		n := len(c.Prompts) + len(c.Resources) + len(c.ResourceTemplates)
		if !c.Truncated || n != config.MaxPrompts || len(c.Refused) != 0 {
			t.Errorf("%s: %d kept, truncated %v, refused %v", name, n, c.Truncated, c.Refused)
		}
		c.Prompts, c.Resources, c.ResourceTemplates = raw.Prompts, raw.Resources, raw.ResourceTemplates
		if _, err := decode(c.encode()); err == nil {
			t.Errorf("%s: a file with too many is a catalog", name)
		}
	}
}

// C70: where everything together is too large, the tools stay, and what gave way
// is named; what was left out before is named as well.
func TestOtherListsGiveWay(t *testing.T) {
	fat := func(key string) (out []json.RawMessage) {
		for i := range 5 {
			out = append(out, json.RawMessage(fmt.Sprintf(`{%q:"k%d","x":%q}`, key, i, strings.Repeat("x", config.MaxCatalogBytes/8))))
		}
		return out
	}
	c := must(t, Raw{
		Tools: tools500(3), Prompts: fat("name"), Resources: fat("uri"), ResourceTemplates: fat("uriTemplate")[:1],
		Refused: []Refused{{"tools", "half of it"}},
	})
	if len(c.Tools) != 3 || len(c.Resources) != 0 || len(c.Prompts) != 5 || len(c.ResourceTemplates) != 1 {
		t.Errorf("kept %d, %d, %d, %d", len(c.Tools), len(c.Prompts), len(c.Resources), len(c.ResourceTemplates))
	}
	if len(c.Refused) != 2 || c.Refused[0].Name != "tools" || c.Refused[1].Name != "resources" {
		t.Errorf("refused %v", c.Refused)
	}
	if again, err := decode(c.encode()); err != nil || len(again.Refused) != 2 {
		t.Errorf("read again: %v", err)
	}
}

// What an agent could see of a server is the same, or it is not (R54).
func TestSame(t *testing.T) {
	base := func() Raw {
		return Raw{
			Tools: tools500(2), Prompts: raws(`{"name":"p"}`, `{"name":"q"}`), Resources: raws(`{"uri":"r:"}`),
			ResourceTemplates: raws(`{"uriTemplate":"r:{x}"}`), Capabilities: json.RawMessage(`{"tools":{}}`), Instructions: "i",
		}
	}
	old := must(t, base())
	for name, tt := range map[string]struct {
		change func(*Raw)
		same   bool
	}{
		"nothing":           {func(*Raw) {}, true},
		"what nobody sees":  {func(r *Raw) { r.Noise, r.TTLMS, r.Protocol = 7, 7, "2024-11-05" }, true},
		"a tool":            {func(r *Raw) { r.Tools[1] = json.RawMessage(`{"name":"t1"}`) }, false},
		"order of prompts":  {func(r *Raw) { slices.Reverse(r.Prompts) }, false},
		"a resource less":   {func(r *Raw) { r.Resources = nil }, false},
		"a template's word": {func(r *Raw) { r.ResourceTemplates[0] = json.RawMessage(`{"uriTemplate":"r:{y}"}`) }, false},
		"white space":       {func(r *Raw) { r.Prompts[0] = json.RawMessage(`{"name": "p"}`) }, false},
		"capabilities":      {func(r *Raw) { r.Capabilities = json.RawMessage(`{"tools":{"listChanged":true}}`) }, false},
		"instructions":      {func(r *Raw) { r.Instructions = "" }, false},
	} {
		raw := base()
		tt.change(&raw)
		if got := Same(old, must(t, raw)); got != tt.same {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !Same(nil, nil) || Same(nil, old) || Same(old, nil) || !Same(nil, must(t, Raw{})) {
		t.Error("a server that is not there is one that says nothing")
	}
}

func TestCapabilityOf(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{"logging":{}}`: `{}`, `{"logging": {"x":1.0}}`: `{"x":1.0}`, `{"logging":null}`: ``, `{"x":{"logging":1}}`: ``,
		`{"logging":{},"logging":{}}`: ``, `{"Logging":{}}`: ``, ``: ``, `{}`: ``,
	} {
		c := must(t, Raw{Capabilities: json.RawMessage(capabilities)})
		if got := c.CapabilityOf("logging"); !bytes.Equal(got, []byte(want)) || (got == nil) != (want == "") {
			t.Errorf("%s: %q, want %q", capabilities, got, want)
		}
	}
}
