package hub

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// scripted is the hub's end of a connection, played by a test.
type scripted struct {
	t    *testing.T
	conn *net.UnixConn
	in   *bufio.Reader
}

// dialScripted connects a client with a hub that the test plays.
func dialScripted(t *testing.T) (net.Conn, *scripted) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(mcptest.Bound)); err != nil {
		t.Fatal(err)
	}
	return client, &scripted{t, conn.(*net.UnixConn), bufio.NewReader(conn)}
}

// line is the next line of the client.
func (s *scripted) line() string {
	s.t.Helper()
	line, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Error("the client's line:", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// message is the next stamped line of the client.
func (s *scripted) message() (row string, m wire.Message) {
	s.t.Helper()
	row, line, _ := strings.Cut(s.line(), " ")
	if !calllog.IsID(row) {
		s.t.Errorf("%q is no id of a row", row)
	}
	m, err := wire.Parse([]byte(line))
	if err != nil {
		s.t.Errorf("%s: %v", line, err)
	}
	return row, m
}

func (s *scripted) say(lines ...string) {
	s.t.Helper()
	if _, err := s.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		s.t.Error(err)
	}
}

// play runs the hub's side beside the test and is waited for at its end.
func (s *scripted) play(side func()) {
	done := make(chan struct{})
	go func() { // ends with the script, whose reads have a deadline
		defer close(done)
		side()
	}()
	s.t.Cleanup(func() { <-done })
}

func nothing([]byte) {}

func none(string) (string, bool) { return "", false }

// A hub that takes the connection and says nothing is waited for as long as both
// ends of a hello wait, and no longer: whoever asked can do without (K7).
func TestSilentHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
		begin := time.Now()
		_, err := OpenCaller(t.Context(), ours, Hello{Kind: KindCall}, none, nil)
		var lost *LostError
		if took := time.Since(begin); !errors.As(err, &lost) || err.Error() != "the hub does not answer" || took != config.HubLineWait {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// The deadline of the hello is not one of what follows.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { // ends with the answers
			in := bufio.NewReader(theirs)
			_, _ = in.ReadString('\n')
			_, _ = io.WriteString(theirs, `{"postern":1,"session":"s"}`+"\n")
			for range 3 {
				_, _ = in.ReadString('\n')
			}
			time.Sleep(10 * config.HubLineWait)
			_, _ = io.WriteString(theirs, `{"jsonrpc":"2.0","id":"r","result":{}}`+"\n")
		}()
		c, err := OpenCaller(t.Context(), ours, Hello{Kind: KindCall}, none, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Do(t.Context(), "r", "tools/call", []byte("{}"), nothing); err != nil {
			t.Error(err)
		}
	})
}

// What became of a hub, or of another kind of one, is said in words of its own.
func TestLostWords(t *testing.T) { // R74
	for say, want := range map[string]string{
		"":                  "the hub went away before it answered",
		stoppedLine + "\n":  "the hub was stopped before it answered",
		`{"jsonrpc":"2.0",`: "the hub went away before it answered",
		"no message\n":      "the hub went away before it answered",
	} {
		conn, s := dialScripted(t)
		s.play(func() {
			s.line()
			s.say(`{"postern":1,"session":"s"}`)
			for range 3 {
				s.line()
			}
			_, _ = io.WriteString(s.conn, say)
			if !strings.HasSuffix(say, "\n") { // a whole line is enough
				s.conn.Close()
			}
		})
		c, err := OpenCaller(t.Context(), conn, Hello{Kind: KindCall}, none, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), newRow(), "tools/call", []byte("{}"), nothing)
		var lost *LostError
		if !errors.As(err, &lost) || err.Error() != want {
			t.Errorf("after %q: %v", say, err)
		}
		c.Close()
	}
}

// A verb is one line, and its result another; what the hub refuses keeps its word
// and its exit code.
func TestControl(t *testing.T) { // R81
	for _, c := range []struct {
		name, answer, want string
		is                 func(error) bool
	}{
		{"a result", `{"postern":1,"result":{"server":"s","ended":2}}`, `{"server":"s","ended":2}`, func(err error) bool { return err == nil }},
		{"a refusal", `{"postern":1,"error":{"word":"unknown_tool","message":"no","exit":2}}`, "", func(err error) bool {
			var e *RemoteError
			return errors.As(err, &e) && e.Word == "unknown_tool" && e.Message == "no" && e.Exit == 2
		}},
		{"no hub", `{"jsonrpc":"2.0"}`, "", func(err error) bool { return err != nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, s := dialScripted(t)
			s.play(func() {
				if o := s.line(); !strings.HasPrefix(o, `{"postern":1,"verb":"kill","name":"s","client_pid":`) {
					t.Error(o)
				}
				s.say(c.answer)
			})
			got, err := Control(t.Context(), conn, call.VerbKill, "s")
			if string(got) != c.want || !c.is(err) {
				t.Errorf("%s %v", got, err)
			}
		})
	}
}

// A hub that goes away, or does not answer in time, is no answer.
func TestControlLost(t *testing.T) {
	conn, s := dialScripted(t)
	s.play(func() { s.line(); s.conn.Close() })
	var lost *LostError
	if _, err := Control(t.Context(), conn, call.VerbStatus, ""); !errors.As(err, &lost) {
		t.Error(err)
	}
	other, slow := dialScripted(t)
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	slow.play(func() { slow.line(); cancel(late) })
	if _, err := Control(ctx, other, call.VerbStatus, ""); !errors.Is(err, late) {
		t.Error(err)
	}
}

// The hello comes first, then the values that the hub wants and the command has,
// then the handshake and the request in one go; each line has the id of its row,
// the request the one that the caller chose (C81).
func TestCallerDo(t *testing.T) {
	conn, s := dialScripted(t)
	row := calllog.NewID(time.Now())
	s.play(func() {
		if h := s.line(); !strings.HasPrefix(h, `{"postern":1,"kind":"call",`) || !strings.Contains(h, `"only":"srv"`) {
			t.Error(h)
		}
		s.say(`{"postern":1,"session":"x","want":["A","B"]}`)
		if v := s.line(); v != `{"postern":1,"env":{"B":"2"}}` {
			t.Error(v)
		}
		if _, m := s.message(); m.Method != "initialize" || !strings.Contains(string(m.ParamsBytes()), `"capabilities":{}`) {
			t.Error(string(m.Raw))
		}
		if _, m := s.message(); m.Method != "notifications/initialized" {
			t.Error(m.Method)
		}
		stamp, m := s.message()
		if stamp != row || m.Method != "tools/call" || string(m.ParamsBytes()) != `{"name":"t","arguments":{"n":9007199254740993}}` {
			t.Error(stamp, string(m.Raw))
		}
		id := string(m.IDBytes())
		s.say(`{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`,
			`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1e400}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"result":{"n":9007199254740993}}`)
		for _, want := range []string{`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,`} {
			if _, m := s.message(); !strings.HasPrefix(string(m.Raw), want) {
				t.Error(string(m.Raw))
			}
		}
	})
	c, err := OpenCaller(t.Context(), conn, Hello{Kind: KindCall, Via: "mcp-call", Only: "srv"}, func(name string) (string, bool) { return "2", name == "B" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var progress []string
	m, err := c.Do(t.Context(), row, "tools/call", []byte(`{"name":"t","arguments":{"n":9007199254740993}}`), func(p []byte) { progress = append(progress, string(p)) })
	if err != nil || string(m.ResultBytes()) != `{"n":9007199254740993}` {
		t.Error(string(m.Raw), err)
	}
	if len(progress) != 1 || progress[0] != `{"progress":1e400}` {
		t.Error(progress)
	}
}

// overdue is a limit of the command's own.
type overdue struct{}

func (overdue) Error() string { return "too slow" }
func (overdue) Unwrap() error { return context.DeadlineExceeded }

// What ends the context cancels the request, says why, and waits until the hub has
// read it. A time limit is told apart: its row is a timeout.
func TestCallerCancels(t *testing.T) { // R45
	t.Run("interrupt", func(t *testing.T) {
		cancels(t, errors.New("interrupted by the user"), `,"reason":"interrupted by the user"}`)
	})
	t.Run("limit", func(t *testing.T) { cancels(t, overdue{}, `,"reason":"too slow","_meta":{"postern/timeout":true}}`) })
}

func cancels(t *testing.T, why error, rest string) {
	conn, s := dialScripted(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.play(func() {
		s.line()
		s.say(`{"postern":1,"session":"x"}`)
		s.message()
		s.message()
		_, call := s.message()
		cancel(why)
		_, m := s.message()
		if want := `{"requestId":` + string(call.IDBytes()) + rest; m.Method != "notifications/cancelled" || string(m.ParamsBytes()) != want {
			t.Error(string(m.Raw))
		}
		if _, err := s.in.ReadByte(); err == nil {
			t.Error("more came")
		}
		s.conn.Close()
	})
	c, err := OpenCaller(ctx, conn, Hello{Kind: KindCall}, none, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(ctx, calllog.NewID(time.Now()), "tools/call", []byte("{}"), nothing); !errors.Is(err, why) {
		t.Error(err)
	}
}

// A hub that retires says so.
func TestCallerOfARetiringHub(t *testing.T) {
	conn, s := dialScripted(t)
	s.play(func() { s.line(); s.say(`{"postern":1,"error":{"word":"retiring","message":"later","exit":6}}`) })
	var refused *RemoteError
	if _, err := OpenCaller(t.Context(), conn, Hello{Kind: KindCall}, none, nil); !errors.As(err, &refused) || refused.Word != wordRetiring {
		t.Error(err)
	}
}

// person answers questions, but not before it is told to or asked no more.
type person struct {
	mu     sync.Mutex
	heard  []string
	answer chan string
	gone   chan error
}

func (p *person) Ask(ctx context.Context, _ string, params []byte, _ func([]byte)) (wire.Message, error) {
	select {
	case text := <-p.answer:
		return wire.Parse(wire.ResultLine([]byte("0"), []byte(text)))
	case <-ctx.Done():
		p.gone <- context.Cause(ctx)
		return wire.Message{}, context.Cause(ctx)
	}
}

func (p *person) Notify(method string, params []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, method+" "+string(params))
}

func (p *person) Capabilities() []byte { return []byte(`{"elicitation":{}}`) }
func (p *person) Modern() bool         { return false }
func (p *person) Level() string        { return "info" }

// Where somebody can be asked, servers ask it through the hub: its answer goes
// back, a question that is taken back ends, and so does one that the answer of the
// request leaves open. What servers tell is heard.
func TestCallerIsAsked(t *testing.T) { // R72
	conn, s := dialScripted(t)
	p := &person{answer: make(chan string, 1), gone: make(chan error, 2)}
	s.play(func() {
		s.line()
		s.say(`{"postern":1,"session":"x"}`)
		if _, m := s.message(); !strings.Contains(string(m.ParamsBytes()), `"capabilities":{"elicitation":{}}`) {
			t.Error(string(m.Raw))
		}
		s.message()
		if _, m := s.message(); m.Method != "logging/setLevel" || string(m.ParamsBytes()) != `{"level":"info"}` {
			t.Error(string(m.Raw))
		}
		_, call := s.message()
		p.answer <- `{"action":"accept"}`
		s.say(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}`)
		if _, m := s.message(); string(m.Raw) != `{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}` {
			t.Error(string(m.Raw))
		}
		s.say(`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		<-p.gone
		s.say(`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`,
			`{"jsonrpc":"2.0","id":`+string(call.IDBytes())+`,"result":{}}`)
	})
	c, err := OpenCaller(t.Context(), conn, Hello{Kind: KindCall}, none, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(t.Context(), calllog.NewID(time.Now()), "tools/call", []byte("{}"), nothing); err != nil {
		t.Fatal(err)
	}
	if err := <-p.gone; !errors.Is(err, errAnswered) {
		t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.heard) != 1 || p.heard[0] != `notifications/message {"data":1}` {
		t.Error(p.heard)
	}
}
