package config

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckPattern(t *testing.T) {
	for _, good := range []string{"*", "s/t", "s/*", "s__t", "*/del_?", "resource:s/file:///x", "prompt:*/x", "exec:*--privileged*", "[a]/{b}", "a:b/c", "s/a/b", "日/本"} {
		if err := CheckPattern(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "/t", "s/", "resource:s", "prompt:/x", "exec:", "a\nb", "a\x00", "\xff", "a\u009b", strings.Repeat("a", 513)} {
		if CheckPattern(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"command", "args", "env", "env_file", "read_tools", "start_timeout", "allow"}
	for word, want := range map[string]string{"comand": "command", "Command": "command", "envFile": "env_file", "agrs": "args", "start-timeout": "start_timeout",
		"alow": "allow", "x": "", "en": "", "completely": "", "readtool": "read_tools", strings.Repeat("a", 10000): ""} {
		if got := nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4KiB": 4096, "64 MiB": 64 << 20, "1GiB": 1 << 30, "7B": 7,
		"": -1, "KiB": -1, "1KB": -1, "1kib": -1, "-1KiB": -1, "1.5MiB": -1, "01KiB": -1, "9999999999GiB": -1, "1MiBB": -1, "+1": -1} {
		got, ok := parseSize(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v", text, got, ok)
		}
	}
	for _, v := range []int64{0, 1, 1023, 1 << 10, 3 << 20, 1 << 30, 4<<20 + 1} {
		if got, ok := parseSize(formatSize(v)); !ok || got != v {
			t.Errorf("%d: %s", v, formatSize(v))
		}
	}
}

func TestDiagnosticString(t *testing.T) {
	d := Diagnostic{File: "/c/mcp.yaml", Line: 3, Column: 5, Field: "servers.s.comand", Problem: "unknown field", Nearest: "command"}
	if got := d.String(); got != `/c/mcp.yaml:3:5: servers.s.comand: unknown field (did you mean "command"?)` {
		t.Error(got)
	}
	if got := (Diagnostic{File: "/c", Problem: "x"}).Error(); got != "/c: x" {
		t.Error(got)
	}
	var as Diagnostic
	if !errors.As(error(d), &as) || as != d {
		t.Error("a Diagnostic is an error")
	}
}

// What is wrong with one file is bounded, however much it is.
func TestDiagnosticsAreBounded(t *testing.T) {
	c := loadUser(t, head+strings.Repeat("x: 1\n", 5000))
	if len(c.Diagnostics) != MaxDiagnostics+1 || !c.Refused {
		t.Errorf("%d", len(c.Diagnostics))
	}
}

// A value never shows in a message (C31).
func TestMessagesHoldNoValues(t *testing.T) {
	for _, fields := range []string{"command: y\nenv: {A: \"hunter2$x hunter2\"}", "command: y\nenv: {A: [hunter2]}", "command: y\nenv: {A: hunter2" + strings.Repeat("x", 5000) + "}",
		"command: y\nenv: {A: \"hunter2\\0\"}"} {
		got := strings.Join(problems(loadUser(t, oneServer(fields))), "\n")
		if got == "" || strings.Contains(got, "hunter2") || strings.Contains(got, "$x") {
			t.Errorf("%.60q: %s", fields, got)
		}
	}
}

// readUser reads one file as the whole of the user's.
func readUser(r *reader, top *node) *userFile {
	u := newUserFile()
	u.read(r, top)
	u.finish()
	return u
}
