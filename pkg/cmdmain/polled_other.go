//go:build !linux

package cmdmain

import "io"

// Polled leaves standard input and output as they are.
func (e *Env) Polled() (r io.Reader, w io.Writer, whole bool, back func()) {
	return e.Stdin, e.Stdout, false, func() {}
}
