package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"postern/pkg/cmdmain"
)

// K4: what a server says that it does not have, or cannot be read with, is the
// caller's mistake; any other error is the server's.
func TestErrorsOfServers(t *testing.T) {
	m := &caller{env: &cmdmain.Env{Name: "mcp-call"}}
	tool := target{server: "s", tool: "t"}
	for _, c := range []struct {
		t      target
		code   string
		word   string
		exit   cmdmain.Exit
		hinted bool
	}{
		{target{method: readResource, server: "s", name: "u"}, "-32002", "unknown_resource", cmdmain.Usage, false},
		{target{method: readResource, server: "s", name: "u"}, "-32602", "invalid_arguments", cmdmain.Usage, false},
		{target{method: getPrompt, server: "s", name: "p"}, "-32602", "invalid_arguments", cmdmain.Usage, false},
		{target{method: getPrompt, server: "s", name: "p"}, "-32002", "upstream_error", cmdmain.ToolError, false},
		{tool, "-32002", "upstream_error", cmdmain.ToolError, false},
		{target{method: readResource, server: "s", name: "u"}, "-32603", "upstream_error", cmdmain.ToolError, false},
	} {
		var e *cmdmain.Error
		if err := m.serverError(c.t, []byte(`{"code":`+c.code+`,"message":"no"}`)); !errors.As(err, &e) {
			t.Fatal(err)
		}
		if e.Word != c.word || e.Exit != c.exit || (len(e.Hints) > 0) != c.hinted || e.Error() != "server s: no" {
			t.Errorf("%s of %s: %+v", c.code, c.t, e)
		}
	}
}

// A prompt has as many messages as it likes, a resource as many parts; what is no
// text is named.
func TestBlocksOfPromptsAndResources(t *testing.T) {
	prompt, resource := target{method: getPrompt}, target{method: readResource}
	for _, c := range []struct {
		t      target
		result string
		want   string // texts, and what is not shown in brackets
	}{
		{prompt, `{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":{"type":"text","text":""}}]}`, "a|"},
		{prompt, `{"messages":[{"content":{"type":"image","data":"AAAA","mimeType":"image/png"}},{"content":{"type":"resource","resource":{"uri":"u","text":"b"}}}]}`, "[image image/png, 4 bytes of base64]|b"},
		{prompt, `{"messages":[{"role":"user"}]}`, "[a block without a type]"},
		{resource, `{"contents":[{"uri":"u","text":"a"},{"uri":"v","blob":"AAAA","mimeType":"x/y"},{"uri":"w"}]}`, "a|[resource v x/y, 4 bytes of base64]|[resource w]"},
		{resource, `{"contents":[{"uri":"u","type":"text","text":"a"}]}`, "a"},
		{resource, `{"contents":null}`, ""},
		{resource, `{"content":[{"type":"text","text":"a"}]}`, ""},
		{target{}, `{"content":[{"type":"text","text":"a"}]}`, "a"},
	} {
		var got []string
		for _, block := range blocks(c.t, gjson.Parse(c.result)) {
			if text := textOf(block); text.Exists() {
				got = append(got, text.String())
			} else {
				got = append(got, "["+describe(block)+"]")
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.result, got, c.want)
		}
	}
}
