package hub

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// serveProgram is the hub of the directories in the environment: build, idle time.
func serveProgram(args []string) int {
	dirs, err := state.Locate(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return 97
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	idle, _ := time.ParseDuration(args[1])
	say := func(text string) { fmt.Println(text) }
	p, err := PlaceOf(dirs, args[0])
	if err == nil {
		host := call.OpenHost(call.HostOptions{Dirs: dirs, Environ: os.Environ(), Own: true, Warn: say}, config.Log{Days: 1, MaxFile: 1 << 20})
		err = Serve(ctx, ServeOptions{Place: p, Host: host, Gateway: gateway.New(host, "1"), IdleExit: func() time.Duration { return idle }, Control: host.Control, Say: say})
		host.Close()
	}
	if err != nil {
		fmt.Println(err)
		return 96
	}
	return 0
}

// hubOf is a process that is the hub of dirs, or tries to. It is waited for when
// the test ends.
type hubOf struct {
	*exec.Cmd
	t     *testing.T
	place Place
	out   strings.Builder // what it said, once it has ended
	ended chan struct{}
}

// startHub starts one, of the build "1", and waits until it listens.
func startHub(t *testing.T, dirs state.Dirs, idle string) *hubOf {
	t.Helper()
	h := prepareHub(t, dirs, os.Args[0], "hub", "1", idle)
	h.start()
	h.up()
	return h
}

func prepareHub(t *testing.T, dirs state.Dirs, executable string, args ...string) *hubOf {
	t.Helper()
	h := &hubOf{Cmd: exec.Command(executable, args...), t: t, place: placeOf(t, dirs, "1"), ended: make(chan struct{})}
	h.Env = append(Environment(os.Environ(), dirs), programVariable+"=1", "GORACE="+mcptest.NoRaceSleep)
	h.Stdout, h.Stderr, h.WaitDelay = &h.out, &h.out, time.Second
	return h
}

func (h *hubOf) start() {
	h.t.Helper()
	if err := h.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { // ends with the process, which the end of the test ends
		_ = h.Cmd.Wait()
		close(h.ended)
	}()
	h.t.Cleanup(func() {
		_ = h.Process.Signal(syscall.SIGCONT)
		_ = h.Process.Signal(syscall.SIGTERM)
		select {
		case <-h.ended:
		case <-time.After(mcptest.Bound):
			_ = h.Process.Kill()
			h.t.Error("the hub does not end")
		}
	})
}

// up waits until somebody listens.
func (h *hubOf) up() {
	h.t.Helper()
	if !mcptest.Eventually(func() bool {
		conn, err := h.place.Dial(h.t.Context())
		if err == nil {
			conn.Close()
		}
		return err == nil
	}) {
		h.t.Fatal("no hub comes")
	}
}

// code waits for the end of the process.
func (h *hubOf) code() int {
	h.t.Helper()
	select {
	case <-h.ended:
		return h.ProcessState.ExitCode()
	case <-time.After(mcptest.Bound):
		h.t.Fatal("the hub does not end")
		return -1
	}
}

// client is one connection to a hub.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func connectTo(t *testing.T, p Place) *client {
	t.Helper()
	conn, err := p.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(mcptest.Bound)); err != nil {
		t.Fatal(err)
	}
	return &client{conn, t, bufio.NewReader(conn)}
}

// send writes without looking: what became of it is read.
func (c *client) send(text string) { _, _ = io.WriteString(c, text) }

// line is the next line of the hub, "" at the end.
func (c *client) line() string {
	c.t.Helper()
	text, err := c.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		c.t.Errorf("reading: %v", err)
	}
	return text
}

// hello begins a session and returns what the hub says.
func (c *client) hello(h Hello) (welcome, error) {
	c.t.Helper()
	c.send(string(h.line()))
	return parseWelcome([]byte(c.line()))
}

// session begins the session of a bridge and makes the handshake.
func session(t *testing.T, p Place) *client {
	t.Helper()
	c := connectTo(t, p)
	if w, err := c.hello(Hello{Kind: KindBridge, NoProject: true}); err != nil || len(w.Want) != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	c.handshake()
	return c
}

func (c *client) handshake() {
	c.t.Helper()
	c.stamped(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if got := c.line(); !strings.Contains(got, `"serverInfo"`) {
		c.t.Fatalf("the handshake says %q", got)
	}
	c.stamped(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *client) stamped(text string) string {
	id := calllog.NewID(time.Now())
	c.send(id + " " + text + "\n")
	return id
}

// ping wants the session to live.
func (c *client) ping() {
	c.t.Helper()
	c.stamped(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if got := c.line(); got != `{"jsonrpc":"2.0","id":"p","result":{}}`+"\n" {
		c.t.Errorf("the session says %q", got)
	}
}

// retired wants a place that takes no session: nobody listens, or says why not.
func retired(t *testing.T, p Place) bool {
	conn, err := p.Dial(t.Context())
	var nobody *NoHubError
	if errors.As(err, &nobody) {
		return true
	}
	if err != nil {
		t.Error(err)
		return true
	}
	c := &client{conn, t, bufio.NewReader(conn)}
	defer c.Close()
	_, err = c.hello(Hello{Kind: KindBridge, NoProject: true})
	var refused *RemoteError
	return errors.As(err, &refused) && refused.Word == wordRetiring
}

// declare writes mcp.yaml.
func declare(t *testing.T, dirs state.Dirs, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dirs.Config, "mcp.yaml"), []byte("version: 1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
}
