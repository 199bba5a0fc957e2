package upstream

import (
	"strings"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Word says in one word how an upstream failed; the list is closed (R11).
type Word string

// The failure words.
const (
	Spawn       Word = "spawn"    // the process could not be started
	Closed      Word = "closed"   // it exited, or closed its end of a pipe
	Protocol    Word = "protocol" // it broke the protocol
	Timeout     Word = "timeout"  // it did not answer in time
	Overload    Word = "overload" // it does not read, or the message is too long
	Aborted     Word = "aborted"  // we gave up: cancelled or closed
	ServerError Word = "server"   // it answered the handshake or a list with an error
)

// Failure is every error of this package. It is a value of its own for each
// caller. Error leaves Stderr out, as that text is the server's.
type Failure struct {
	Word   Word
	Server string
	// Phase is spawn, or the method that was being asked, such as initialize.
	Phase  string
	Detail string
	// Stderr is the last lines the server wrote, without secrets: at most 2 KiB of
	// valid UTF-8 without control characters but the newlines between them. It is
	// empty once a call was answered, since it may be about another caller's then.
	Stderr string
	// Exit is how the process ended, such as "exit status 7"; "" if it has not.
	Exit string
	// Sent is whether a byte of the request was written: then the call may have
	// happened (R43).
	Sent bool
	// RPC is the server's own error, of ServerError.
	RPC *wire.RPCError
	// Limit is the bound that was hit, of Timeout.
	Limit time.Duration
}

// Error names server, phase and cause.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString("server " + f.Server)
	for _, part := range []string{f.Phase, f.Detail} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	if f.Detail == "" {
		b.WriteString(": " + string(f.Word))
	}
	if f.Exit != "" && !strings.Contains(f.Detail, f.Exit) {
		b.WriteString(" (" + f.Exit + ")")
	}
	return b.String()
}

// Explained is Error with the last line that the server wrote, if that is known
// and may be told (R42).
func (f *Failure) Explained() string {
	lines := strings.Split(f.Stderr, "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return f.Error()
	}
	if cut := lastLines(last, config.StderrLastLine); cut != last {
		last = "…" + cut
	}
	return f.Error() + "; the last it wrote: " + last
}

// Unwrap gives the server's own error, if that is what failed.
func (f *Failure) Unwrap() error {
	if f.RPC == nil {
		return nil
	}
	return f.RPC
}

// of is the failure of one call that the connection's end brought about.
func (f *Failure) of(phase string, sent bool) *Failure {
	g := *f
	g.Phase, g.Sent = phase, sent
	return &g
}
