//go:build !linux

package proc

import (
	"errors"
	"os"
)

// Self is this process.
func Self() ID { return ID{PID: os.Getpid()} }

// BecomeSubreaper is not possible here: errors.ErrUnsupported.
func BecomeSubreaper() error { return errors.ErrUnsupported }
