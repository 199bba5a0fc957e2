package pool

import "runtime/debug"

// internal is what callers are told of a panic; what it was stands in the
// gateway's own log.
const internal = "an internal error of postern"

// contain runs one step of an instance's life. A panic in it is reported, goes
// no further (R26), and fine is false.
func (p *Pool) contain(where string, step func()) (fine bool) {
	defer func() {
		if p.o.Panicked == nil {
			return
		}
		if v := recover(); v != nil {
			p.o.Panicked(where, v, debug.Stack())
		}
	}()
	step()
	return true
}
