package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
)

func TestMain(m *testing.M) {
	commands := mcptest.Commands()
	commands["mcp-catalog"] = func() { cmdmain.Main("mcp-catalog", app) }
	commands[cmdtest.HubName] = cmdtest.Hub
	testscript.Main(m, commands)
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-catalog", app) }

// TestScripts runs the command as people do, each script in a home of its own
// that holds nothing.
func TestScripts(t *testing.T) { scripts(t, nil, "script") }

// scripts runs files and folders below testdata; hub, where it is not nil, puts one up for each, which they know
// by the condition [hub].
func scripts(t *testing.T, hub func(*testscript.Env) error, names ...string) {
	servers := mcptest.ServerFolder(t)
	var found []string
	for _, name := range names {
		pattern := filepath.Join("testdata", name)
		if filepath.Ext(name) == "" {
			pattern = filepath.Join(pattern, "*.txtar")
		}
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		found = append(found, files...)
	}
	testscript.Run(t, testscript.Params{
		Files: found,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("GORACE", mcptest.NoRaceSleep)
			env.Setenv("PATH", servers+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("FAKE", filepath.Join(servers, mcptest.Name))
			env.Setenv("CONFIG", filepath.Join(home, ".config", "postern"))
			env.Setenv("CATALOGS", filepath.Join(home, ".cache", "postern", "catalogs"))
			if err := mcptest.Own(home); err != nil || hub == nil {
				return err
			}
			return hub(env)
		},
		Condition: func(cond string) (bool, error) {
			if cond != "hub" {
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			return hub != nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"approve": cmdtest.Approve, "age": ageCatalogs, "field": field, "replace": cmdtest.Replace, "soon": cmdtest.Soon,
		},
	})
}

// age DATE dates every recorded catalog.
func ageCatalogs(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("CATALOGS"), "*.json"))
	ts.Check(err)
	for _, file := range files {
		text := ts.ReadFile(file)
		_, rest, ok := strings.Cut(text, `"at":"`)
		date, _, closed := strings.Cut(rest, `"`)
		if !ok || !closed {
			ts.Fatalf("%s has no date", file)
		}
		ts.Check(os.WriteFile(file, []byte(strings.Replace(text, date, args[0], 1)), 0o600))
	}
}

// field SERVER|NAME PATH WANT compares one member, named a.b, of the row of
// standard output whose server or name is the first argument.
func field(ts *testscript.TestScript, neg bool, args []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var row map[string]any
		ts.Check(json.Unmarshal([]byte(line), &row))
		if row["server"] != args[0] && row["name"] != args[0] {
			continue
		}
		var value any = row
		for _, name := range strings.Split(args[1], ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		got, err := json.Marshal(value)
		ts.Check(err)
		if text, ok := value.(string); ok {
			got = []byte(text)
		}
		if (string(got) == args[2]) == neg {
			ts.Fatalf("%s of %s is %s", args[1], args[0], got)
		}
		return
	}
	ts.Fatalf("there is no row of %s", args[0])
}
