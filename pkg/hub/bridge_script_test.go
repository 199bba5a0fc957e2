package hub

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/mcptest"
)

// bridged is a bridge between an agent and hubs that do what the test says.
type bridged struct {
	*mcptest.Agent
	t      *testing.T
	in     *os.File // the agent's end
	hubs   *net.UnixListener
	ended  chan error
	cancel context.CancelFunc

	mu    sync.Mutex
	dials int
	rows  []calllog.Row
	said  []string
	fail  error           // of Reach
	alone chan *dummy     // one for each session without a hub
	seen  map[string]bool // stamps
}

// dummy is the other end of a link: a hub, or what serves without one.
type dummy struct {
	t       *testing.T
	s       *bridged
	conn    net.Conn
	w       io.Writer
	r       *bufio.Reader
	stamped bool
	hello   string
}

// patient waits as long as anything in these tests.
func patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), mcptest.Bound)
}

func newBridged(t *testing.T, change func(*BridgeOptions)) *bridged {
	t.Helper()
	l := listenHere(t)
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := &bridged{t: t, in: in, hubs: l, ended: make(chan error, 1), cancel: cancel, alone: make(chan *dummy, 4), seen: map[string]bool{}}
	o := BridgeOptions{
		Hello:  Hello{Kind: KindBridge, ClientPID: 77},
		Lookup: func(name string) (string, bool) { return "value of " + name, name != "NONE" },
		Reach: func(ctx context.Context) (net.Conn, error) {
			s.mu.Lock()
			s.dials++
			err := s.fail
			s.mu.Unlock()
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, "unix", l.Addr().String())
		},
		Alone: s.serveAlone,
		Lost: func(rows []calllog.Row) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rows = append(s.rows, rows...)
		},
		Say: func(text string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, text)
		},
	}
	if change != nil {
		change(&o)
	}
	go func() { // ends with the agent's end, at the latest when the test ends
		s.ended <- Bridge(ctx, stdin, stdout, o)
		stdout.Close()
	}()
	s.Agent = mcptest.Connect(t, out, in)
	t.Cleanup(cancel)
	return s
}

func listenHere(t testing.TB) *net.UnixListener {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_ = l.SetDeadline(time.Now().Add(mcptest.Bound))
	return l
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (s *bridged) serveAlone(ctx context.Context, r io.Reader, w io.Writer) error {
	gone := make(chan struct{})
	s.alone <- &dummy{t: s.t, s: s, w: w, r: bufio.NewReader(&closing{r, gone})}
	select {
	case <-gone:
	case <-ctx.Done():
	}
	return nil
}

// closing tells when what it reads has ended.
type closing struct {
	r    io.Reader
	gone chan struct{}
}

func (c *closing) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil {
		close(c.gone)
	}
	return n, err
}

// hub waits for the bridge at a hub and answers its hello.
func (s *bridged) hub(greeting string) *dummy {
	s.t.Helper()
	_ = s.hubs.SetDeadline(time.Now().Add(mcptest.Bound))
	c, err := s.hubs.Accept()
	if err != nil {
		s.t.Fatal("nobody came: ", err)
	}
	s.t.Cleanup(func() { c.Close() })
	d := &dummy{t: s.t, s: s, conn: c, w: c, r: bufio.NewReader(c)}
	d.hello = d.line()
	if greeting != "" {
		d.say(greeting)
	}
	d.stamped = true
	return d
}

const greeting = `{"postern":1,"session":"s1"}`

func (s *bridged) reached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// line is the next line of the bridge, without its stamp.
func (d *dummy) line() string {
	d.t.Helper()
	if d.conn != nil {
		_ = d.conn.SetReadDeadline(time.Now().Add(mcptest.Bound))
	}
	line, err := d.r.ReadString('\n')
	if err != nil {
		d.t.Fatalf("no line but %q: %v", line, err)
	}
	line = strings.TrimSuffix(line, "\n")
	if !d.stamped {
		if line != "" && line[0] != '{' {
			d.t.Fatalf("%q has a stamp", line)
		}
		return line
	}
	id, rest, found := strings.Cut(line, " ")
	if !found || !calllog.IsID(id) || d.s.seen[id] {
		d.t.Fatalf("%q has no stamp of its own", line)
	}
	d.s.seen[id] = true
	return rest
}

// want is the next line, with all of these in it.
func (d *dummy) want(parts ...string) string {
	d.t.Helper()
	line := d.line()
	for _, p := range parts {
		if !strings.Contains(line, p) {
			d.t.Fatalf("%s: %q is not in it", line, p)
		}
	}
	return line
}

// silent wants nothing of the bridge for a moment.
func (d *dummy) silent() {
	d.t.Helper()
	_ = d.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // the subject: nothing may happen
	if line, err := d.r.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		d.t.Errorf("%q, %v", line, err)
	}
}

// end is the end of what the bridge says.
func (d *dummy) end() {
	d.t.Helper()
	if line, err := d.r.ReadString('\n'); err != io.EOF {
		d.t.Errorf("%q, %v after the end", line, err)
	}
}

func (d *dummy) say(lines ...string) {
	d.t.Helper()
	if _, err := io.WriteString(d.w, strings.Join(lines, "\n")+"\n"); err != nil {
		d.t.Error(err)
	}
}

// die ends the connection as a killed hub's does.
func (d *dummy) die() { d.conn.Close() }

// initialized does the handshake of a legacy session.
func (s *bridged) initialized(d *dummy) {
	s.t.Helper()
	id := s.Request("initialize", `{"protocolVersion":"2025-11-25"}`)
	d.want(`"initialize"`)
	d.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"first":true}}`)
	s.Expect(id)
	s.Notify(initializedMethod, "")
	d.want(initializedMethod)
}

// shaken answers the handshake that the bridge makes with another hub.
func (s *bridged) shaken(d *dummy) {
	s.t.Helper()
	d.answer(d.want(`"initialize"`, `"id":"postern-`), `{"second":true}`)
	d.want(initializedMethod)
}

// answer answers a request of the bridge, with its members in an unusual order.
func (d *dummy) answer(line, result string) {
	d.t.Helper()
	_, id, _ := strings.Cut(line, `"id":`)
	d.say(`{"result":` + result + `,"jsonrpc":"2.0","id":` + id[:strings.IndexAny(id, ",}")] + `}`)
}

// over waits for the end of the bridge.
func (s *bridged) over() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(mcptest.Bound):
		s.t.Fatal("the bridge did not end")
		return errors.New("not reached")
	}
}

// hasLost is the one answer to a call that was lost, or not sent.
func (s *bridged) hasLost(id string, parts ...string) {
	s.t.Helper()
	line := string(s.Expect(id).Raw)
	for _, p := range append(parts, `"word":"hub_lost"`) {
		if !strings.Contains(line, p) {
			s.t.Errorf("%s: %q is not in it", line, p)
		}
	}
}

// reachOnly reaches this one connection, or fails with the error behind it.
func reachOnly(c net.Conn, err ...error) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		if len(err) > 0 {
			return nil, err[0]
		}
		return c, nil
	}
}

func answerHello(t testing.TB, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(mcptest.Bound))
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := io.WriteString(c, greeting+"\n"); err != nil {
		t.Fatal(err)
	}
}

func readSome(t *testing.T, f *os.File, b []byte) string {
	t.Helper()
	_ = f.SetReadDeadline(time.Now().Add(mcptest.Bound))
	n, err := f.Read(b)
	if err != nil {
		t.Error(err)
	}
	return string(b[:n])
}
