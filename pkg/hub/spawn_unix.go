//go:build linux || darwin

package hub

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spawn starts a program that has nothing of this one: a session of its own, / as
// its directory, /dev/null for input, output and errors, no other descriptor, no
// blocked signal, and environ alone, which Environment makes. args begin with the
// command's name. It does not wait for the program, which sets its umask itself.
func Spawn(executable string, args []string, environ []string) error {
	keepDescriptors()
	c := &exec.Cmd{Path: executable, Args: args, Env: environ, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	back := unblock()
	err := c.Start()
	back()
	if err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // ends with the program, or with this process
	return nil
}

// keepDescriptors leaves what this process was started with, beside its input,
// output and errors, out of whatever it starts: a hub outlives the agent, and would
// hold the agent's pipes, locks and terminals open.
func keepDescriptors() {
	open, _ := os.ReadDir(ownDescriptors) // without the list it is as with any program
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd) // one that was closed meanwhile is none
		}
	}
}
