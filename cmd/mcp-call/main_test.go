package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
)

func TestMain(m *testing.M) {
	commands := mcptest.Commands()
	commands["mcp-call"], commands[cmdtest.HubName] = main, cmdtest.Hub
	testscript.Main(m, commands)
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-call", app) }

// TestScripts runs the command as people do, each script in a home of its own.
// A configuration is as it comes out of the archive.
func TestScripts(t *testing.T) { scripts(t, "testdata/script", nil) }

// scripts runs those in dir; hub, where it is not nil, puts one up for each, which
// they know by the condition [hub].
func scripts(t *testing.T, dir string, hub func(*testscript.Env) error) {
	servers := mcptest.ServerFolder(t)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("PATH", servers+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("GORACE", mcptest.NoRaceSleep)
			env.Setenv("EVENTS", filepath.Join(home, "events"))
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
			"code": code, "approve": cmdtest.Approve, "sent": sent, "events": events, "replace": cmdtest.Replace, "binary": binary, "soon": cmdtest.Soon,
		},
	})
}

// code N ARGS… runs mcp-call, which has to end with N (K4).
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("mcp-call", args[1:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("it ended with %d, want %d", got, want)
	}
}

// sent ARGUMENTS compares what the last call brought to the server that writes
// to $EVENTS, byte by byte.
func sent(ts *testscript.TestScript, neg bool, args []string) {
	last := ""
	for line := range strings.Lines(ts.ReadFile(ts.Getenv("EVENTS"))) {
		// call PID TOOL ARGUMENTS
		if fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4); fields[0] == "call" {
			last = fields[3]
		}
	}
	if (last == args[0]) == neg {
		ts.Fatalf("%s was sent, not %s", last, args[0])
	}
}

// events NAME N compares how often something happened to the servers that write
// to $EVENTS.
func events(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.Getenv("EVENTS"))
	if err != nil && !os.IsNotExist(err) {
		ts.Check(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, args[0]+" ") {
			n++
		}
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s happened %d times:\n%s", args[0], n, data)
	}
}

// binary FILE writes a file that is no text.
func binary(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("\x89PNG\r\n\x1a\n\xff"), 0o600))
}
