package upstream

import (
	"context"
	"fmt"
	"io"
	"os"
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

// own starts the server, says its pid, and waits to be killed.
func own(command string) {
	c, err := Start(context.Background(), Options{
		Server: "demo", StartTimeout: patience, MaxMessage: 1 << 20, MaxQueue: 1 << 20,
		Launch: trust.Launch{Path: command, Args: []string{"-life", "60s", "-fault", "ignore-eof"}, Env: []string{"PATH=/bin:/usr/bin"}},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Info().PID)
	io.Copy(io.Discard, os.Stdin)
	time.Sleep(patience)
	os.Exit(1)
}
