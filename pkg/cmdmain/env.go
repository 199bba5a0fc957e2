package cmdmain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/secret"
)

// Env is everything a command gets from outside. Commands use it instead of
// package os, so that a test can run two of them in one process.
type Env struct {
	Name           string          // "mcp-call"
	Ctx            context.Context // cancelled by the first interrupt
	Args           []string        // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(name string) string
	Environ        []string // "NAME=value"

	// Help, when the application sets it, is asked before the usual help is
	// printed where --help stands beside arguments that are no verbs. It sees
	// them, and the flags beside them, as an action does, and returns true when
	// it wrote the help itself.
	Help func(c *cli.Context) (bool, error)

	redactor atomic.Pointer[secret.Redactor] // see Redact
	saying   sync.Mutex                      // held for a write to Stderr

	path       []string    // verbs of the command line, for "mcp-x verb --help"
	place      []placeFlag // repeated in hints
	jsonErrors bool
	process    *process // nil when this is none
}

func (e *Env) verb() string { return strings.Join(append([]string{e.Name}, e.path...), " ") }

// LookupEnv is a variable of the environment, and whether it is there.
func (e *Env) LookupEnv(name string) (value string, found bool) {
	for _, pair := range slices.Backward(e.Environ) {
		if value, found = strings.CutPrefix(pair, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// IsTerminal tells whether stream, one of Env's three, is a terminal.
func (e *Env) IsTerminal(stream any) bool {
	if out, ok := stream.(*output); ok {
		stream = out.w
	}
	f, ok := stream.(*os.File)
	return ok && isTerminal(f.Fd())
}

// errClosedPipe is what a write to standard output returns once its reader is
// gone. Only our own standard output makes it, never a pipe to a server.
var errClosedPipe = errors.New("standard output was closed")

// output is standard output with a memory: a write that failed fails the
// command, also where a print's error was not looked at. It is as safe for
// concurrent use as what it writes to.
type output struct {
	w     io.Writer
	first atomic.Pointer[error] // not behind a lock: a write may block for ever
}

// err is the first error of a write, nil when all went well.
func (o *output) err() error {
	if p := o.first.Load(); p != nil {
		return *p
	}
	return nil
}

// Write passes on until the first error, which it returns from then on.
func (o *output) Write(p []byte) (int, error) {
	if err := o.err(); err != nil {
		return 0, err
	}
	n, err := o.w.Write(p)
	if err == nil {
		return n, nil
	}
	if isClosedPipe(err) {
		err = errClosedPipe
	} else {
		err = fmt.Errorf("cannot write standard output: %w", err)
	}
	o.first.CompareAndSwap(nil, &err)
	return n, err
}

// SyscallConn is that of what is written to.
func (o *output) SyscallConn() (syscall.RawConn, error) {
	if c, ok := o.w.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CheckStdout ends a command that waits: it is an error once the reader of
// standard output is gone, which otherwise only the next write would notice.
func (e *Env) CheckStdout() error {
	out, ok := e.Stdout.(*output)
	if !ok {
		return nil
	}
	if err := out.err(); err != nil {
		return err
	}
	if f, ok := out.w.(*os.File); ok && readerIsGone(f.Fd()) {
		return errClosedPipe
	}
	return nil
}

// SetWriteDeadline passes on to a standard output that has deadlines.
func (o *output) SetWriteDeadline(t time.Time) error {
	if d, ok := o.w.(interface{ SetWriteDeadline(time.Time) error }); ok {
		return d.SetWriteDeadline(t)
	}
	return os.ErrNoDeadline
}
