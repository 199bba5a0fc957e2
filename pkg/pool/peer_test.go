package pool

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// person is a session's side of the pool: it notes what it is told and asked.
type person struct {
	mu           sync.Mutex
	name         string
	level        string
	modern       bool
	capabilities string
	notes        []string
	asked        chan *upstream.Question
}

// join has a person join as a session.
func (w *world) join(session string) *person {
	p := &person{name: session, asked: make(chan *upstream.Question, 16)}
	w.pool.Join(session, p)
	return p
}

func (p *person) Capabilities(*config.Server) []byte { return []byte(p.capabilities) }
func (p *person) Modern() bool                       { return p.modern }

func (p *person) Level() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level
}

func (p *person) wants(level string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level = level
}

func (p *person) Ask(_ *config.Server, q *upstream.Question) { p.asked <- q }

func (p *person) Note(_ *config.Server, m wire.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, m.Method+" "+string(m.ParamsBytes()))
}

// told is what it was told since it was asked last.
func (p *person) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	notes := p.notes
	p.notes = nil
	return notes
}

// hears waits until it was told this.
func (p *person) hears(t testing.TB, note string) {
	t.Helper()
	until(t, p.name+" hears "+note, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.Contains(p.notes, note)
	})
}

// answer answers a question with a result.
func answer(t testing.TB, q *upstream.Question, result string) {
	t.Helper()
	m, err := wire.Parse(wire.ResultLine([]byte(`"mine"`), []byte(result)))
	if err != nil {
		t.Fatal(err)
	}
	q.Answer(m)
}

// outcome is what a call of a session came to.
type outcome struct {
	reply upstream.Reply
	err   error
}

// begin makes a call and does not wait for it.
func begin(t testing.TB, i *Instance, session, tool, arguments string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // ends with the call
		reply, _, err := i.Do(t.Context(), session, toolCall(tool, arguments))
		done <- outcome{reply, err}
	}()
	return done
}

func (o outcome) result(t testing.TB) string {
	t.Helper()
	if o.err != nil {
		t.Fatal(o.err)
	}
	return string(o.reply.Message.ResultBytes())
}

const elicitation1 = `{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object"}}}`

// R72, MB-097, MB-098: what a server asks goes to the one session with a call
// under way, and the answer back to it; with several, and with none, nobody is
// asked and the server gets an answer at once.
func TestQuestionsFindTheirSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.join("a"), w.join("b")
	i := w.get(w.approve(w.server()))
	for _, s := range []string{"a", "b"} { // both use it
		await(t, begin(t, i, s, "echo", "{}")).result(t)
	}
	done := begin(t, i, "a", "ask", elicitation1)
	q := await(t, a.asked)
	if len(b.asked) > 0 || !strings.Contains(string(q.Message.ParamsBytes()), `"Who?"`) {
		t.Errorf("asked %s, another session too: %v", q.Message.Raw, len(b.asked) > 0)
	}
	answer(t, q, `{"action":"accept","content":{"x":1e400}}`)
	if got := await(t, done).result(t); !strings.Contains(got, `1e400`) {
		t.Errorf("the server got %s", got)
	}

	declined := i.Info().Declined
	waiting := begin(t, i, "b", "never", "{}")
	until(t, "the call of b is there", func() bool { return len(w.received("tools/call")) == 4 })
	if got := await(t, begin(t, i, "a", "ask", elicitation1)).result(t); !strings.Contains(got, `cancel`) {
		t.Errorf("asked of two: %s", got)
	}
	w.pool.Leave("b")
	if got := await(t, begin(t, i, "a", "ask", `{"method":"roots/list"}`)).result(t); !strings.Contains(got, `-32601`) {
		t.Errorf("asked of one, and of one that has left: %s", got)
	}
	if n := i.Info().Declined - declined; n != 2 || len(a.asked)+len(b.asked) != 0 {
		t.Errorf("%d declined, %d and %d asked", n, len(a.asked), len(b.asked))
	}
	w.pool.Close()
	if o := await(t, waiting); o.err == nil {
		t.Error("a call that is never answered was")
	}
}

// R72: a question after the call it belongs to is nobody's.
func TestQuestionOutsideACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.join("a")
	i := w.get(w.approve(w.server()))
	await(t, begin(t, i, "a", "ask", `{"method":"roots/list","after":true}`)).result(t)
	until(t, "it is declined, or asked", func() bool { return i.Info().Declined == 1 || len(a.asked) > 0 })
	// The answer and the question come at once: as long as the call is not settled it
	// is under way, and then the question is its session's.
	if len(a.asked) > 0 {
		(<-a.asked).Decline()
	}
}

// R16, R72: a server of one session is told what its agent can do, and what it
// asks without a call is asked of that agent. One that several share is told of
// elicitation alone.
func TestDeclaredCapabilities(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.join("a")
	a.capabilities = `{"roots":{"listChanged":true},"x":1.0}`
	srv := w.server()
	w.get(w.approve(srv))
	mine := w.server("-ttl", "1")
	mine.Shared = false
	i := w.get(w.approveFor(mine, "a", w.dir))
	lines := w.received("initialize")
	if len(lines) != 2 || !strings.Contains(lines[0], `"capabilities":{"elicitation":{"form":{},"url":{}}}`) || !strings.Contains(lines[1], `"capabilities":`+a.capabilities) {
		t.Fatalf("asked\n%s", strings.Join(lines, "\n"))
	}
	done := begin(t, i, "a", "ask", `{"method":"roots/list","after":true}`)
	answer(t, await(t, a.asked), `{"roots":[]}`)
	await(t, done).result(t)
}

// R73: a modern agent's own server is asked in its era first, and told of nothing
// in the other.
func TestModernAgent(t *testing.T) {
	t.Parallel()
	for era, want := range map[string]string{"dual": "modern", "legacy": "legacy"} {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t)
			a := w.join("a")
			a.capabilities, a.modern = `{"roots":{}}`, true
			srv := w.server("-era", era)
			srv.Shared = false
			i := w.get(w.approveFor(srv, "a", w.dir))
			if got := i.Info().Era; got != want {
				t.Errorf("it speaks %s", got)
			}
			for _, line := range w.received("initialize") {
				if !strings.Contains(line, `"capabilities":{}`) {
					t.Errorf("told %s", line)
				}
			}
		})
	}
}

// R20, R21, MB-049: a server of one session is another process for each, runs in
// its agent's folder, ends with it, and is not started for it again.
func TestServersOfSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := w.server()
	srv.Shared = false
	var instances []*Instance
	var approved []*trust.Approved
	for _, s := range []string{"a", "b"} {
		w.join(s)
		dir := filepath.Join(w.dir, s)
		mkdir(t, dir)
		a := w.approveFor(srv, s, dir)
		i := w.get(a)
		approved, instances = append(approved, a), append(instances, i)
		var env struct{ StructuredContent struct{ CWD string } }
		if err := json.Unmarshal([]byte(await(t, begin(t, i, s, "env", "{}")).result(t)), &env); err != nil || env.StructuredContent.CWD != dir {
			t.Errorf("%s runs in %q, %v", s, env.StructuredContent.CWD, err)
		}
	}
	if instances[0].Info().PID == instances[1].Info().PID {
		t.Error("one process for both")
	}
	w.pool.Leave("a")
	await(t, instances[0].client.Done())
	if _, err := w.pool.Get(t.Context(), approved[0]); err != ErrLeft {
		t.Errorf("started again for nobody: %v", err)
	}
	w.pool.Want("a", approved[0])
	until(t, "nothing is left of it", func() bool { return w.berths() == 1 })
	if got := await(t, begin(t, instances[1], "b", "echo", "{}")); got.err != nil || w.starts() != 2 {
		t.Errorf("the other one: %v, %d starts", got.err, w.starts())
	}
}

// R4: a notification of ours reaches the server as it is; one to a server that is
// gone is a failure.
func TestNotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.approve(w.server())
	i := w.get(a)
	if err := i.Notify("notifications/vendor/x", []byte(`{"n":1e400}`)); err != nil {
		t.Fatal(err)
	}
	w.mustCall(i, "echo", "{}")
	if got := w.received("notifications/vendor/x"); len(got) != 1 || !strings.Contains(got[0], `"params":{"n":1e400}`) {
		t.Errorf("got %q", got)
	}
	w.pool.Stop(a.Key())
	failure(t, i.Notify("notifications/vendor/x", nil), upstream.Aborted)
}
