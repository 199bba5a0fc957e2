package call

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
)

// An own tool walks the line: the policy is asked, and one row is written under
// the upstream gateway (R40, R50, R68).
func TestOwnTools(t *testing.T) {
	t.Parallel()
	ran := 0
	o := &Own{Name: "search_tools", Exposed: "search_tools", Run: func(_ context.Context, _ *View, arguments []byte) []byte {
		ran++
		return []byte(fmt.Sprintf(`{"content":[],"isError":%t}`, strings.Contains(string(arguments), "fail")))
	}}
	for _, c := range []struct {
		name, yaml string
		word       Word
		level      int
	}{
		{"allowed", plain, "", 2},
		{"no configuration in force", "version: 1\nservers: {}\n", "", config.AnonymousLevel},
		{"level 0", strings.Replace(plain, "trust_level: 2", "trust_level: 0", 1), PolicyDenied, 0},
		{"denied", strings.Replace(plain, `servers: ["*"],`, `servers: ["*"], deny: ["gateway/search_tools"],`, 1), PolicyDenied, 2},
		{"asked", strings.Replace(plain, `servers: ["*"],`, `servers: ["*"], ask: ["gateway/*"],`, 1), ApprovalRequired, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.yaml, nil)
			s := w.session(false)
			call := func(params string) (got Answer) {
				s.DoOwn(t.Context(), o, Request{Params: []byte(params), LineBytes: 7}, func(a Answer) { got = a })
				w.calls++
				return got
			}
			before := ran
			a := call(`{"name":"search_tools","arguments":{"q":1}}`)
			if c.word == "" && (a.Refusal != nil || ran != before+1) || c.word != "" && (a.Refusal == nil || a.Refusal.Word != c.word || ran != before) {
				t.Fatalf("%+v", a.Refusal)
			}
			if s.View().Offers(o) != (c.word != PolicyDenied) || (s.View().RefuseOwn(o) == nil) != (c.word == "") {
				t.Error("listing and calling disagree")
			}
			failed := call(`{"arguments":{"fail":1}}`)
			twice := call(`{"arguments":{},"arguments":{}}`)
			if twice.Refusal == nil || twice.Refusal.Word != InvalidArguments {
				t.Errorf("ambiguous params: %+v", twice.Refusal)
			}
			until(t, "three rows", func() bool { return len(w.rows()) == 3 })
			for i, row := range w.rows() {
				if row.Upstream != "gateway" || row.Tool != "search_tools" || row.Via != ViaGateway || row.Tier != "read" || row.Level != c.level || row.RequestBytes != 7 || row.Scope != "" {
					t.Errorf("row %d: %+v", i, row)
				}
				if want := []string{"ok", "tool_error", "denied"}[i]; c.word == "" && string(row.Outcome) != want || c.word != "" && row.Outcome != "denied" {
					t.Errorf("row %d: %s", i, row.Outcome)
				}
			}
			if c.word == "" && (a.Result == nil || !failed.Parts.Failed) {
				t.Errorf("%+v, %+v", a, failed)
			}
		})
	}
}

// R64: looking finds what a call would find, refuses what it would refuse, and
// starts nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(plain, "servers:\n", "servers:\n  never: {command: /no/such/program}\n  off: {command: /no/such/program, enabled: false}\n", 1)
	yaml = strings.Replace(yaml, `servers: ["*"],`, `servers: ["*"], deny: ["fake/env", "never/secret"],`, 1)
	w := newWorld(t, yaml, map[string]string{"project/.mcp.json": repository})
	w.list(false, "fake")
	starts := w.starts()
	s := w.session(true)
	for name, want := range map[string]Word{
		"fake__echo": "", "fake__env": PolicyDenied, "fake__nothing": UnknownTool, "nothing": UnknownTool, "": UnknownTool,
		"never__x": Unavailable, "never__secret": PolicyDenied, "off__x": Disabled, "docs__echo": Untrusted,
	} {
		found, r := s.View().Look(name)
		switch {
		case want == "" && (r != nil || found == nil || found.Exposed != name):
			t.Errorf("%s: %+v", name, r)
		case want != "" && (r == nil || r.Word != want || found != nil || r.Step == ""):
			t.Errorf("%s: got %+v, want %s", name, r, want)
		}
	}
	// R64: of a server that changed after its approval no more than that is told.
	w.allow("docs", config.ClassExecute)
	w.list(true, "docs")
	if _, r := s.View().Look("docs__echo"); r != nil {
		t.Errorf("approved: %v", r)
	}
	w.write("project/.mcp.json", strings.Replace(repository, `"-events"`, `"-life","1m","-events"`, 1))
	until(t, "a stale declaration", func() bool {
		_, r := s.View().Look("docs__echo")
		return r != nil && r.Word == Stale && !strings.Contains(r.Message, "(") && strings.HasPrefix(r.Remedy, AskUser)
	})
	starts++ // that of w.list
	if w.starts() != starts {
		t.Error("looking started a server")
	}
}

// R52, R63, R69: of several policies the stricter value holds.
func TestExposureNarrows(t *testing.T) {
	t.Parallel()
	yaml := func(base, narrow string) string {
		return "version: 1\nservers: {}\npolicies:\n  base: {servers: [\"*\"]" + base + "}\n  narrow: {servers: [\"*\"]" + narrow + "}\ndefaults: {policy: base, trust_level: 2}\n"
	}
	for _, c := range []struct {
		base, narrow string
		want         Exposure
	}{
		{"", "", Exposure{"auto", 300, 16 << 10}},
		{", exposure: full, max_description_chars: 0, max_result_bytes: 0", "", Exposure{"auto", 300, 16 << 10}},
		{", exposure: lazy, max_description_chars: 100", ", exposure: full, max_result_bytes: 0", Exposure{"lazy", 100, 16 << 10}},
		{", exposure: full, max_result_bytes: 0", ", exposure: full, max_result_bytes: 0, max_description_chars: 7", Exposure{"full", 7, 0}},
		{", exposure: full, max_result_bytes: 2KiB", ", exposure: lazy, max_result_bytes: 4KiB", Exposure{"lazy", 300, 2 << 10}},
	} {
		w := newWorld(t, yaml(c.base, c.narrow), nil)
		s, err := w.host.Open(SessionOptions{Policy: "narrow"})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Exposure(s.View()); got != c.want {
			t.Errorf("%s and %s: %+v, want %+v", c.base, c.narrow, got, c.want)
		}
	}
	w := newWorld(t, "version: 1\nservers: {}\n", nil)
	s := w.session(false)
	if got := s.Exposure(s.View()); got != (Exposure{"auto", 300, 16 << 10}) {
		t.Errorf("without a policy: %+v", got)
	}
}
