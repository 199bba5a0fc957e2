package pkg

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/mcptest"
)

// spoken is one whole session on the hub's socket: the hello of a bridge or plain
// MCP, the handshake, a list, a call, the end.
func spoken(conn net.Conn, bridge bool, n int) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
	in := bufio.NewReader(conn)
	stamp := ""
	if bridge {
		fmt.Fprintf(conn, `{"postern":1,"kind":"bridge","version":"1","dir":"/","no_project":true}`+"\n")
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, `"session"`) {
			return fmt.Errorf("hello: %v, %q", err, line)
		}
		stamp = calllog.NewID(time.Now()) + " "
	}
	for i, m := range []string{
		`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
		`"method":"tools/list"`, `"method":"tools/call","params":` + mcptest.CallParams("s__echo", fmt.Sprintf(`{"n":%d}`, n)),
	} {
		fmt.Fprintf(conn, `%s{"jsonrpc":"2.0","id":%d,%s}`+"\n", stamp, i, m)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return fmt.Errorf("%s: %v", m, err)
			}
			if strings.Contains(line, `"error"`) || strings.Contains(line, `"isError":true`) {
				return fmt.Errorf("%.300s", line)
			}
			if strings.Contains(line, fmt.Sprintf(`"id":%d`, i)) {
				break
			}
		}
		if i == 0 {
			fmt.Fprintf(conn, "%s"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n", stamp)
		}
	}
	return nil
}

// Thousands of sessions that come and go leave nothing in the hub: descriptors
// and goroutines are what they were, memory does not grow, and there is one
// server (MB-032, MB-052).
func TestHubSessionsFlat(t *testing.T) {
	s := newShared(t, "s [] max_concurrency: 64, queue: 1000")
	c := s.command("mcp-serve", "hub")
	var said lockedBuffer
	c.Stderr, c.Env = &said, append(s.env, "GOTRACEBACK=all")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	h := s.theHub()
	sessions := func(from, to int) {
		var wg sync.WaitGroup
		next := make(chan int)
		for range 8 {
			wg.Go(func() { // ends with the last of next
				for n := range next {
					if err := spoken(s.dial(), n%2 == 0, n); err != nil {
						t.Errorf("session %d: %v", n, err)
					}
				}
			})
		}
		for n := from; n < to && !t.Failed(); n++ {
			next <- n
		}
		close(next)
		wg.Wait()
	}
	total := storm(1600, 10_000)
	sessions(0, total/4)
	if !mcptest.Eventually(func() bool { return descriptors(t, h.owner) < 40 }) {
		t.Errorf("%d descriptors", descriptors(t, h.owner))
	}
	fds, rss := descriptors(t, h.owner), memory(h.owner)
	sessions(total/4, total)
	if !mcptest.Eventually(func() bool { return descriptors(t, h.owner) <= fds+2 }) {
		t.Errorf("%d descriptors before, %d after", fds, descriptors(t, h.owner))
	}
	if after := memory(h.owner); after > rss+rss/2+4<<10 {
		t.Errorf("%d KiB before, %d after", rss, after)
	}
	if n := s.begun(); n != 1 {
		t.Errorf("%d servers", n)
	}
	t.Logf("%d sessions: %d descriptors, then %d; %d KiB, then %d", total, fds, descriptors(t, h.owner), rss, memory(h.owner))
	s.kill(h.owner, syscall.SIGQUIT) // makes the hub tell its goroutines, and die
	s.wantGone(h.owner)
	_ = c.Wait()
	// The last sessions, eight at a time, may not have let go of theirs.
	if n := strings.Count(said.String(), "\ngoroutine "); n == 0 || n > 100 {
		t.Errorf("%d goroutines:\n%.20000s", n, said.String())
	} else {
		t.Logf("%d goroutines", n)
	}
	s.nothingLeft()
	s.once()
	if n := len(s.readable()); n < total-4096 || n > total {
		t.Errorf("%d rows of %d calls", n, total)
	}
}

// lockedBuffer is a buffer that a process writes to while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*lockedBuffer)(nil)

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
