//go:build !linux

package hub

import "context"

// EndDescendants finds nothing here: orphans are not below this process.
func EndDescendants() (left int) { return 0 }

// Tend has nothing to do here: orphans are not below this process.
func Tend(context.Context) {}

// Sweep finds nothing here: what other processes were started with is not shown.
func Sweep(context.Context) (found, left int) { return 0, 0 }
