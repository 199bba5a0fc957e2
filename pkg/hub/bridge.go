package hub

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
)

// BridgeOptions says between whom a bridge relays. No field but Lost and Say may
// be nil.
type BridgeOptions struct {
	Hello  Hello                                       // what each hub is told
	Lookup func(name string) (string, bool)            // a variable of the agent's environment
	Reach  func(ctx context.Context) (net.Conn, error) // a hub; starts one where none answers; ErrStopped when there is to be none
	// Alone serves the session without a hub, from r to w, until r ends or ctx does.
	// It closes neither, and returns when its servers are gone.
	Alone func(ctx context.Context, r io.Reader, w io.Writer) error
	// Lost is given the rows of the calls that a lost hub cannot write any more,
	// before they are answered. nil: there are no rows.
	Lost      func(rows []calllog.Row)
	Say       func(text string) // one line for the operator; nil: nobody is told
	ParentPID int               // the agent: the bridge ends when its own parent is another; 0 = not looked at
}

// UnreachedError says that there was no first hub. Nothing of the agent has been
// read by then and nothing was written to it: the session can be served otherwise.
type UnreachedError struct{ Err error }

// Error says why.
func (e *UnreachedError) Error() string { return "no hub can be used: " + e.Err.Error() }

// Unwrap is why.
func (e *UnreachedError) Unwrap() error { return e.Err }

// errParent ends a bridge whose agent is gone.
var errParent = errors.New("the process that started the bridge is gone")

// Bridge relays one session between an agent and a hub, across the hub's death
// (R74). It returns when stdin ends, within BridgeEnd and what a session without a
// hub needs to end; when stdout fails; when the parent changes; or when ctx ends.
// The error is of reading or writing, Alone's, an *UnreachedError, or a
// *RemoteError of a hub that refuses the session; nil when the agent or ctx ended
// it. It closes neither stdin nor stdout, and does not wait for a Read or Write of
// those that hangs: such a goroutine ends with the process.
func Bridge(ctx context.Context, stdin io.Reader, stdout io.Writer, o BridgeOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		if parentChanged(ctx, o.ParentPID) {
			cancel(errParent)
		}
	}()
	b := &bridge{o: o, out: stdout, memory: newMemory()}
	b.room.L = &b.sending
	first, err := b.reach(ctx)
	switch refused := new(RemoteError); {
	case err == nil:
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &refused) && refused.Word != wordRetiring:
		return refused
	default:
		return &UnreachedError{err}
	}
	b.link = first
	b.gone = func() bool { return ctx.Err() != nil || hungUp(stdin) }
	up, down := make(chan error, 1), make(chan error, 1)
	go func() { up <- b.fromAgent(stdin) }()       // ends with stdin, or with the process when a Read hangs
	go func() { down <- b.fromHubs(ctx, first) }() // ends with the session; a Write to the agent that hangs ends with the process
	select {
	case err = <-up:
		if ended := b.finish(down); err == nil {
			err = ended
		}
	case err = <-down:
	case <-ctx.Done():
	}
	cancel(nil)
	b.close()
	return err
}

// bridge is one session. Its two goroutines share what is below the locks;
// sending is locked before mu where both are.
type bridge struct {
	o    BridgeOptions
	gone func() bool // nobody needs the session: the agent closed its end, whether or not all of it is read

	writing sync.Mutex // held while lines go out to the agent
	out     io.Writer

	sending sync.Mutex // held while a line goes out to the hub, and while the hub is another
	link    *link      // nil: there is no hub, and lines wait
	waiting [][]byte   // framed
	waits   int        // bytes of them
	room    sync.Cond  // on sending: waiting became shorter, or link is there
	ending  bool       // the agent closed its end
	stopped bool       // by a person: there will be no other hub

	mu     sync.Mutex
	memory *memory

	deaths []time.Time // of hubs; for the goroutine that reads from them
	noted  []string    // notes of hubs that were said; likewise
}

func (b *bridge) say(text string) {
	if b.o.Say != nil {
		b.o.Say(text)
	}
}

// finish hands the end of the agent on and waits for what still comes: answers to
// requests that are under way, and the end of a session without a hub.
func (b *bridge) finish(down <-chan error) error {
	patience := config.BridgeEnd
	b.sending.Lock()
	b.ending = true
	b.room.Broadcast()
	if b.stopped {
		patience = 0
	}
	if b.link != nil {
		b.link.closeWrite()
		if b.link.alone != nil {
			patience = config.AloneEnd
		}
	}
	b.sending.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-down:
		return err
	case <-timer.C:
		return nil
	}
}

// close lets the hub go. A session without one is waited for.
func (b *bridge) close() {
	b.sending.Lock()
	l := b.link
	b.ending = true
	b.room.Broadcast()
	b.sending.Unlock()
	if l != nil {
		l.close()
	}
}
