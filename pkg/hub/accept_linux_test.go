package hub

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// full is what accepts connections for a hub that takes as many as it is told, all
// of which are taken until the test ends.
func full(t *testing.T, most int) (connect func() *client, said func() []string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lines []string
	h := &shared{open: map[net.Conn]bool{}, most: most, o: ServeOptions{Say: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, text)
	}}}
	accepting := make(chan struct{})
	go func() { // ends with the deadline below
		defer close(accepting)
		h.accept(l)
	}()
	connect = func() *client {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(mcptest.Bound)); err != nil {
			t.Fatal(err)
		}
		return &client{conn, t, bufio.NewReader(conn)}
	}
	t.Cleanup(func() {
		_ = l.SetDeadline(time.Now())
		<-accepting
		h.wg.Wait() // what is still open says nothing for HubLineWait
	})
	for n := range most {
		connect()
		if !mcptest.Eventually(func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.open) == n+1
		}) {
			t.Fatal("a connection is not taken")
		}
	}
	return connect, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return lines
	}
}

// A hub that has as many connections as it takes says so to whoever it can say it
// to, and so do the commands.
func TestFullHubSaysSo(t *testing.T) {
	t.Parallel()
	connect, said := full(t, 2)
	var refused *RemoteError
	if _, err := connect().hello(Hello{Kind: KindBridge, NoProject: true}); !errors.As(err, &refused) || refused.Word != wordOverload || refused.Exit != exitUnavailable {
		t.Errorf("to a hello: %v", err)
	}
	if _, err := Control(t.Context(), connect(), call.VerbStatus, ""); !errors.As(err, &refused) || refused.Word != wordOverload || refused.Message == "" {
		t.Errorf("to an order: %v", err)
	}
	stdin, agent := io.Pipe()
	defer agent.Close()
	reach := func(context.Context) (net.Conn, error) { return connect(), nil }
	err := Bridge(t.Context(), stdin, io.Discard, BridgeOptions{Hello: Hello{Kind: KindBridge, NoProject: true}, Reach: reach, Lookup: os.LookupEnv})
	if !errors.As(err, &refused) || refused.Word != wordOverload {
		t.Errorf("a bridge: %v", err) // it neither tries again nor serves by itself
	}
	c := connect()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if got := c.line(); got != "" { // that protocol has no word for it
		t.Errorf("to an agent: %q", got)
	}
	if lines := said(); len(lines) != 1 {
		t.Errorf("the operator is told %q", lines)
	}
}

// Those that are refused are few at a time, whatever they do not say.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	connect, _ := full(t, 1)
	begin := time.Now()
	for range config.HubRefusals {
		connect()
	}
	for range 10 {
		if got := connect().line(); got != "" {
			t.Errorf("%q", got)
		}
	}
	if took := time.Since(begin); took >= config.HubLineWait {
		t.Errorf("one too many is held for %s", took)
	}
}
