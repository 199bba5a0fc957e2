package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"postern/pkg/wire"
)

// patience bounds every wait of these tests that is not itself the subject.
const patience = 20 * time.Second

// fakeGroup is a process group that ends with its stdin, or when told to.
type fakeGroup struct {
	p       *process
	signals []string
	onSoft  bool // ends at the soft signal
	onHard  bool // ends at the hard one
	members int
}

func (g *fakeGroup) signal(hard bool) {
	name, ends := "soft", g.onSoft
	if hard {
		name, ends = "hard", g.onHard
	}
	g.signals = append(g.signals, name)
	if ends {
		g.members = 0
		g.end("signal: " + name)
	}
}

func (g *fakeGroup) end(how string) {
	select {
	case <-g.p.exited:
	default:
		g.p.exit = how
		close(g.p.exited)
		close(g.p.reaped)
	}
}

func (g *fakeGroup) empty() bool { return g.members == 0 }

// peer is the other end of a client: a server in this process.
type peer struct {
	t      testing.TB
	c      *Client
	in     *bufio.Reader
	inFile *os.File
	out    *os.File
	errs   *os.File
	group  *fakeGroup
}

// newPeer connects a client with a peer over real pipes; the client is ready.
func newPeer(t testing.TB, o Options) *peer {
	t.Helper()
	pr := &peer{t: t, group: &fakeGroup{onSoft: true}}
	p := &process{
		pid: 4711, exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
		group: pr.group,
	}
	pr.group.p = p
	var child [3]*os.File
	if err := p.pipes(&child); err != nil {
		t.Fatal(err)
	}
	pr.inFile, pr.out, pr.errs = child[0], child[1], child[2]
	pr.in = bufio.NewReaderSize(pr.inFile, 1<<16)
	if o.Server == "" {
		o.Server = "demo"
	}
	if o.MaxMessage == 0 {
		o.MaxMessage, o.MaxQueue = 1<<20, 1<<20
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = patience
	}
	pr.c = connect(o, p)
	pr.c.mu.Lock()
	pr.c.state = ready
	pr.c.mu.Unlock()
	t.Cleanup(func() {
		pr.group.end("exit status 0")
		closeAll(child[:]...)
		pr.c.Close()
	})
	return pr
}

// line reads what the client wrote next.
func (p *peer) line() string {
	p.t.Helper()
	p.inFile.SetReadDeadline(time.Now().Add(patience))
	s, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Errorf("reading what the client sent: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

// request reads a request and gives its id.
func (p *peer) request() (id string, m wire.Message) {
	p.t.Helper()
	m, err := wire.Parse([]byte(p.line()))
	if err != nil {
		p.t.Error(err)
		return "", m
	}
	return string(m.IDBytes()), m
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Errorf("writing to the client: %v", err)
	}
}

// quiet is that the client has written nothing since: a ping comes back first.
func (p *peer) quiet() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"quiet","method":"ping"}`)
	if got := p.line(); !strings.Contains(got, `"quiet"`) {
		p.t.Errorf("the client wrote %s", got)
	}
}

// result is what Do returned.
type result struct {
	reply Reply
	err   error
}

// do starts a call and returns where its result comes.
func (p *peer) do(ctx context.Context, call Call) <-chan result {
	out := make(chan result, 1)
	go func() { // ends with the call
		r, err := p.c.Do(ctx, call)
		out <- result{r, err}
	}()
	return out
}

func await[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("waited too long")
		panic("unreachable")
	}
}

// failure is err as a *Failure with the given word.
func failure(t testing.TB, err error, word Word) *Failure {
	t.Helper()
	f, ok := err.(*Failure)
	if !ok {
		t.Fatalf("got %v (%T), want a *Failure", err, err)
	}
	if f.Word != word || f.Server != "demo" {
		t.Fatalf("got word %q of server %q (%v), want %q of demo", f.Word, f.Server, f, word)
	}
	return f
}

func member(t testing.TB, raw []byte, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(m[name])
}
