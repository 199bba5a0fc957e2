package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"postern/pkg/mcptest"
)

// peer is an independent client of the newest revision, connected by pipes: it
// asks server/discover first and never says initialize.
func (w *world) peer(ctx context.Context, o *mcp.ClientOptions, g Options) *mcp.ClientSession {
	w.t.Helper()
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	g.ListWait = mcptest.Bound
	w.ends.Add(1)
	go func() { // ends with the session
		defer w.ends.Done()
		if err := w.g.Serve(context.Background(), in, out, g); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
		out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, o)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromGateway, Writer: toGateway}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != modernRevision {
		w.t.Fatalf("the peer speaks %s", got)
	}
	return session
}

// received reports whether the fake server has got a request of that method.
func (w *world) received(method string) bool {
	return slices.ContainsFunc(mcptest.Events(w.t, w.path("events"), "recv"), func(e mcptest.Event) bool {
		return strings.Contains(e.Data, `"method":"`+method+`"`)
	})
}

const moreConfig = `version: 1
servers:
  fake: {command: $FAKE, args: [-more, -events, $WORK/events]}
` + allowAll

// R71, R73: an independent client of the modern era discovers, lists, calls, reads,
// listens to changes of lists and of a resource, and is answered by a server that
// has never heard of its era.
func TestSDKPeerOfTheModernEra(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), mcptest.Bound)
	defer cancel()
	w := newWorld(t, moreConfig, nil)
	changed, updated := make(chan string, 16), make(chan string, 16)
	session := w.peer(ctx, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	}, Options{})
	init := session.InitializeResult()
	if init.ServerInfo.Name != "postern" || !init.Capabilities.Resources.Subscribe || !strings.Contains(init.Instructions, "fake: not listed yet") {
		t.Errorf("%+v", init)
	}
	var tools []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	if !slices.Contains(tools, "fake__update") {
		t.Errorf("tools: %q", tools)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "fake__echo", Arguments: map[string]any{"a": "b"}})
	if err != nil || result.IsError || fmt.Sprint(result.StructuredContent) != "map[a:b]" {
		t.Errorf("%+v %v", result, err)
	}
	if info, _ := json.Marshal(result.Meta[metaServerInfo]); !strings.Contains(string(info), `"name":"postern"`) {
		t.Errorf("signed by %s", info)
	}
	if read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "fake://text"}); err != nil || read.Contents[0].Text != "content of fake://text" {
		t.Errorf("%+v %v", read, err)
	}
	if prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "fake__greet", Arguments: map[string]string{"who": "x"}}); err != nil || len(prompt.Messages) != 1 {
		t.Errorf("%+v %v", prompt, err)
	}
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: "fake://text"}); err != nil {
		t.Fatal(err)
	}
	// Its Subscribe does not wait for the acknowledgement: until it is there, an
	// update goes nowhere.
	if !mcptest.Eventually(func() bool { return w.received("resources/subscribe") }) {
		t.Fatal("the server was not asked")
	}
	call := func(tool string, arguments any) {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	call("fake__update", map[string]any{"uri": "fake://text"})
	call("fake__change", map[string]any{"tools": []any{map[string]any{"name": "fresh", "inputSchema": map[string]any{"type": "object"}}}})
	for _, c := range []struct {
		got  chan string
		want string
	}{{updated, "fake://text"}, {changed, "tools"}} {
		select {
		case got := <-c.got:
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		case <-ctx.Done():
			t.Fatalf("nothing of %s came", c.want)
		}
	}
}
