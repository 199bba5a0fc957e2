package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/pkg/state"
)

// withDropIns makes a configuration directory with mcp.yaml and files of mcp.d.
func withDropIns(t *testing.T, yaml string, files map[string]string) state.Dirs {
	t.Helper()
	dirs := userDir(t, yaml)
	for name, text := range files {
		write(t, filepath.Join(dirs.Config, "mcp.d", name), text)
	}
	return dirs
}

// shown are the diagnostics with their files as seen from the configuration
// directory.
func shown(dirs state.Dirs, c *Config) []string {
	var out []string
	for _, d := range c.Diagnostics {
		out = append(out, strings.ReplaceAll(d.String(), dirs.Config+"/", ""))
	}
	return out
}

// C13: drop-ins are read in the order of their names, behind mcp.yaml, and say
// together with it what one file could say.
func TestDropInsAreOneConfiguration(t *testing.T) {
	dirs := withDropIns(t, head+"servers: {main: {command: x}}\nsecrets: {A: 'cmd:a'}\ndefaults: {policy: late}\n", map[string]string{
		"20-b.yaml":     head + "servers: {two: {command: x}}\npolicies: {late: {servers: [two], deny: ['two/del_*']}}\n",
		"10-a.yaml":     head + "servers: {one: {command: x, args: ['${A}'], env_file: a.env}}\nlog: {args: none}\n",
		"30-empty.yaml": "",
		"40.yaml~":      "not: [read",
		".50.yaml":      "not: [read",
		"README":        "not: [read",
	})
	c := Load(LoadOptions{Dirs: dirs})
	var ids []string
	for _, s := range c.Servers {
		ids = append(ids, s.ID)
	}
	if c.Refused || !slices.Equal(ids, []string{"main", "one", "two"}) {
		t.Fatalf("%v %v", ids, shown(dirs, c))
	}
	one := c.Server("one")
	if one.At() != filepath.Join(dirs.Config, "mcp.d", "10-a.yaml")+":2" || one.Base() != filepath.Join(dirs.Config, "mcp.d") {
		t.Errorf("%s %s", one.At(), one.Base())
	}
	if p := c.Policies["late"]; c.Defaults.Policy != "late" || p.Deny[0].At != filepath.Join(dirs.Config, "mcp.d", "20-b.yaml")+":3" {
		t.Errorf("%+v", p)
	}
	if c.Log.Args != "none" || len(c.Secrets) != 1 {
		t.Errorf("%+v", c.Log)
	}
	want := []string{"mcp.d/10-a.yaml:2:36: servers.one.args[0]: holds a secret that every program on this machine can see; use env if the server can"}
	if got := shown(dirs, c); !slices.Equal(got, want) {
		t.Errorf("C31: %q", got)
	}
	for id, file := range map[string]string{"main": "mcp.yaml", "two": "mcp.d/20-b.yaml", "none": ""} {
		got, _ := filepath.Rel(dirs.Config, c.UserFile(id))
		if c.UserFile(id) == "" {
			got = ""
		}
		if got != file {
			t.Errorf("%s is in %q", id, got)
		}
	}
}

// C13: the first definition wins and the loser is named; in one hand it is a
// mistake, and what may be there once is not chosen between.
func TestDropInsThatSayItAgain(t *testing.T) {
	for again, want := range map[string]struct {
		problem string
		refused bool
	}{
		"servers: {s: {command: other}}":              {"mcp.d/x.yaml:2:11: servers.s: the id s is taken by mcp.yaml:2; this declaration is left out", false},
		"policies: {all: {servers: [s]}}":             {"mcp.d/x.yaml:2:12: policies.all: given twice; the first is mcp.yaml:3", true},
		"secrets: {T: 'cmd:x'}":                       {"mcp.d/x.yaml:2:11: secrets.T: given twice; the first is mcp.yaml:5", true},
		"defaults: {policy: all}":                     {"mcp.d/x.yaml:2:11: defaults: given twice; the first is mcp.yaml:4", true},
		"names: {max: 40}":                            {"mcp.d/x.yaml:2:8: names: given twice; the first is mcp.yaml:6", true},
		"log: {args: hash}":                           {"mcp.d/x.yaml:2:6: log: given twice; the first is mcp.yaml:7", true},
		"path: [/bin]":                                {"mcp.d/x.yaml:2:7: path: given twice; the first is mcp.yaml:8", true},
		"servers: {t: {comand: x}}":                   {`mcp.d/x.yaml:2:15: servers.t.comand: unknown field (did you mean "command"?)`, false},
		"polices: {}":                                 {`mcp.d/x.yaml:2:1: polices: unknown field (did you mean "policies"?)`, true},
		"policies: {p: {servers: [s], deny: ['s/']}}": {"mcp.d/x.yaml:2:37: policies.p.deny[0]: a part beside the / is empty; write * for any", true},
		"servers: {":                                  {"mcp.d/x.yaml:3:1: not valid YAML:", true},
	} {
		dirs := withDropIns(t, head+"servers: {s: {command: x}}\npolicies: {all: {servers: ['*']}}\ndefaults: {policy: all}\n"+
			"secrets: {T: 'cmd:t'}\nnames: {max: 40}\nlog: {args: none}\npath: [/usr/bin]\n", map[string]string{"x.yaml": head + again + "\n"})
		c := Load(LoadOptions{Dirs: dirs})
		got := shown(dirs, c)
		if len(got) == 0 || !strings.HasPrefix(got[0], want.problem) || c.Refused != want.refused || c.Diagnostics[0].Warning {
			t.Errorf("%s: %q, refused %v", again, got, c.Refused)
		}
		if s := c.Server("s"); c.Refused && (len(c.Servers) > 0 || len(c.Policies) > 0 || c.Defaults != nil) ||
			!c.Refused && (s == nil || s.Command != "x" || c.Policies["all"] == nil) {
			t.Errorf("%s: %+v", again, c)
		}
	}
}

// C5, C13: a drop-in that cannot be believed takes the operator's whole
// configuration with it, for it may hold the deny that counts.
func TestDropInsThatAreNotBelieved(t *testing.T) {
	for name, tt := range map[string]struct {
		harm func(dir string) error
		want string
	}{
		"writable by others": {func(dir string) error { return os.Chmod(filepath.Join(dir, "a.yaml"), 0o666) }, "run chmod go-w "},
		"folder of others":   {func(dir string) error { return os.Chmod(dir, 0o777) }, "run chmod go-w "},
		"too large": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(head+strings.Repeat("#", MaxFileBytes)), 0o600)
		}, "larger than 256KiB"},
		"a folder":      {func(dir string) error { return os.Mkdir(filepath.Join(dir, "b.yaml"), 0o700) }, "is not a regular file"},
		"dangling link": {func(dir string) error { return os.Symlink("/nowhere", filepath.Join(dir, "b.yaml")) }, "is a link to a file that does not exist"},
		"without version": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "b.yaml"), []byte("servers: {}\n"), 0o600)
		}, "version: is missing"},
		"a file in place of the folder": {func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		}, "mcp.d: cannot be read: not a directory"},
		"too many": {func(dir string) error {
			for i := range MaxDropIns {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "mcp.d: holds more files than can be read"},
	} {
		dirs := withDropIns(t, policed, map[string]string{"a.yaml": head})
		if c := Load(LoadOptions{Dirs: dirs}); c.Refused {
			t.Fatal(shown(dirs, c))
		}
		if err := tt.harm(filepath.Join(dirs.Config, "mcp.d")); err != nil {
			t.Fatal(err)
		}
		c := Load(LoadOptions{Dirs: dirs})
		if got := strings.Join(shown(dirs, c), "\n"); !c.Refused || !strings.Contains(got, tt.want) || len(c.Policies) > 0 || len(c.Servers) > 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A .yml is probably meant to be read; it is named and costs nothing.
func TestDropInWithAnotherEnding(t *testing.T) {
	dirs := withDropIns(t, policed, map[string]string{"a.yml": "x: ["})
	c := Load(LoadOptions{Dirs: dirs})
	want := []string{"mcp.d/a.yml: is not read; the name of a drop-in file ends in .yaml"}
	if got := shown(dirs, c); c.Refused || !slices.Equal(got, want) || !c.Diagnostics[0].Warning {
		t.Errorf("%q", got)
	}
}

// R90: a drop-in that comes, changes or goes is noticed.
func TestDropInsAreWatched(t *testing.T) {
	dirs := withDropIns(t, policed, nil)
	path := filepath.Join(dirs.Config, "mcp.d", "a.yaml")
	text := head + "servers: {a: {command: x}}\n"
	for step, change := range []func() error{
		func() error { return os.Mkdir(filepath.Dir(path), 0o700) },
		func() error { return os.WriteFile(path, []byte(text), 0o600) },
		func() error { return os.WriteFile(path, []byte(text+"# longer\n"), 0o600) },
		func() error { return os.Chmod(path, 0o666) },
		func() error { return os.Remove(path) },
	} {
		before := Load(LoadOptions{Dirs: dirs})
		if !before.Current() {
			t.Fatal("nothing has changed")
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if before.Current() {
			t.Errorf("change %d is not noticed; stamps of %v", step, slices.Sorted(maps.Keys(before.Stamps)))
		}
	}
}

// The hash that rows of the call log carry covers drop-ins.
func TestDropInsAreInTheHash(t *testing.T) {
	dirs := withDropIns(t, policed, map[string]string{"a.yaml": head})
	before := Load(LoadOptions{Dirs: dirs}).Hash
	write(t, filepath.Join(dirs.Config, "mcp.d", "a.yaml"), head+"# x\n")
	if Load(LoadOptions{Dirs: dirs}).Hash == before {
		t.Error("the hash is the same")
	}
}

// A project's server never takes an id that a drop-in declares, be it badly.
func TestDropInsBeatProjects(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, ".mcp.json"), `{"mcpServers": {"good": {"command": "evil"}, "bad": {"command": "evil"}}}`)
	dirs := withDropIns(t, head, map[string]string{"a.yaml": head + "servers: {good: {command: x}, bad: {comand: x}}\n"})
	c := Load(LoadOptions{Dirs: dirs, Project: root})
	if s := c.Server("good"); s == nil || s.Scope != User || c.Server("bad") != nil {
		t.Errorf("%+v %v", s, shown(dirs, c))
	}
}
