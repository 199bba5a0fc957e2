package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
)

var digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-trust": main})
}

// TestScripts runs the real binary in a scratch home per script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(e *testscript.Env) error {
		home := filepath.Join(e.WorkDir, "home")
		e.Setenv("HOME", home)
		e.Setenv("POSTERN_CONFIG_DIR", filepath.Join(home, "config"))
		e.Setenv("DIGEST", "") // set by `digest`
		return os.MkdirAll(home, 0o700)
	}, Cmds: map[string]func(*testscript.TestScript, bool, []string){"digest": digest}})
}

// digest SERVER puts what `status` shows as its digest into $DIGEST.
func digest(ts *testscript.TestScript, neg bool, args []string) {
	_ = ts.Exec("mcp-trust", "status", args[0], "-o", "jsonl") // its code 3 is expected
	found := digestPattern.FindString(ts.ReadFile("stdout"))
	if neg || found == "" {
		ts.Fatalf("no digest shown")
	}
	ts.Setenv("DIGEST", found)
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-trust", app) }
