package call

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
)

// two declares two servers that have much in common.
const two = `version: 1
servers:
  a: {command: $FAKE, args: [-more, -events, $WORK/events]}
  b: {command: $FAKE, args: [-more, -resources, $WORK/resources, -templates, $WORK/templates, -prompts, $WORK/prompts, -events, $WORK/events]}
policies:
  some:
    servers: ["*"]
    allow: [read, write, execute]
    deny: ["resource:a/fake://blob", "prompt:b/hidden", "resource:b/b://secret/*"]
defaults: {policy: some, trust_level: 2}
`

func twoFiles() map[string]string {
	return map[string]string{
		"resources": `[{"x":1.0,"uri":"fake:\/\/text"},{"uri":"b://one"},{"uri":"b://one","second":true}]`,
		"templates": `[{"uriTemplate":"fake://item/{id}"},{"uriTemplate":"b://{+path}"}]`,
		"prompts":   `[{"name":"greet"},{"name":"hidden"},{"x":-0,"name":"odd name"}]`,
	}
}

func shown(items []*Item) string {
	var all []string
	for _, i := range items {
		all = append(all, i.Exposed)
	}
	return strings.Join(all, " ")
}

// R60, R61: prompts are named as tools are; a URI belongs to the first server that
// lists it, and others' copies bear their mark; what is denied is not listed.
func TestItemsOfAView(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	v := w.session(false).View()
	if got, want := shown(v.VisiblePrompts()), "a__greet a__rounds b__greet b__odd_name_"; !strings.HasPrefix(got, want) {
		t.Errorf("prompts: %s", got)
	}
	if got, want := shown(v.VisibleResources()), "fake://text fake://rounds postern+b:fake://text b://one b://one"; got != want {
		t.Errorf("resources: %s", got)
	}
	if got, want := shown(v.VisibleTemplates()), "fake://big/{bytes} fake://item/{id} postern+b:fake://item/{id} b://{+path}"; got != want {
		t.Errorf("templates: %s", got)
	}
	b := v.Server("b")
	for raw, want := range map[string]string{
		string(b.resources[0].Shown()): `{"x":1.0,"uri":"postern+b:fake://text"}`,
		string(b.resources[2].Shown()): `{"uri":"b://one","second":true}`,
		string(b.templates[0].Shown()): `{"uriTemplate":"postern+b:fake://item/{id}"}`,
		string(b.prompts[2].Shown()):   fmt.Sprintf(`{"x":-0,"name":%q}`, b.prompts[2].Exposed),
	} {
		if raw != want {
			t.Errorf("got %s, want %s", raw, want)
		}
	}
	for uri, want := range map[string]string{
		"fake://text": "a fake://text", "postern+b:fake://text": "b fake://text", "fake://item/7": "a fake://item/7",
		"postern+b:fake://item/7": "b fake://item/7", "b://x/y": "b b://x/y", "b://{+path}": "b b://{+path}",
		"postern+c:fake://text": " ", "nobody://x": " ", "postern+b:": " ", "postern+b:nobody://x": "b nobody://x",
	} {
		s, own := v.ownerOf(uri)
		id := ""
		if s != nil {
			id = s.Declared.ID
		}
		if id+" "+own != want {
			t.Errorf("%s belongs to %s %s", uri, id, own)
		}
	}
	for uri, want := range map[string]string{"fake://text": "postern+b:fake://text", "b://one": "b://one", "b://x": "b://x", "nobody://x": "nobody://x", "fake://item/7": "postern+b:fake://item/7"} {
		if got := v.exposedURI(b, uri); got != want {
			t.Errorf("%s of b is %s", uri, got)
		}
	}
}

// R62: a session of one server sees that one alone, under its own names.
func TestOnlyOneServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	if _, err := w.host.Open(SessionOptions{Only: "c"}); err == nil || err.(*UnknownServerError).ID != "c" {
		t.Errorf("no such server: %v", err)
	}
	s := w.agent(&person{}, SessionOptions{Only: "b"})
	v := s.View()
	if len(v.Servers) != 1 || v.Server("a") != nil || v.Exposed("echo") == nil || v.Exposed("b__echo") != nil {
		t.Errorf("it sees %d servers", len(v.Servers))
	}
	if got, want := shown(v.VisiblePrompts()), "greet odd name"; got != want {
		t.Errorf("prompts: %s", got)
	}
	if got, want := shown(v.VisibleResources()), "fake://text b://one b://one"; got != want {
		t.Errorf("resources: %s", got)
	}
	a, row := w.answered(s, tool("echo", "{}"))
	if a.Tool.Exposed != "echo" || row.Tool != "echo" || row.Upstream != "b" {
		t.Errorf("%+v", row)
	}
	w.refused(s, tool("b__echo", "{}"), UnknownTool)
	w.refused(s, Request{Method: methodPrompt, Params: []byte(`{"name":"hidden"}`)}, PolicyDenied)
	// It knows best which URIs it has; those that may not be read it is not asked for.
	w.answered(s, Request{Method: methodRead, Params: []byte(`{"uri":"elsewhere://x"}`)})
	w.refused(s, Request{Method: methodRead, Params: []byte(`{"uri":"b://secret/1"}`)}, PolicyDenied)
}

// R62, R53: a pattern on the exposed name holds where another name is shown.
func TestOnlyKeepsPatternsOnExposedNames(t *testing.T) {
	t.Parallel()
	exposed := catalog.Exposed("fake", "od.d", config.DefaultNameMax)
	file := map[string]string{"tools": `[{"name":"od.d","inputSchema":{"type":"object"}}]`}
	w := newWorld(t, strings.NewReplacer("args: [", "args: [-tools, $WORK/tools, ", `servers: ["*"]`, `servers: ["*"], deny: ["`+exposed+`"]`).Replace(plain), file)
	w.list(false, "fake")
	v := w.agent(&person{}, SessionOptions{Only: "fake"}).View()
	if d := v.Exposed("od.d").Decision; d.Verdict != policy.Deny || d.Reason != policy.DeniedBy {
		t.Errorf("%s: %+v", exposed, d)
	}
}

// R40: what there is not is refused with names like it, in the words and codes of
// the agent's era; a denied thing is told apart.
func TestUnknownItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "a")
	w.list(false, "b")
	s := w.session(false)
	for _, c := range []struct {
		method, params string
		modern         bool
		word           Word
		code           int
		near           string
	}{
		{methodRead, `{"uri":"fake://tex"}`, false, UnknownResource, -32002, "fake://text"},
		{methodRead, `{"uri":"fake://tex"}`, true, UnknownResource, -32602, "fake://text"},
		{methodRead, `{"uri":"postern+b:fake://tesst"}`, false, UnknownResource, -32002, "postern+b:fake://text"},
		{methodSubscribe, `{"uri":"nobody://x"}`, false, UnknownResource, -32002, ""},
		{methodUnsubscribe, `{"uri":"nobody://x"}`, false, UnknownResource, -32002, ""},
		{methodPrompt, `{"name":"a__gret"}`, false, UnknownPrompt, -32602, "a__greet or b__greet"},
		{methodPrompt, `{"name":"greet"}`, false, UnknownPrompt, -32602, "a__greet or b__greet"},
		{methodPrompt, `{"name":"b__hiddn"}`, false, UnknownPrompt, -32602, ""},
		{methodComplete, `{"ref":{"type":"ref/prompt","name":"a__gret"}}`, false, UnknownPrompt, -32602, "a__greet or b__greet"},
		{methodComplete, `{"ref":{"type":"ref/resource","uri":"x:{y}"}}`, false, UnknownResource, -32602, ""},
		{methodRead, `{"uri":"fake://blob"}`, false, PolicyDenied, -32003, ""},
		{methodComplete, `{"ref":{"type":"ref/resource","uri":"b://secret/{id}"}}`, false, PolicyDenied, -32003, ""},
		{methodTaskGet, `{"taskId":"task-1"}`, false, UnknownTask, -32602, ""},
		{methodTaskUpdate, `{"taskId":"task-1"}`, true, UnknownTask, -32602, ""},
		{"vendor/x", `{}`, false, UnknownMethod, -32601, ""},
		{methodTaskList, `{}`, true, UnknownMethod, -32601, ""},
		{methodTaskList, `{"cursor":"x"}`, false, InvalidArguments, -32602, ""},
		{methodRead, `{}`, false, InvalidArguments, -32602, ""},
	} {
		r := Request{Method: c.method, Params: []byte(c.params)}
		if c.modern {
			r.Modern = &Modern{}
		}
		refusal, row := w.refused(s, r, c.word)
		if refusal.RPC().Code != c.code || row.Code != c.code || refusal.AsResult() {
			t.Errorf("%s %s: code %d, row %d", c.method, c.params, refusal.RPC().Code, row.Code)
		}
		if c.near == "" && strings.HasPrefix(refusal.Remedy, "did you mean") || c.near != "" && refusal.Remedy != "did you mean "+c.near {
			t.Errorf("%s %s: %s", c.method, c.params, refusal.Remedy)
		}
	}
	if n := w.starts(); n != 2 {
		t.Errorf("%d starts, and the lists took two", n)
	}
}
