//go:build unix

package mcptest

import (
	"os/exec"
	"syscall"
)

// ownSession makes c leave the process group and session of its parent.
func ownSession(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil
}
