//go:build !linux && !darwin

package hub

import "errors"

// Keeper cannot be made here.
type Keeper struct{}

// Attach returns nil: no process has a keeper here.
func Attach() *Leash { return nil }

// Start is not possible here: errors.ErrUnsupported.
func Start(Options) (*Keeper, error) { return nil, errors.ErrUnsupported }

// Wait is never reached.
func (*Keeper) Wait(bool) End { return End{} }
