//go:build unix

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
)

// TestScriptsThroughHub runs the scripts once more with a hub up: whoever makes the
// call, the command says and does the same (K7).
func TestScriptsThroughHub(t *testing.T) {
	scripts(t, "testdata/script", func(env *testscript.Env) error {
		stop, err := cmdtest.StartHub(env.Vars, env.Getenv)
		if err == nil {
			env.Defer(stop)
		}
		return err
	})
}
