package upstream

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// answer checks that a call still works.
func (p *peer) answer() {
	p.t.Helper()
	got := p.do(p.t.Context(), Call{Method: "probe"})
	id, _ := p.request()
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"probe":1}}`, id)
	if r := await(p.t, got); r.err != nil || string(r.reply.Message.ResultBytes()) != `{"probe":1}` {
		p.t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
	}
}

// R3, MB-065: noise on stdout is skipped, counted and kept in the log.
func TestNoise(t *testing.T) {
	log := t.TempDir() + "/own/demo.log"
	p := newPeer(t, Options{StderrLog: log})
	noise := []string{
		"Server listening...", "info: ready", "\x1b[32mok\x1b[0m", "{not json", "123", `"str"`, "null", "{}",
		`{"level":"info"}`, `[]`, `{"id":1,"msg":"a log of its own"}`, "\xff\xfe",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}} x`,
	}
	got := p.do(t.Context(), Call{Method: "m"})
	id, _ := p.request()
	for _, n := range noise {
		p.send("%s\n\r", n)
	}
	p.send("  \r\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":{}}  ` + "\r")
	if r := await(t, got); r.err != nil {
		t.Fatal(r.err)
	}
	if n := p.c.Info().Noise; n != uint64(len(noise)) {
		t.Errorf("%d lines of noise counted, want %d", n, len(noise))
	}
	p.answer()
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "postern: no JSON-RPC on stdout: Server listening...\n") {
		t.Errorf("log: %q, %v", text, err)
	}
	if !strings.Contains(p.c.log.tail(), "\nok\n") {
		t.Errorf("tail %q", p.c.log.tail())
	}
}

// R3: what never stops being noise is no server.
func TestTooMuchNoise(t *testing.T) {
	for name, line := range map[string]string{"lines": "x", "bytes": strings.Repeat("x", 100<<10)} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, Options{})
			got := p.do(t.Context(), Call{Method: "m"})
			p.request()
			for range config.NoiseLines - 1 {
				if _, err := fmt.Fprintln(p.out, line); err != nil || p.c.Err() != nil {
					break
				}
			}
			if name == "lines" {
				p.quiet() // a message in between starts the count again
				for range config.NoiseLines {
					fmt.Fprintln(p.out, line)
				}
			}
			f := failure(t, await(t, got).err, Protocol)
			if !strings.Contains(f.Detail, "no JSON-RPC") || !f.Sent || !strings.Contains(f.Stderr, "x") {
				t.Errorf("got %+v", f)
			}
			await(t, p.c.Done())
		})
	}
}

// R1, MB-069: a line over the cap fails its own call and the next call works.
func TestLongLine(t *testing.T) {
	p := newPeer(t, Options{MaxMessage: 64 << 10, MaxQueue: 64 << 10})
	for _, size := range []int{65_000, 65_536, 1 << 20, 8 << 20} {
		got := p.do(t.Context(), Call{Method: "m"})
		id, _ := p.request()
		line := `{"jsonrpc":"2.0","id":` + id + `,"result":{"t":"`
		line += strings.Repeat("x", size-len(line)-3) + `"}}`
		p.send("%s", line)
		r := await(t, got)
		if size <= 64<<10 {
			if r.err != nil || len(r.reply.Message.Raw) != size {
				t.Errorf("%d bytes: %v", size, r.err)
			}
			continue
		}
		if f := failure(t, r.err, Protocol); !f.Sent || !strings.Contains(f.Detail, "max_message_bytes") {
			t.Errorf("got %+v", f)
		}
		p.answer()
	}
}

// R1, MB-071: without its id in sight, a line over the cap ends the connection
// the moment it exceeds it, and nothing of what follows is kept.
func TestUnboundedLine(t *testing.T) {
	p := newPeer(t, Options{MaxMessage: 64 << 10, MaxQueue: 64 << 10})
	got := p.do(t.Context(), Call{Method: "m"})
	p.request()
	chunk := []byte(strings.Repeat("a", 64<<10))
	go func() { // ends when the client closes the pipe
		for {
			if _, err := p.out.Write(chunk); err != nil {
				return
			}
		}
	}()
	failure(t, await(t, got).err, Protocol)
	await(t, p.c.Done())
	p.group.end("exit status 1")
	p.c.Close()
}

// R2: a broken answer whose id is known fails that call, never another.
func TestBrokenAnswers(t *testing.T) {
	for _, tc := range []struct{ name, line, reason string }{
		{"both", `{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"x"}}`, "both"},
		{"version", `{"id":%s,"result":{}}`, "no member jsonrpc"},
		{"neither", `{"jsonrpc":"2.0","id":%s}`, "neither"},
		{"twice", `{"jsonrpc":"2.0","id":%s,"result":{},"result":{}}`, "twice"},
		{"case", `{"jsonrpc":"2.0","id":%s,"result":{},"Result":{}}`, "another case"},
		{"utf8", `{"jsonrpc":"2.0","id":%s,"result":"` + "\xff" + `"}`, "UTF-8"},
		{"deep", `{"jsonrpc":"2.0","id":%s,"result":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`, "deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPeer(t, Options{})
			other := p.do(t.Context(), Call{Method: "other"})
			otherID, _ := p.request()
			got := p.do(t.Context(), Call{Method: "m"})
			id, _ := p.request()
			p.send(tc.line, id)
			f := failure(t, await(t, got).err, Protocol)
			if !strings.Contains(f.Detail, tc.reason) || !f.Sent || f.Phase != "m" {
				t.Errorf("got %+v", f)
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, otherID)
			if r := await(t, other); r.err != nil {
				t.Errorf("the other call: %v", r.err)
			}
			p.answer()
		})
	}
}

// Answers that nobody asked for, or twice, are dropped; ids are numbers as we
// wrote them and nothing that looks like them.
func TestStrayAnswers(t *testing.T) {
	p := newPeer(t, Options{})
	got := p.do(t.Context(), Call{Method: "m"})
	id, _ := p.request()
	for _, stray := range []string{"999", `"` + id + `"`, id + ".0", "0" + id, "-1", "1e0", "18446744073709551616", `""`} {
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"stray":1}}`, stray)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"first":1}}`, id)
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"second":1}}`, id)
	if r := await(t, got); r.err != nil || string(r.reply.Message.ResultBytes()) != `{"first":1}` {
		t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
	}
	p.answer()
}

// R72, MB-097: the server's own requests are answered at once.
func TestServerRequests(t *testing.T) {
	p := newPeer(t, Options{})
	for _, tc := range []struct{ id, method, want string }{
		{`"s1"`, "ping", `"result":{}`},
		{`9007199254740993`, "elicitation/create", `"result":{"action":"cancel"}`},
		{`""`, "roots/list", `"code":-32601`},
		{`2`, "sampling/createMessage", `"code":-32601`},
		{`3`, `x\"y`, `"code":-32601`},
	} {
		p.send(`{"jsonrpc":"2.0","id":%s,"method":"%s","params":{}}`, tc.id, tc.method)
		got := p.line()
		if m, err := wire.Parse([]byte(got)); err != nil || string(m.IDBytes()) != tc.id || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %s, %v", tc.method, got, err)
		}
	}
	if n := p.c.Info().Declined; n != 4 {
		t.Errorf("%d declined, want 4", n)
	}
}

// Notifications come in order; progress and cancelled are not among them. Past
// 1,000 a second they are dropped and counted (R3).
func TestNotifications(t *testing.T) {
	var mu sync.Mutex
	var got []string
	p := newPeer(t, Options{Notify: func(m wire.Message) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(m.Raw))
	}})
	lines := []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"unheard/of","params":null}`,
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	for _, l := range lines {
		p.send("%s", l)
	}
	p.quiet()
	mu.Lock()
	if strings.Join(got, "\n") != strings.Join(lines, "\n") {
		t.Errorf("got %s", got)
	}
	mu.Unlock()
	in := &receiver{c: p.c}
	now := time.Now()
	passed := 0
	for range 3 * config.NotificationsPerSecond {
		if in.allowed(now) {
			passed++
		}
	}
	if passed != config.NotificationsPerSecond || !in.allowed(now.Add(time.Second)) {
		t.Errorf("%d passed", passed)
	}
}

// A second's flood costs the flood and no more: calls still work.
func TestNotificationFlood(t *testing.T) {
	p := newPeer(t, Options{})
	line := `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n"
	if _, err := p.out.WriteString(strings.Repeat(line, 5000)); err != nil {
		t.Fatal(err)
	}
	p.answer()
	if p.c.Info().Dropped == 0 {
		t.Error("nothing was dropped")
	}
}

// R5: a batch is taken apart where that revision was agreed on.
func TestBatch(t *testing.T) {
	p := newPeer(t, Options{})
	batch := func(id string) string {
		return `[{"jsonrpc":"2.0","id":"p","method":"ping"},[],{"jsonrpc":"2.0","id":` + id + `,"result":{"in":"batch"}}]`
	}
	got := p.do(t.Context(), Call{Method: "m"})
	id, _ := p.request()
	p.send("%s", batch(id))
	p.quiet()
	if p.c.Info().Noise != 1 {
		t.Error("a batch of another revision is noise")
	}
	p.c.learn(Info{Protocol: batchRevision})
	p.send("%s", batch(id))
	if ping := p.line(); !strings.Contains(ping, `"id":"p"`) {
		t.Errorf("got %s", ping)
	}
	if r := await(t, got); r.err != nil || string(r.reply.Message.ResultBytes()) != `{"in":"batch"}` {
		t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
	}
}

// Whatever a server writes, the reader neither panics nor answers a call that
// is not there, and what it kept of it is fit for a message.
func FuzzReceive(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`, "[]", "\xff", "{\"jsonrpc\":\"2.0\",\"id\":1\n", "\ufeff\r\n",
		strings.Repeat("[", 1100), "\x1b[31mred",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := wire.NewWriter(nowhere{}, wire.WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20})
		defer w.Close(patience)
		c := &Client{
			o: Options{Server: "demo", MaxMessage: 4096}, w: w, log: newStderrLog("", nil), epoch: time.Now(),
			calls: map[uint64]*pending{}, down: make(chan struct{}), readEnd: make(chan struct{}),
			proc: &process{exited: make(chan struct{})},
		}
		c.state = ready
		p, err := c.enter(Call{Method: "m"}, ready)
		if err != nil {
			t.Fatal(err)
		}
		p.begin()
		c.read(strings.NewReader(string(data)))
		c.fail(Failure{Word: Closed})
		if out := <-p.done; out.failure == nil && out.message.Kind != wire.Response {
			t.Errorf("answered by %s", out.message.Raw)
		}
		if tail := c.log.tail(); len(tail) > config.StderrTail || clean(tail) != tail {
			t.Errorf("tail %q", tail)
		}
	})
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
