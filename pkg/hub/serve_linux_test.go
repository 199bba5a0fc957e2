package hub

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// R81: a bridge's session, with the values that the hub wants of its agent and no
// others, its locale, its directory and the ids of its rows.
func TestBridgeSession(t *testing.T) {
	dirs := scratch(t)
	declare(t, dirs, `servers:
  s:
    command: `+mcptest.FakeServerCommand(t)+`
    args: [-tools, `+envTool(t, dirs.Config)+`]
    env: {GOT: "${WANTED}"}
    agent_env: [WANTED]
    shared: false
policies: {all: {servers: ["*"], allow: [read, write, execute]}}
defaults: {policy: all, trust_level: 3}
`)
	h := startHub(t, dirs, "0")
	work := filepath.Join(dirs.Config, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, h.place)
	w, err := c.hello(Hello{Kind: KindBridge, Dir: work, Locale: []string{"LANG=xx", "LD_PRELOAD=evil", "HOME=/evil"}, ListWaitMS: 10})
	if err != nil || len(w.Session) != 26 || fmt.Sprint(w.Want) != "[WANTED]" {
		t.Fatalf("%+v, %v", w, err)
	}
	c.send(string(values{Env: map[string]string{"WANTED": "this value", "OTHER": "never asked for"}}.line()))
	c.handshake()
	row := c.stamped(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__env","arguments":{}}}`)
	answer := c.line()
	for strings.Contains(answer, `"notifications/`) {
		answer = c.line()
	}
	for _, has := range []string{`"LANG":"xx"`, `"cwd":"` + work, `"GOT":"this value"`} {
		if !strings.Contains(answer, has) {
			t.Errorf("no %s in %s", has, answer)
		}
	}
	for _, not := range []string{"evil", "never asked for"} {
		if strings.Contains(answer, not) {
			t.Errorf("%q is in %s", not, answer)
		}
	}
	c.Close()
	if !mcptest.Eventually(func() bool { return logged(t, dirs.State, `"id":"`+row+`"`, `"session":"`+w.Session+`"`) }) {
		t.Errorf("no row has id %s and session %s", row, w.Session)
	}
}

func envTool(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "tools.json")
	if err := os.WriteFile(path, []byte(`[{"name":"env","inputSchema":{"type":"object"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// logged reports whether one row of the call log has all parts.
func logged(t *testing.T, dir string, parts ...string) bool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "calls", "*.jsonl"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
	rows:
		for row := range strings.Lines(string(text)) {
			for _, p := range parts {
				if !strings.Contains(row, p) {
					continue rows
				}
			}
			return true
		}
	}
	return false
}

// C32: of what a hello calls the locale that is taken, and nothing else of an
// agent's environment; the hub's own is not the agent's.
func TestOptions(t *testing.T) {
	h := Hello{Kind: KindCall, Locale: []string{"LANG=xx", "LD_PRELOAD=evil", "LC_ALL=C", "TOKEN=t", "TZ"}, Exposure: "lazy", ListWaitMS: 1500}
	o, err := h.options()
	if err != nil || fmt.Sprint(o.Environ) != "[LANG=xx LC_ALL=C]" || o.Via != "mcp-call" || !o.Whole || o.Exposure != "full" || o.ListWait != 1500*time.Millisecond {
		t.Errorf("%+v, %v", o, err)
	}
	h = Hello{Kind: KindBridge, Exposure: "lazy"}
	if o, err = h.options(); err != nil || o.Environ == nil || !o.Stamped || o.Whole || o.Exposure != "lazy" || o.Via != "" {
		t.Errorf("%+v, %v", o, err)
	}
}

// What a client is told fits in a first line, however much is wrong.
func TestNotes(t *testing.T) {
	many := make([]string, 3000)
	for i := range many {
		many[i] = strings.Repeat("é", config.HubNoteBytes)
	}
	got := notes(many)
	if n := len(line(welcome{Notes: got})); n > config.HubLineBytes || len(got) != config.HubNotes+1 || got[config.HubNotes] != "and 2980 more: mcp-catalog servers --check" {
		t.Errorf("%d bytes, %d notes: %s", n, len(got), got[len(got)-1])
	}
	if few := notes([]string{"a", "b"}); fmt.Sprint(few) != "[a b]" || notes(nil) != nil {
		t.Error(few)
	}
}

// C30: of what a client sends, the values that it was asked for are taken.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		`{"postern":1,"env":{"A":"1","B":"","C":"x","D":"a\u0000b"}}` + "\n": "[A=1 B=] <nil>",
		`{"postern":1,"env":{}}` + "\n":                                      "[] <nil>",
		`{"postern":1,"env":{"A":1}}` + "\n":                                 "error",
		`{"env":`:                                                            "error",
		`{"env":{"A":"` + strings.Repeat("x", config.HubEnvBytes) + `"}}` + "\n": "error",
	} {
		ours, theirs := pair(t)
		go func() { _, _ = theirs.Write([]byte(text)); theirs.Close() }() // ends when all is read, or ours closed
		got, err := readValues(&firstLines{conn: ours}, []string{"A", "B", "D", "E"})
		if said := fmt.Sprint(got, err); said != want && (want != "error" || err == nil) {
			t.Errorf("%.60s: %s", text, said)
		}
		ours.Close()
	}
}

// pair are two ends of a socket.
func pair(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	l, err := listenOn(placeOf(t, scratch(t), "1").Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err = l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	return ours, conn.(*net.UnixConn)
}

// What cannot be served is refused before a session begins, with the word and the
// exit code that the command would have.
func TestRefusedHello(t *testing.T) {
	dirs := scratch(t)
	h := startHub(t, dirs, "0")
	for want, hello := range map[string]Hello{
		"usage 2 no policy":      {Kind: KindBridge, NoProject: true, Policy: "none"},
		"usage 2 no server":      {Kind: KindCall, NoProject: true, Only: "none"},
		"usage 2 no kind":        {Kind: "agent"},
		"failed 1 is in no proj": {Kind: KindBridge, Project: dirs.Config},
	} {
		c := connectTo(t, h.place)
		_, err := c.hello(hello)
		var refused *RemoteError
		word, rest, _ := strings.Cut(want, " ")
		exit, says, _ := strings.Cut(rest, " ")
		if !errors.As(err, &refused) || refused.Word != word || fmt.Sprint(refused.Exit) != exit || !strings.Contains(refused.Message, says) {
			t.Errorf("%s: %v", want, err)
		}
		if rest := c.line(); rest != "" {
			t.Errorf("and then %q", rest)
		}
	}
}

// R81: anything else is plain MCP from its first byte on, however long the first
// line is, and whether or not it has an end.
func TestPlainSession(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"`
	for name, first := range map[string]string{
		"short": ping + "}\n", "with blanks": "  " + ping + "}\r\n",
		"long":     ping + `,"params":{"x":"` + strings.Repeat("y", 3*config.HubLineBytes) + `"}}` + "\n",
		"just too": ping + strings.Repeat(" ", config.HubLineBytes-len(ping)) + "}\n",
		"two":      ping + "}\n" + strings.Replace(ping, "1", "2", 1) + "}\n",
	} {
		c := connectTo(t, h.place)
		c.send(first)
		if got := c.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	c := connectTo(t, h.place)
	c.send(ping + "}")
	if err := c.Conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := c.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("without an end: %q", got)
	}
	c = connectTo(t, h.place)
	c.send("GET / HTTP/1.1\r\n")
	if got := c.line(); !strings.Contains(got, `-32700`) {
		t.Errorf("a browser is told %q", got)
	}
}

// Who says nothing is not waited for longer than is said, and nobody waits for him.
func TestSilentClient(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	begin := time.Now()
	silent, half := connectTo(t, h.place), connectTo(t, h.place)
	half.send(`{"postern":1,"kind":"br`)
	session(t, h.place).ping()
	for _, c := range []*client{silent, half} {
		if got := c.line(); got != "" || time.Since(begin) < config.HubLineWait-time.Second {
			t.Errorf("%q after %v", got, time.Since(begin))
		}
	}
}

// A stamp is not optional: a line without one ends the session, not the hub.
func TestUnstampedLine(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	c := session(t, h.place)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if got := c.line(); got != "" {
		t.Errorf("it is told %q", got)
	}
	session(t, h.place).ping()
}

// Orders are answered with one line, and refused with the word and the exit code of
// the refusal.
func TestOrders(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	s := session(t, h.place)
	for order, want := range map[order]string{
		{Verb: call.VerbStatus}:             `"sessions":[{`,
		{Verb: call.VerbReload}:             `"sessions":1`,
		{Verb: "sing"}:                      `"word":"invalid_arguments"`,
		{Verb: call.VerbKill, Name: "none"}: `"error":{"word":"`,
	} {
		c := connectTo(t, h.place)
		c.send(string(order.line()))
		if got := c.line(); !strings.Contains(got, want) || c.line() != "" {
			t.Errorf("%+v: %q", order, got)
		}
	}
	s.ping()
}

// A hub that a person stops says goodbye to its sessions, and one that is ended
// does not: bridges look for the next one then.
func TestStopAndEnd(t *testing.T) {
	dirs := scratch(t)
	h := startHub(t, dirs, "0")
	s := session(t, h.place)
	if _, err := Control(t.Context(), connectTo(t, h.place), call.VerbStop, ""); err != nil {
		t.Fatal(err)
	}
	if got := s.line(); !isStopped([]byte(got)) || s.line() != "" {
		t.Errorf("stopped: %q", got)
	}
	if code := h.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
	if !retired(t, h.place) {
		t.Error("somebody listens")
	}
	h = startHub(t, dirs, "0")
	s = session(t, h.place)
	if err := h.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := s.line(); got != "" {
		t.Errorf("ended: %q", got)
	}
	if code := h.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
	if _, err := os.Lstat(h.place.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A client that reads nothing hinders no other, and does not keep the hub.
func TestClientThatDoesNotRead(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	deaf := session(t, h.place)
	go func() { // ends when the connection does
		for range 100_000 {
			if _, err := fmt.Fprintf(deaf, "%026d %s\n", 0, `{"jsonrpc":"2.0","id":"p","method":"ping"}`); err != nil {
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range 20 {
		s := session(t, h.place)
		wg.Go(s.ping) // ends with the answer
	}
	wg.Wait()
	if _, err := Control(t.Context(), connectTo(t, h.place), call.VerbStop, ""); err != nil {
		t.Fatal(err)
	}
	if code := h.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
}

// MB-052: connections that come and go leave nothing behind.
func TestConnectionsLeaveNothing(t *testing.T) {
	h := startHub(t, scratch(t), "0")
	count := func() int { return len(descriptorsOf(h.Process.Pid)) }
	round := func() {
		c := connectTo(t, h.place)
		c.send("x\n")
		session(t, h.place).Close()
		c.Close()
	}
	round()
	var before int
	mcptest.Eventually(func() bool { now := count(); same := now == before; before = now; return same })
	for range 200 {
		round()
	}
	if !mcptest.Eventually(func() bool { return count() <= before }) {
		t.Errorf("%d descriptors, and %d before", count(), before)
	}
}

// MB-052: a hub that runs out of descriptors says so once, serves those that it has,
// and goes on when there are some again.
func TestShortOfDescriptors(t *testing.T) {
	h := prepareHub(t, scratch(t), "/bin/sh", "-c", `ulimit -n 32 && exec "$0" "$@"`, os.Args[0], "hub", "1", "0")
	h.start()
	h.up()
	first := session(t, h.place)
	var more []*client
	for range 64 {
		more = append(more, connectTo(t, h.place))
	}
	if !mcptest.Eventually(func() bool { return len(descriptorsOf(h.Process.Pid)) >= 31 }) {
		t.Fatal("it has descriptors left")
	}
	first.ping()
	for _, c := range more {
		c.Close()
	}
	session(t, h.place).ping()
	_ = h.Process.Signal(syscall.SIGTERM)
	if code := h.code(); code != 0 || strings.Count(h.out.String(), "no connection is accepted") != 1 {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
}
