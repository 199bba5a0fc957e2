package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// sink keeps what is written once it is opened.
type sink struct {
	mu   sync.Mutex
	open chan struct{}
	b    bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	<-s.open
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.b.String(), "\n"), "\n")
}

func pipeTo(w io.Writer, queue int) *wire.Writer {
	return wire.NewWriter(w, wire.WriterOptions{MaxMessage: 1 << 20, MaxQueue: queue})
}

// What is posted before the acknowledgement waits for it, of each thing the
// latest; what is posted after it goes out by itself, in order.
func TestStreamOrder(t *testing.T) {
	s := &sink{open: make(chan struct{})}
	close(s.open)
	out := pipeTo(s, 1<<20)
	st := newStream(&request{id: []byte(`"s"`), ctx: t.Context()}, out, &filter{})
	st.post("a", "one", []byte(`{"n":1}`))
	st.post("b", "two", nil)
	st.post("a", "one", []byte(`{"n":2}`))
	kept := st.take()
	if len(kept) != 2 {
		t.Fatalf("%q", kept)
	}
	st.post("c", "three", nil) // while the kept ones are on their way
	for lines := kept; lines != nil; lines = st.take() {
		for _, line := range lines {
			if err := out.Send(line, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	st.post("d", "four", []byte(`{}`))
	if err := out.Close(mcptest.Bound); err != nil {
		t.Fatal(err)
	}
	const id = `"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}`
	want := []string{
		`{"jsonrpc":"2.0","method":"two","params":{` + id + `}}`,
		`{"jsonrpc":"2.0","method":"one","params":{` + id + `,"n":2}}`,
		`{"jsonrpc":"2.0","method":"three","params":{` + id + `}}`,
		`{"jsonrpc":"2.0","method":"four","params":{` + id + `}}`,
	}
	if got := s.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// An agent that does not read loses no thing, only what came before the latest
// about it, and costs a bounded number of bytes.
func TestStreamOfAnAgentThatDoesNotRead(t *testing.T) {
	s := &sink{open: make(chan struct{})}
	out := pipeTo(s, 4<<10)
	st := newStream(&request{id: []byte("1"), ctx: t.Context()}, out, &filter{})
	st.take() // acknowledged
	for n := range 1000 {
		st.post(fmt.Sprint(n%10), "m", []byte(fmt.Sprintf(`{"n":%d}`, n)))
	}
	if len(st.kept) != 10 {
		t.Fatalf("%d are kept", len(st.kept))
	}
	big := []byte(`{"x":"` + strings.Repeat("x", 1<<19) + `"}`)
	for n := range 100 {
		st.post(fmt.Sprint("big", n), "m", big)
	}
	sum := 0
	for _, p := range st.kept {
		sum += len(p.line)
	}
	if sum > config.StreamBytes || sum != st.bytes {
		t.Errorf("%d bytes are kept, counted %d", sum, st.bytes)
	}
	select {
	case <-st.wake:
	default:
		t.Error("nobody is told that something is kept")
	}
	var last []byte
	for _, line := range st.take() {
		if bytes.Contains(line, []byte(`"n":`)) {
			last = line
		}
	}
	if !bytes.Contains(last, []byte(`"n":999`)) {
		t.Errorf("the latest kept is %s", last)
	}
	close(s.open)
	if err := out.Close(mcptest.Bound); err != nil {
		t.Fatal(err)
	}
}

// R45: nothing is posted to a stream whose request was cancelled, however soon
// after that.
func TestStreamThatIsCancelled(t *testing.T) {
	s := &sink{open: make(chan struct{})}
	close(s.open)
	out := pipeTo(s, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	st := newStream(&request{id: []byte("1"), ctx: ctx}, out, &filter{})
	st.take() // acknowledged
	cancel()
	st.post("a", "late", nil)
	if err := out.Close(mcptest.Bound); err != nil {
		t.Fatal(err)
	}
	if got := s.lines(); len(got) != 1 || got[0] != "" || st.take() != nil {
		t.Errorf("%q", got)
	}
}

// A stream is told of a change once, of the lists it carries only, and not of what
// the agent has seen by itself (R54).
func TestStreamDiffering(t *testing.T) {
	o := func(digests ...string) *offer {
		out := &offer{}
		for k := range listKinds {
			out.lists[k].digest = digests[k]
		}
		return out
	}
	st := newStream(&request{}, nil, &filter{groups: []string{"tools", "resources"}})
	st.told = [listKinds]string{"t", "p", "r", "m"}
	for _, c := range []struct {
		now   *offer
		shown [listKinds]string
		want  string
	}{
		{o("t", "p", "r", "m"), [listKinds]string{}, ""},
		{o("t2", "p", "r", "m"), [listKinds]string{}, "tools"},
		{o("t2", "p2", "r", "m"), [listKinds]string{}, ""},
		{o("t3", "p2", "r2", "m2"), [listKinds]string{"t3"}, "resources"},
		{o("t3", "p2", "r2", "m2"), [listKinds]string{}, ""},
		{o("t2", "p2", "r3", "m2"), [listKinds]string{"t3"}, "tools resources"},
	} {
		if got := strings.Join(st.differing(c.now, &c.shown), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.now.lists, got, c.want)
		}
	}
}
