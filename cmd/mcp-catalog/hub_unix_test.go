//go:build unix

package main

import (
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
)

// TestScriptsThroughHub runs those scripts once more with a hub up in which it makes
// no difference who lists the servers, and one of its own (K7).
func TestScriptsThroughHub(t *testing.T) {
	scripts(t, func(env *testscript.Env) error {
		end, err := cmdtest.StartHub(env.Vars, env.Getenv)
		if err == nil {
			env.Defer(func() { end(syscall.SIGTERM) })
		}
		return err
	}, "hub", "script/add.txtar", "script/enable.txtar", "script/literal.txtar", "script/rm.txtar", "script/sharing.txtar", "script/test.txtar", "script/trust.txtar")
}
