//go:build linux || darwin

package hub

import (
	"os/exec"
	"syscall"
)

// Spawn starts a program that has nothing of this one: a session of its own, / as
// its directory, /dev/null for input, output and errors, and environ alone, which
// Environment makes. args begin with the command's name. It does not wait for the
// program, which sets its umask itself.
func Spawn(executable string, args []string, environ []string) error {
	c := &exec.Cmd{Path: executable, Args: args, Env: environ, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // ends with the program, or with this process
	return nil
}
