package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// LostError says that the hub went away before it had answered, or does not answer.
type LostError struct{ Err error }

// Error says what was seen of it.
func (e *LostError) Error() string {
	switch {
	case errors.Is(e.Err, os.ErrDeadlineExceeded):
		return "the hub does not answer"
	case errors.Is(e.Err, errStopped):
		return "the hub was stopped before it answered"
	case errors.Is(e.Err, io.EOF), errors.Is(e.Err, io.ErrUnexpectedEOF), errors.Is(e.Err, syscall.ECONNRESET), errors.Is(e.Err, syscall.EPIPE):
		return "the hub went away before it answered"
	}
	return fmt.Sprintf("the hub went away before it answered: %v", e.Err)
}

// Unwrap is what the connection said.
func (e *LostError) Unwrap() error { return e.Err }

// Serves reports whether the hub serves this command though there was err, of
// OpenCaller or of a request before anything was asked for. One that went away, does
// not answer or is full does not: the command says so and works without it.
func Serves(err error) bool {
	_, lost := errors.AsType[*LostError](err)
	refused, _ := errors.AsType[*RemoteError](err)
	return !lost && (refused == nil || refused.Word != wordOverload)
}

// errStopped is the end of a hub that a person stopped.
var errStopped = errors.New("stopped")

// longest is the longest line of a hub: any message of a server with what the
// gateway adds to it.
const longest = config.MaxMessageBytes + config.MaxMessageBytes/8

// introduce says hello on conn and gives the hub what it wants of the variables that
// lookup knows; next reads a line of the hub. It takes HubLineWait at most, or until
// ctx ends. The error is a *RemoteError, a *LostError, what ended ctx, or says that
// the answer is no hub's.
func introduce(ctx context.Context, conn net.Conn, next func() ([]byte, error), h Hello, lookup func(string) (string, bool)) (w welcome, err error) {
	_ = conn.SetDeadline(time.Now().Add(config.HubLineWait)) // without deadlines the hub's end, or ctx, is the bound
	stop := bounded(ctx, conn)
	defer func() {
		if stop() {
			_ = conn.SetDeadline(time.Time{})
		}
	}()
	if _, err = conn.Write(h.line()); err != nil {
		return w, lost(ctx, err)
	}
	answer, err := next()
	if err != nil {
		return w, lost(ctx, err)
	}
	if w, err = parseWelcome(answer); err != nil || len(w.Want) == 0 {
		return w, err
	}
	v := values{Env: map[string]string{}}
	for _, name := range w.Want {
		if value, ok := lookup(name); ok {
			v.Env[name] = value
		}
	}
	if _, err = conn.Write(v.line()); err != nil {
		return w, lost(ctx, err)
	}
	return w, nil
}

// Control has the hub at the other end of conn carry out one verb, about the
// server called name where it is about one, and closes conn. It waits for the
// result until ctx ends; after a stop also, for HubStop, until the hub's servers are
// gone. The error is a *RemoteError, a *LostError, what ended ctx, or says that the
// answer is no hub's.
func Control(ctx context.Context, conn net.Conn, verb, name string) (json.RawMessage, error) {
	defer conn.Close()
	stop := bounded(ctx, conn)
	defer stop()
	if _, err := conn.Write(order{Verb: verb, Name: name, ClientPID: os.Getpid()}.line()); err != nil {
		return nil, lost(ctx, err)
	}
	line, err := wire.NewReader(conn, longest).Next()
	if err != nil {
		return nil, lost(ctx, err)
	}
	result, err := parseResult(line)
	if verb == call.VerbStop && err == nil && conn.SetReadDeadline(time.Now().Add(config.HubStop)) == nil {
		_, _ = io.Copy(io.Discard, conn) // it ends with them
	}
	return result, err
}

// bounded has ctx end what waits on conn. From stop on, which may be called again,
// the deadlines of conn are the caller's; it is false when ctx set one.
func bounded(ctx context.Context, conn net.Conn) (stop func() bool) {
	ended := make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0))
		close(ended)
	})
	return sync.OnceValue(func() bool {
		if undo() {
			return true
		}
		<-ended // at once
		return false
	})
}

// lost is the error of a connection that ended: what ended ctx, if that did.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &LostError{err}
}
