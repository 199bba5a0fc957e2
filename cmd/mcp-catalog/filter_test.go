package main

import (
	"errors"
	"testing"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
)

func tool(server, name string) *call.Tool {
	return &call.Tool{
		Server:  &call.Server{Declared: &config.Server{ID: server}},
		Def:     &catalog.Tool{Name: name},
		Exposed: catalog.Exposed(server, name, config.DefaultNameMax),
	}
}

// R53: SERVER/TOOL is matched part by part on the original names, anything
// else on the exposed name; the whole must fit.
func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		pattern, server, tool string
		want                  bool
	}{
		{"docs/search", "docs", "search", true},
		{"docs/search", "docs", "search2", false},
		{"docs/*", "docs", "a/b", true},
		{"*/search", "wiki", "search", true},
		{"docs/a/b", "docs", "a/b", true},
		{"docs__search", "docs", "search", true},
		{"docs__a.b", "docs", "a.b", false}, // agents see docs__a_b_HASH
		{"docs__a_b_*", "docs", "a.b", true},
		{"*", "docs", "search", true},
		{"search", "docs", "search", false},
		{"DOCS/search", "docs", "search", false},
		{"doc?__*", "docs", "search", true},
	} {
		filters, err := parseFilters([]string{tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		found := map[*filter]bool{}
		if got := matchAny(filters, tool(tt.server, tt.tool), found); got != tt.want || found[filters[0]] != tt.want {
			t.Errorf("%q on %s/%s: %v, want %v", tt.pattern, tt.server, tt.tool, got, tt.want)
		}
	}
}

func TestFilterMistakes(t *testing.T) {
	for _, pattern := range []string{"", "docs/", "/x", "a\x00b", "\xff", "exec:*", "resource:a/b", "prompt:a/b"} {
		_, err := parseFilters([]string{"*", pattern})
		var e *cmdmain.Error
		if !errors.As(err, &e) || e.Exit != cmdmain.Usage {
			t.Errorf("%q: %v, want a usage error", pattern, err)
		}
	}
}

// Any argument is either refused or matched; nothing panics.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"*", "docs/*", "a__b", "exec:x", "?/?", "**/**", "\xff", "a/b/c"} {
		f.Add(s, "docs", "search")
	}
	f.Fuzz(func(t *testing.T, pattern, server, name string) {
		filters, err := parseFilters([]string{pattern})
		if err != nil {
			return
		}
		one := tool(server, name)
		got := matchAny(filters, one, map[*filter]bool{})
		if got && filters[0].literal() && pattern != one.Exposed && pattern != server+"/"+name {
			t.Errorf("%q fits %q/%q", pattern, server, name)
		}
	})
}
