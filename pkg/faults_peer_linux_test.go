package pkg

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/wire"
)

// gate is a reader that lets nothing through until it is opened.
type gate struct {
	io.Reader
	open chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	<-g.open // opened by the test, at the latest at its end
	return g.Reader.Read(p)
}

// deaf is mcp-serve with an agent that reads nothing until the gate opens.
func (f *fault) deaf() (a *mcptest.Agent, open func(), c *exec.Cmd) {
	f.t.Helper()
	c = f.command("mcp-serve")
	in, err := c.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	g := &gate{out, make(chan struct{})}
	opened := false
	open = func() {
		if !opened {
			close(g.open)
		}
		opened = true
	}
	a = mcptest.Connect(f.t, g, in)
	// Closed before it is opened, so that who never read gets no half of a line now.
	f.t.Cleanup(func() { _ = c.Process.Kill(); out.Close(); open(); _ = c.Wait() })
	return a, open, c
}

// memory is the resident memory of a process in KiB.
func memory(pid int) int {
	_, rest, _ := strings.Cut(readFile("/proc/"+strconv.Itoa(pid)+"/status"), "VmRSS:")
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n
}

// An agent that reads nothing for two seconds while 24 MiB of results come for
// it loses none of them, and no server waits for it (R6).
func TestFaultAgentReadsLate(t *testing.T) {
	f := newFault(t, "a [] queue: 128")
	a, open, c := f.deaf()
	owner := mcptest.Below(t, c.Process.Pid)
	a.BeginInitialize()
	ids := map[string]bool{}
	for range 24 {
		ids[f.ask(a, "a__big", `,"bytes":1048576`)] = true
	}
	mcptest.WaitEvents(t, f.events, "call", 24)
	time.Sleep(2 * time.Second)
	if m := memory(owner); m > 400<<10 {
		t.Errorf("%d KiB", m)
	}
	open()
	for id := range ids {
		if m := a.Expect(id); word(m) != "" || len(m.Raw) < 1<<20 {
			t.Errorf("%.200s", m.Raw)
		}
	}
	f.call(a, "a__echo", "")
	a.Hangup()
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	f.wantRows(f.sound(), map[string]int{"ok": 25})
}

// An agent that never reads does not keep mcp-serve from ending.
func TestFaultAgentNeverReads(t *testing.T) {
	f := newFault(t, "a [-fault, grandchild=session]")
	a, _, c := f.deaf()
	a.BeginInitialize()
	for range 4 {
		f.ask(a, "a__big", `,"bytes":1048576`)
	}
	mcptest.WaitEvents(t, f.events, "call", 4)
	a.Hangup()
	f.within(9*time.Second, "the end", func() {
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }() // ends with the process
		select {
		case <-ended:
		case <-time.After(mcptest.Bound):
			t.Fatal("it does not end")
		}
	})
	f.sound()
}

// A server that stops reading: what no longer fits is refused at once, what was
// taken fails after ten seconds, the process is replaced, and the others do not
// notice (R6).
func TestFaultServerDoesNotRead(t *testing.T) {
	f := newFault(t, "a [-fault, stop-reading=tools/call] max_queue_bytes: 256KiB, restart_delay: 50ms, timeout: 30s", "b")
	a := f.agent()
	f.call(a, "a__echo", "")
	blob := `,"x":"` + strings.Repeat("x", 200<<10) + `"`
	first := f.ask(a, "a__echo", blob)
	f.want(a, "overload", "a__echo", blob)
	f.call(a, "b__echo", "")
	begin := time.Now()
	f.wantAnswer(a, "overload|outcome_unknown", first)
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("took %v", took)
	}
	f.call(a, "b__echo", "")
	if n := len(f.sound(a)); n != 5 {
		t.Errorf("%d rows of 5 calls", n)
	}
}

// Floods of notifications, of stderr and of noise on stdout, while calls of
// another server and of the same one go on. Memory and logs stay bounded (R3,
// MB-036, MB-071).
func TestFaultFlood(t *testing.T) {
	f := newFault(t, "a [] restart_delay: 50ms", "b")
	a := f.agent()
	owner := mcptest.Below(t, a.PID())
	server := f.server(a, "a")
	line := strings.Repeat("n", 1000)
	begin := time.Now()
	floods := []string{
		f.ask(a, "a__notify", `,"method":"notifications/message","params":{"level":"info","data":"`+line+`"},"times":20000`),
		f.ask(a, "a__notify", `,"method":"notifications/tools/list_changed","times":5000`),
		f.ask(a, "a__write", `,"line":"`+line+`","times":16384,"stderr":true,"answer":true`),
		f.ask(a, "a__write", `,"line":"`+line+`","times":16384,"stderr":true,"bare":true,"answer":true`),
		f.ask(a, "a__write", `,"line":"`+line+`","times":900,"answer":true`),
	}
	for range 5 {
		f.within(5*time.Second, "another server's call", func() { f.call(a, "b__echo", "") })
	}
	for _, id := range floods {
		if m := a.Expect(id); word(m) != "" {
			t.Errorf("%s", m.Raw)
		}
	}
	if next := f.server(a, "a"); next != server {
		t.Error("a flood of what is allowed ended the server")
	}
	if n, most := len(a.Lines()), 1000*(2+int(time.Since(begin)/time.Second))+100; n > most {
		t.Errorf("%d lines reached the agent, and at most %d are passed on in that time", n, most)
	}
	// A line without an end, and one that is no message again and again.
	f.want(a, "protocol|outcome_unknown", "a__write", `,"line":"`+line+`","times":32768,"bare":true`)
	f.call(a, "a__echo", "")
	f.want(a, "protocol|outcome_unknown", "a__write", `,"line":"`+line+`","times":32768`)
	f.call(a, "a__echo", "")
	f.call(a, "b__echo", "")
	if m := memory(owner); m > 300<<10 {
		t.Errorf("%d KiB", m)
	}
	f.sound(a)
	logs, _ := filepath.Glob(f.path(".local/state/postern/stderr/*"))
	for _, name := range logs {
		if info, err := os.Stat(name); err != nil || info.Size() > 1<<20 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if len(logs) == 0 {
		t.Error("nothing of stderr was kept")
	}
}

// What a server says wrong fails at most its own call (R2, R3, MB-065).
func TestFaultServerGarbage(t *testing.T) {
	f := newFault(t, "a [-fault, banner, -fault, noise=2] timeout: 20s, restart_delay: 50ms", "b")
	a := f.agent()
	server := f.server(a, "a")
	open := f.ask(a, "a__slow", `,"ms":1500`)
	for _, tc := range []struct{ args, word string }{
		{`,"line":"{not json","answer":true`, ""},
		{`,"hex":"fffe00010203","answer":true`, ""},
		{`,"line":"` + strings.Repeat("[", 3000) + `","answer":true`, ""},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}}","answer":true`, ""},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{}}","answer":true`, ""},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}","answer":true`, ""},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID}"`, "protocol"},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}"`, "protocol"},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":5}}"`, "upstream_error"},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[],\"content\":[]}}"`, "upstream_error|protocol"},
		{`,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":[]}"`, "upstream_error|protocol"},
	} {
		f.wantAnswer(a, tc.word, f.ask(a, "a__write", tc.args))
	}
	f.call(a, "a__twice", "")
	if f.server(a, "a") != server {
		t.Error("the server was started again")
	}
	if m := a.Expect(open); word(m) != "" {
		t.Errorf("a call that had nothing to do with it: %s", m.Raw)
	}
	f.want(a, "outcome_unknown", "a__half", "")
	f.call(a, "a__echo", "")
	f.call(a, "b__echo", "")
	f.sound(a)
}

// Whatever an agent sends, each request that arrives whole has one answer and is
// executed once, what does not arrive whole is not executed, and the session
// goes on (R1 to R3).
func TestFaultAgentGarbage(t *testing.T) {
	f := newFault(t, "a [] queue: 1024")
	a := f.agent()
	f.call(a, "a__echo", "")
	for _, line := range []string{
		"", " ", "{", "}", "null", "5", `"x"`, "[]", "[{}]", "{}", "\x00\x00\x00", "\xff\xfe", strings.Repeat("[", 5000),
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":-1,"ID":-2,"method":"ping"}`, `{"jsonrpc":"2.0","id":-1,"id":-1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":-1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`,
		`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"a__echo","arguments":5}}`,
		`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":-1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"a__echo","Name":"a__exit"}}`,
	} {
		a.Send(line)
	}
	r := rand.New(rand.NewSource(3))
	whole := []string{}
	for i := range 300 {
		id := strconv.Itoa(1000 + i)
		line := []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"a__echo","arguments":{"n":` + strconv.Itoa(1_000_003*(i+1)) + `}}}`)
		if i%3 > 0 {
			a.Send(string(line))
			whole = append(whole, id)
			continue
		}
		switch at := r.Intn(len(line)); r.Intn(4) {
		case 0:
			line = line[:at]
		case 1:
			line[at] ^= byte(1 << r.Intn(8))
		case 2:
			line = append(line[:at:at], line[min(len(line), at+1+r.Intn(9)):]...)
		case 3:
			line = append(append(line[:at:at], byte(r.Intn(256))), line[at:]...)
		}
		a.Send(string(bytes.ReplaceAll(line, []byte("\n"), []byte("\r"))))
	}
	for _, id := range whole {
		if m := a.Expect(id); word(m) != "" {
			t.Errorf("%s", m.Raw)
		}
	}
	f.call(a, "a__echo", "")
	answers := map[string]int{}
	for _, m := range a.Lines() {
		if m.Kind == wire.Response && string(m.IDBytes()) != "null" {
			answers[string(m.IDBytes())]++
		}
	}
	for _, id := range whole {
		if answers[id] != 1 {
			t.Errorf("%d answers to %s", answers[id], id)
		}
	}
	f.sound(a)
}

// Half a request before the end of input is not executed.
func TestFaultHalfRequest(t *testing.T) {
	f := newFault(t, "a")
	for i, cut := range []int{1, 20, 60, 75} {
		c := f.command("mcp-serve")
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__echo","arguments":{"n":%d}}}`, i)
		c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n" + call[:cut])
		out, err := c.Output()
		if err != nil || bytes.Count(out, []byte("\n")) < 1 {
			t.Errorf("%v: %s", err, out)
		}
	}
	if n := len(f.executed()); n > 0 {
		t.Errorf("%d executed", n)
	}
	f.sound()
}

// An agent that asks for far more than is allowed at a time: each call has one
// answer, what is refused is not executed, and each that was looked at has a row.
func TestFaultAgentFloods(t *testing.T) {
	f := newFault(t, "a [] queue: 16")
	a := f.agent()
	f.call(a, "a__echo", "")
	var ids []string
	for range 3000 {
		ids = append(ids, f.ask(a, "a__slow", `,"ms":1`))
	}
	made, refused := 1, 0
	for _, id := range ids {
		switch m := a.Expect(id); word(m) {
		case "":
			made++
		case "overload":
			refused++
		default:
			if !bytes.Contains(m.ErrorBytes(), []byte("requests are under way")) {
				t.Errorf("%s", m.Raw)
			}
		}
	}
	f.call(a, "a__echo", "")
	rows := f.sound(a)
	if n := len(f.executed()); n != made+1 || refused == 0 {
		t.Errorf("%d executions of %d calls, and %d refused", n, made+1, refused)
	}
	f.counted(rows, made+1+refused)
}

// An agent that asks without end and reads nothing is not read any more, and
// costs a bounded amount of memory.
func TestFaultAgentFloodsUnread(t *testing.T) {
	f := newFault(t, "a")
	a, open, c := f.deaf()
	owner := mcptest.Below(t, c.Process.Pid)
	a.BeginInitialize()
	sent := make(chan struct{})
	stop := make(chan struct{})
	go func() { // ends when told to, and then with the pipe
		defer close(sent)
		blob := strings.Repeat(`{"jsonrpc":"2.0","id":"x","method":"nothing/`+strings.Repeat("x", 900)+"\"}\n", 1000)
		for range 400 {
			select {
			case <-stop:
				return
			default:
				a.Send(blob)
			}
		}
	}()
	time.Sleep(1500 * time.Millisecond)
	if m := memory(owner); m > 400<<10 {
		t.Errorf("%d KiB", m)
	}
	close(stop)
	a.Hangup()
	open()
	_ = c.Wait() // fails where the machine is too slow to take the last answers in time
	<-sent
	f.sound()
}

// Half a line, and then nothing: that call ends at its timeout, and so does at
// most the one whose answer is glued to it. The server is not started again.
func TestFaultServerHalfLine(t *testing.T) {
	f := newFault(t, "a [] timeout: 1s")
	a := f.agent()
	server := f.server(a, "a")
	f.want(a, "timeout", "a__write", `,"line":"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[","bare":true`)
	f.wantAnswer(a, "timeout|protocol|", f.ask(a, "a__echo", ""))
	if f.server(a, "a") != server {
		t.Error("it was started again")
	}
	f.sound(a)
}
