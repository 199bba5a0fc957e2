package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
	"postern/pkg/mcptest"
)

func TestMain(m *testing.M) {
	commands := mcptest.Commands()
	commands["mcp-serve"], commands["patient"] = main, patient
	testscript.Main(m, commands)
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-serve", app) }

// TestScripts runs the gateway as an agent does, each script in a scratch home.
func TestScripts(t *testing.T) {
	fake := filepath.Join(mcptest.ServerFolder(t), mcptest.Name)
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		home := filepath.Join(e.WorkDir, "home")
		e.Setenv("HOME", home)
		e.Setenv("FAKE", fake)
		e.Setenv("GORACE", mcptest.NoRaceSleep)
		return mcptest.Own(e.WorkDir)
	}, Cmds: map[string]func(*testscript.TestScript, bool, []string){"answers": cmdtest.Answers, "soon": cmdtest.Soon}})
}
