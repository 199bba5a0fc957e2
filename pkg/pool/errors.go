package pool

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"postern/pkg/config"
)

// ErrClosed is returned by Get after Close.
var ErrClosed = errors.New("the gateway is shutting down")

// ErrLeft is returned when a server is one session's alone and that is over.
var ErrLeft = errors.New("the session is over")

// OpenError says that a server's breaker is open (R24): the call was not sent,
// and no other is before Left has passed.
type OpenError struct {
	Server string
	Left   time.Duration // whole seconds, at least one
}

// Error names the server and when it is asked again.
func (e *OpenError) Error() string {
	return fmt.Sprintf("server %s failed too often in a row and is not asked for another %s", e.Server, e.Left)
}

// HeldError says that a server dies again and again and is kept down (R21).
type HeldError struct {
	Server string
	Deaths int           // within config.FlapWindow
	Why    string        // how the last one came about
	Left   time.Duration // until it may start again: whole seconds, at least one
}

// Error names the server, its last end and when the next try is due.
func (e *HeldError) Error() string {
	return fmt.Sprintf("server %s ended %d times in short order and is held down; the next try is due in %s; its last end: %s",
		e.Server, e.Deaths, e.Left, e.Why)
}

// StuckError says that servers which were told to end are not gone after
// config.ServerEnd (R12). They end as soon as what they hang on lets them, and
// nothing of their keys starts before.
type StuckError struct {
	Servers []string // ids, each once, sorted; none where it is work of the pool's own
}

// Error names the servers.
func (e *StuckError) Error() string {
	what := cmp.Or(strings.Join(e.Servers, ", "), "work of the gateway's own")
	return fmt.Sprintf("not gone %s after being told to end: %s; a disk that does not answer may hold it up",
		config.ServerEnd.Round(time.Second), what)
}

// seconds is a wait as it is told: a call that comes after it finds it over.
func seconds(left time.Duration) time.Duration {
	return max(time.Second, (left + time.Second - 1).Truncate(time.Second))
}
