//go:build !unix

package mcptest

import (
	"errors"
	"os/exec"
)

// ownSession has no meaning here.
func ownSession(*exec.Cmd) error { return errors.New("no sessions on this platform") }
