package main

import (
	"encoding/json"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/config"
)

func rawItems(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range texts {
		out = append(out, json.RawMessage(t))
	}
	return out
}

// R53: what is held against which list. docs was listed and has everything,
// bare was and has nothing, quiet never was.
func TestPatternsThatCoverNothing(t *testing.T) {
	docs, err := catalog.Build(catalog.Identity{Server: "docs"}, time.Now(), catalog.Raw{
		Protocol: "2025-11-25", Era: "legacy",
		Tools:             rawItems(`{"name":"search","inputSchema":{"type":"object"}}`),
		Prompts:           rawItems(`{"name":"review"}`, `{"name":"a/b"}`),
		Resources:         rawItems(`{"uri":"file:///home/a.txt","name":"a"}`),
		ResourceTemplates: rawItems(`{"uriTemplate":"repo://{owner}/contents{/path*}","name":"r"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := catalog.Build(catalog.Identity{Server: "bare"}, time.Now(), catalog.Raw{Protocol: "2025-11-25", Era: "legacy"})
	if err != nil {
		t.Fatal(err)
	}
	v := &call.View{Config: &config.Config{NamesMax: 50}}
	for id, c := range map[string]*catalog.Catalog{"docs": docs, "bare": bare, "quiet": nil} {
		v.Servers = append(v.Servers, &call.Server{Declared: &config.Server{ID: id, Command: id + "-server"}, Catalog: c})
	}
	k := knownItems(v, []*catalog.Catalog{docs, bare})
	for pattern, want := range map[string]bool{
		"docs/search": true, "docs__search": true, "docs/serach": false, "bare/*": false, "quiet/x": true, "dcos/*": false,
		"docs/review": false, "docs__review": false, // a rule on a tool does not cover the prompt
		"docs/vendor/do": true, "*/vendor/do": true, "dcos/vendor/do": false, // a method is in no list
		"gateway/whatever": true, "gateway__*": true,
		"exec:docs-*": true, "exec:other": false,

		"prompt:docs/review": true, "prompt:*/rev*": true, "prompt:docs/a/*": true, "prompt:docs/docs__review": false,
		"prompt:docs/search": false, "prompt:bare/*": false, "prompt:quiet/x": true, "prompt:q*/x": true, "prompt:gateway/x": false,

		"resource:docs/file:///home/*": true, "resource:docs/*.txt": true, "resource:docs/file:///etc/*": false,
		"resource:docs/file://?/x": false, "resource:docs/review": false, "resource:bare/*": false, "resource:quiet/a:b": true,
		"resource:docs/repo://me/*": true, "resource:docs/repo://{owner}/contents{/path*}": true, "resource:docs/re*": true,
		"resource:docs/git://*": false, "resource:bare/repo://me/*": false,
		"resource:gateway/postern://results/*": true, "resource:gateway/nope": false, "resource:*/postern://results/1": true,
	} {
		if quiet := k.covers(pattern); quiet != want {
			t.Errorf("%q: covers or may cover something: %v", pattern, quiet)
		}
	}
}

func TestKindWord(t *testing.T) {
	for pattern, want := range map[string]string{"resource:a/b": "resource", "prompt:a/b": "prompt", "a/b": "tool", "exec:x": "tool"} {
		if got := kindWord(pattern); got != want {
			t.Errorf("%q: %s", pattern, got)
		}
	}
}
