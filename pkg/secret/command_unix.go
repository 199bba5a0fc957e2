//go:build unix

package secret

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command into its own process group and kills the whole
// group at the deadline, so that a wrapper leaves no child behind.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
