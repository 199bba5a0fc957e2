package config

import (
	"errors"
	"strings"
	"testing"
)

func TestSetEnabled(t *testing.T) {
	for name, tt := range map[string]struct {
		file, id string
		on       bool
		want     func(string) string
	}{
		"a line behind the fields": {edited, "github", false, func(s string) string {
			return strings.Replace(s, "    # idle_stop: 10m\n", "    # idle_stop: 10m\n    enabled: false\n", 1)
		}},
		"behind a list": {edited, "files", false, func(s string) string {
			return strings.Replace(s, "files@1.2.3\"\n", "files@1.2.3\"\n    enabled: false\n", 1)
		}},
		"enabled already":  {edited, "github", true, func(s string) string { return s }},
		"disabled already": {oneServer("enabled: FALSE # why\ncommand: x"), "s", false, func(s string) string { return s }},
		"the word alone": {oneServer("enabled:   false   # because\ncommand:    x"), "s", true, func(s string) string {
			return strings.Replace(s, "false", "true", 1)
		}},
		"back again": {oneServer("command: x\nenabled: true"), "s", false, func(s string) string { return strings.Replace(s, "true", "false", 1) }},
		"in one line": {head + "servers: {é: {command: x}, s: {command: x, enabled: false}} # c\n", "s", true, func(s string) string {
			return strings.Replace(s, "false", "true", 1)
		}},
		"a word that is none":     {oneServer("command: x\nenabled: yes"), "s", true, func(s string) string { return strings.Replace(s, "yes", "true", 1) }},
		"in quotes":               {oneServer("command: x\nenabled: \"no\""), "s", true, func(s string) string { return strings.Replace(s, "\"no\"", "true", 1) }},
		"without a last line end": {strings.TrimSuffix(oneServer("command: x"), "\n"), "s", false, func(s string) string { return s + "\n    enabled: false\n" }},
		"a bad entry is disabled": {oneServer("comand: x"), "s", false, func(s string) string { return s + "    enabled: false\n" }},
	} {
		got, err := SetEnabled([]byte(tt.file), tt.id, tt.on)
		if want := tt.want(tt.file); err != nil || string(got) != want {
			t.Errorf("%s: %v, got:\n%s\nwant:\n%s", name, err, got, want)
		}
	}
}

// An entry on one line is written anew; the rest of the file stays.
func TestSetEnabledInAnEntryOfOneLine(t *testing.T) {
	file := head + "# mine\nservers:\n  s: {command: x} # c\n  t:   {command: y}\n"
	got, err := SetEnabled([]byte(file), "s", false)
	if err != nil {
		t.Fatal(err)
	}
	c := loadUser(t, string(got))
	if s := c.Server("s"); s == nil || s.Enabled || c.Server("t") == nil || !strings.Contains(string(got), "# mine\n") || !strings.Contains(string(got), "# c") {
		t.Errorf("%s%v", got, problems(c))
	}
}

func TestSetEnabledRefuses(t *testing.T) {
	var none *NoServerError
	if _, err := SetEnabled([]byte(edited), "gone", false); !errors.As(err, &none) || none.ID != "gone" {
		t.Errorf("%v", err)
	}
	for file, want := range map[string]string{
		"servers: {":                      "not valid YAML",
		oneServer("comand: x"):            `unknown field (did you mean "command"?)`,
		head + "servers: {s: x}\n":        "the entry is no mapping; remove it first",
		head + "servers: {s: {url: a}}\n": "HTTP servers are not supported yet",
	} {
		_, err := SetEnabled([]byte(file), "s", true)
		var d Diagnostic
		if !errors.As(err, &d) || !strings.Contains(d.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func FuzzSetEnabled(f *testing.F) {
	f.Add([]byte(edited), "github", false)
	f.Add([]byte(oneServer("command: x\nenabled: no")), "s", true)
	f.Add([]byte("servers: {s: {enabled: false, command: x}}"), "s", true)
	f.Add([]byte("servers:\n s:\n  enabled: |\n   x\n  command: é"), "s", false)
	f.Fuzz(func(t *testing.T, file []byte, id string, on bool) {
		if len(file) > 4096 {
			return
		}
		got, err := SetEnabled(file, id, on)
		if err != nil {
			return
		}
		doc, err := yamlDocument(got)
		if err != nil || doc == nil {
			t.Fatalf("%v: %q", err, got)
		}
		_, servers := pair(doc.Content[0], "servers")
		_, entry := pair(servers, id)
		_, value := pair(entry, "enabled")
		if value == nil && !on || value != nil && (value.ShortTag() != "!!bool" || strings.EqualFold(value.Value, "true") != on) {
			t.Fatalf("%q is not %v in %q", id, on, got)
		}
		again, err := SetEnabled(got, id, on)
		if err != nil || string(again) != string(got) {
			t.Fatalf("twice is not once: %v %q %q", err, got, again)
		}
	})
}
