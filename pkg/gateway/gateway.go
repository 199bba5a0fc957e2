package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// Gateway serves MCP sessions of one host. Its methods may be called
// concurrently; it holds no resources of its own.
type Gateway struct {
	host    *call.Host
	version string
	results *results
}

// New makes a gateway in front of the host's servers. version is shown to
// agents as serverInfo.version.
func New(host *call.Host, version string) *Gateway {
	kept := &results{dir: filepath.Join(host.Dirs().State, "results"), now: time.Now}
	return &Gateway{host: host, version: version, results: kept}
}

// ErrInternal is what Serve returns when a panic ended the session (R26). What
// it was stands in state/hub.log.
var ErrInternal = errors.New("an internal error ended the session")

// direct is the `via` of an agent's own calls.
const direct = "direct"

// Options says what one session is.
type Options struct {
	Project   string        // real path of the project's root, "" for none
	Policy    string        // a policy that narrows, "" for none
	ClientPID int           // the agent's process, 0 when unknown
	ListWait  time.Duration // how long the first tools/list waits for a discovery; 0 = discover nothing (R66)
	Exposure  string        // auto, full or lazy in place of what the policy says; "" = what it says (R63)
	Only      string        // the one server that is served, as itself (R62); "" = all
	Dir       string        // the agent's working directory, absolute; "" = none
	Session   string        // its id, one of calllog.NewID; "" makes one
	Via       string        // the `via` of its rows; "" = direct. Only a direct session starts eager servers
	Environ   []string      // of the agent, see call.SessionOptions
	Whole     bool          // results go out as they came, never cut nor doubled as text
	Stamped   bool          // each line of r begins with the id of its row and a space (C81); see ErrStamp
}

// ErrStamp ends a session whose lines are to be stamped at the first one that is
// not.
var ErrStamp = errors.New("a line of the session does not begin with the id of its row")

// Serve speaks MCP with one agent until r ends, a write to w fails or ctx
// ends, and returns nil when r ended or ctx did. Calls that are then under way
// are given config.EndGrace to answer when r ended, and are cancelled. Serve
// waits for them and for unwritten answers, each bounded, but not for a Read
// of r that hangs: that goroutine ends with r. It closes neither r nor w, and reads
// nothing from r while answers wait for an agent that does not read (see unsent). The
// error is a failed write or read, what call.Host.Open says, or ErrInternal.
func (g *Gateway) Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	s := &session{g: g, o: o, open: map[string]*request{}, changes: make(chan struct{}, 1), streams: newStreams(), unsent: unsent{most: config.AgentUnsentBytes}}
	s.own = newOwnTools(s)
	inner, err := g.host.Open(call.SessionOptions{
		Project: o.Project, Policy: o.Policy, Via: cmp.Or(o.Via, direct), ClientPID: o.ClientPID, Changed: s.changed,
		Eager: cmp.Or(o.Via, direct) == direct, Agent: s, Only: o.Only, Dir: o.Dir, ID: o.Session, Environ: o.Environ,
	})
	if err != nil {
		return err
	}
	defer inner.Close()
	s.calls = inner
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	failed := make(chan error, 1)
	s.out = wire.NewWriter(w, wire.WriterOptions{
		MaxMessage: config.MaxMessageBytes + config.MaxMessageBytes/8, MaxQueue: config.AgentQueueBytes,
		OnError: func(err error) { failed <- err },
	})
	read := make(chan error, 1)
	go s.guard(func() { read <- s.read(r) })       // ends when r ends or fails, or at the first message after the session
	s.wg.Go(func() { s.guard(s.announceChanges) }) // ends with s.ctx
	s.wg.Go(func() { s.guard(g.results.tidy) })    // ends with the one listing of a folder
	var result error
	select {
	case result = <-read:
		s.finish()
	case result = <-failed:
	case <-s.ctx.Done(): // ctx ended, or a panic ended the session
		if errors.Is(context.Cause(s.ctx), ErrInternal) {
			result = ErrInternal
		}
	}
	s.cancel(&upstream.Cancelled{Reason: "the client disconnected"})
	s.settle(result)
	// An agent that is gone with answers unread wanted none of them (R80).
	if err := s.out.Close(config.AgentFlush); err != wire.ErrOverload && result == nil && ctx.Err() == nil {
		result = err
	}
	return result
}

// settle waits for the goroutines of the session, which its end hastens. One that
// a panic took away may have left a lock behind, so that the wait has a bound
// then.
func (s *session) settle(result error) {
	settled := make(chan struct{})
	go func() { // ends with the last of them
		s.wg.Wait()
		close(settled)
	}()
	if !errors.Is(result, ErrInternal) {
		<-settled
		return
	}
	timer := time.NewTimer(config.TermGrace)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	}
}

// guard is what all goroutines of a session run under: a panic in one of them
// ends this session and no other, and the agent sees nothing of it (R26).
func (s *session) guard(run func()) {
	defer func() {
		if v := recover(); v != nil {
			s.g.host.Panicked("session "+s.calls.ID, v, debug.Stack())
			s.cancel(ErrInternal)
		}
	}()
	run()
}

// session is one agent's connection.
type session struct {
	g      *Gateway
	o      Options
	calls  *call.Session
	own    *ownTools
	out    *wire.Writer
	unsent unsent
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // request goroutines and the announcer

	changes chan struct{} // one token: something this session sees may differ
	asked   questions     // what the agent is asked
	begun   sync.Once     // the discovery of this session
	streams *streams
	stamp   string // of the line that is being read, until a request has it; for that goroutine alone

	mu        sync.Mutex
	open      map[string]*request // by wire.IDKey
	idle      chan struct{}       // closed when open becomes empty, while finish waits
	revision  string              // negotiated; "" before initialize
	met       bool                // a request of the modern era came
	client    []byte              // what the last of them said who sent it; nil = nothing
	level     string              // of logging/setLevel; "" before
	declared  []byte              // capabilities of the agent, as it wrote them in initialize
	discovery <-chan struct{}     // closed when the discovery of this session is over
	last      [2]*offer           // last computed, of either era
	listed    [listKinds]string   // digests of the lists that the agent was shown or told of last; "" = none
	decided   string              // full or lazy, which is what auto means since the first tools/list; "" before
}

// finish gives requests under way a moment after the agent closed its end:
// whoever pipes a file of requests in wants their answers.
func (s *session) finish() {
	s.streams.end()
	s.mu.Lock()
	if len(s.open) == 0 {
		s.mu.Unlock()
		return
	}
	s.idle = make(chan struct{})
	idle := s.idle
	s.mu.Unlock()
	timer := time.NewTimer(config.EndGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
