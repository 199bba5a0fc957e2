package pkg

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"postern/pkg/mcptest"
)

// TestSDKPeer drives mcp-serve with an independent client of the protocol, in
// either era: it negotiates, lists, calls, hears progress, cancels and ends.
func TestSDKPeer(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) { drive(t, version) })
	}
}

func drive(t *testing.T, version string) {
	h := newHome(t)
	h.write(".config/postern/mcp.yaml", `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $HOME/events]}
policies:
  everything: {servers: ["*"], allow: [read, write, execute], exposure: full, max_result_bytes: 0}
defaults: {policy: everything, trust_level: 2}
`)
	ctx, cancel := context.WithTimeout(t.Context(), mcptest.Bound)
	defer cancel()
	var steps atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { steps.Add(1) },
	})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: h.command("mcp-serve", "--no-project")}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "postern" || got.Capabilities.Tools == nil {
		t.Errorf("initialize: %+v", got)
	}
	names := map[string]bool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names[tool.Name] = true
	}
	if !names["fake__echo"] || len(names) != 17 {
		t.Errorf("tools: %v", names)
	}
	call := func(ctx context.Context, tool string, args map[string]any, token any) (*mcp.CallToolResult, error) {
		p := &mcp.CallToolParams{Name: tool, Arguments: args}
		if token != nil {
			p.SetProgressToken(token)
		}
		return session.CallTool(ctx, p)
	}
	if r, err := call(ctx, "fake__progress", map[string]any{"steps": 3}, "mine"); err != nil || r.IsError {
		t.Errorf("progress: %v %v", r, err)
	}
	if !mcptest.Eventually(func() bool { return steps.Load() == 3 }) {
		t.Errorf("%d of 3 progress notifications", steps.Load())
	}
	if r, err := call(ctx, "fake__fail", map[string]any{"text": "no"}, nil); err != nil || !r.IsError {
		t.Errorf("fail: %v %v", r, err)
	}
	if _, err := call(ctx, "fake__nope", nil, nil); err == nil || !strings.Contains(err.Error(), "has no tool") {
		t.Errorf("unknown tool: %v", err)
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if _, err := call(short, "fake__never", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled call: %v", err)
	}
	mcptest.WaitEvents(t, h.path("events"), "cancelled", 1)
	var exit *exec.ExitError
	if err := session.Close(); errors.As(err, &exit) {
		t.Errorf("close: %v", err)
	}
}
