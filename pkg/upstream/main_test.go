package upstream

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/trust"
)

// ownerVariable makes the test binary an owner of one upstream that can be
// killed: the command of the server is its value.
const ownerVariable = "UPSTREAM_TEST_OWNER"

func TestMain(m *testing.M) {
	if command := os.Getenv(ownerVariable); command != "" {
		own(command)
	}
	mcptest.Main(m)
}

// own starts the server, lets threads end, says its pid, and waits to be killed.
func own(command string) {
	runtime.LockOSThread() // the main thread never ends, so it must not be the one that forks
	c, err := Start(context.Background(), Options{
		Server: "demo", StartTimeout: patience, MaxMessage: 1 << 20, MaxQueue: 1 << 20,
		Launch: trust.Launch{Path: command, Args: []string{"-life", "60s", "-fault", "ignore-eof"}, Env: []string{"PATH=/bin:/usr/bin"}},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	endThreads()
	if err := c.Err(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Info().PID)
	io.Copy(io.Discard, os.Stdin)
	time.Sleep(patience)
	os.Exit(1)
}

// endThreads ends threads, as a goroutine does that leaves its own locked: a
// child whose forking thread ended would get its parent-death signal now.
func endThreads() {
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(runtime.LockOSThread)
	}
	wg.Wait()
	time.Sleep(100 * time.Millisecond) // for a signal that must not come
}
