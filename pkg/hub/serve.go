package hub

import (
	"context"
	"encoding/json"
	"time"

	"postern/pkg/call"
	"postern/pkg/gateway"
)

// ServeOptions says what a hub serves, and where.
type ServeOptions struct {
	Place    Place
	Host     *call.Host
	Gateway  *gateway.Gateway
	IdleExit time.Duration // without a session; 0 = it stays
	// Control does what an order says and writes its row. It may be called
	// concurrently. The error's word and exit code are those of a *call.Refusal.
	Control func(verb, name string, pid int) (json.RawMessage, error)
	Version string       // of this build, for people
	Say     func(string) // one line for the operator; may be called concurrently
}

// Serve is the hub, until ctx ends, a person stops it, or nobody needs it.
func Serve(ctx context.Context, o ServeOptions) error {
	return nil
}

// Held reports whether some process is the hub of this place, or is about to be.
// It waits for nothing and changes nothing.
func (p Place) Held() bool { return false }
