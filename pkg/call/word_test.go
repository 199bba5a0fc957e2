package call

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"postern/pkg/calllog"
	"postern/pkg/wire"
)

// table is R41's: what follows from each word.
var table = map[Word]Meaning{
	UnknownTool:       {wire.CodeInvalidParams, calllog.Denied, ExitUsage},
	UnknownPrompt:     {wire.CodeInvalidParams, calllog.Denied, ExitUsage},
	UnknownResource:   {wire.CodeInvalidParams, calllog.Denied, ExitUsage},
	UnknownTask:       {wire.CodeInvalidParams, calllog.Denied, ExitUsage},
	UnknownMethod:     {wire.CodeMethodNotFound, calllog.Denied, ExitUsage},
	InvalidArguments:  {wire.CodeInvalidParams, calllog.Denied, ExitUsage},
	Untrusted:         {CodePolicy, calllog.Denied, ExitNotTrusted},
	Stale:             {CodePolicy, calllog.Denied, ExitNotTrusted},
	Denied:            {CodePolicy, calllog.Denied, ExitNotTrusted},
	Expired:           {CodePolicy, calllog.Denied, ExitNotTrusted},
	PolicyDenied:      {CodePolicy, calllog.Denied, ExitDenied},
	ApprovalRequired:  {CodePolicy, calllog.Denied, ExitDenied},
	SupplyChainDenied: {CodeSupplyChain, calllog.Denied, ExitDenied},
	Unavailable:       {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	UpstreamError:     {wire.CodeInternal, calllog.UpstreamError, ExitToolError},
	ProtocolError:     {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	Closed:            {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	Spawn:             {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	ServerError:       {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	Disabled:          {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	Self:              {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	OutcomeUnknown:    {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
	Timeout:           {wire.CodeInternal, calllog.Timeout, ExitTimeout},
	Overload:          {wire.CodeInternal, calllog.CircuitOpen, ExitUnavailable},
	CircuitOpen:       {wire.CodeInternal, calllog.CircuitOpen, ExitUnavailable},
	Cancelled:         {wire.CodeInternal, calllog.Cancelled, ExitInterrupted},
	ToolError:         {wire.CodeInternal, calllog.ToolError, ExitToolError},
	HubLost:           {wire.CodeInternal, calllog.UpstreamError, ExitUnavailable},
}

// R41: one table, and no word of the type without its line.
func TestWords(t *testing.T) {
	for word, want := range table {
		if got := word.Meaning(); got != want {
			t.Errorf("%s means %+v, want %+v", word, got, want)
		}
		r := &Refusal{Word: word, Message: "why"}
		if r.ExitCode() != want.Exit || r.RPC().Code != want.Code {
			t.Errorf("a refusal %s has exit code %d and code %d", word, r.ExitCode(), r.RPC().Code)
		}
	}
	if string(HubLost) != calllog.HubLost {
		t.Errorf("the log reads another word than %s", HubLost)
	}
	for _, word := range declaredWords(t) {
		if _, ok := table[word]; !ok {
			t.Errorf("%s has no line in the table", word)
		}
	}
	if got := Word("new").Meaning(); got != table[Closed] {
		t.Errorf("an unknown word means %+v", got)
	}
}

// declaredWords are the constants of type Word in word.go.
func declaredWords(t *testing.T) (words []Word) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "word.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Word" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, Word(text))
		}
		return true
	})
	if len(words) < 20 {
		t.Fatalf("only %d words were found", len(words))
	}
	return words
}

// R41: the details of a refusal, for programs and for models.
func TestRefusalForms(t *testing.T) {
	r := &Refusal{
		Step: StepDispatch, Word: Timeout, Reason: "queue", Rule: "/c/mcp.yaml:3", Remedy: "wait", Server: "s", Tool: `t"<`,
		Message: "it took <too> long", InputSchema: json.RawMessage(`{"type":"object"}`),
	}
	const data = `{"word":"timeout","reason":"queue","rule":"/c/mcp.yaml:3","remedy":"wait","server":"s","tool":"t\"\u003c","input_schema":{"type":"object"}}`
	if got := string(r.Data()); got != data {
		t.Errorf("data %s", got)
	}
	if r.Error() != "it took <too> long; wait" || !r.AsResult() {
		t.Errorf("says %q", r.Error())
	}
	want := `{"content":[{"type":"text","text":"it took <too> long; wait"}],"isError":true,"_meta":{"postern/error":` + data + `}}`
	if got := string(r.ToolResult()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e := r.RPC()
	if e.Message != r.Error() || string(e.Data) != data {
		t.Errorf("got %+v", e)
	}
	bare := &Refusal{Step: StepResolve, Word: UnknownTool, Message: "no"}
	if got := string(bare.Data()); got != `{"word":"unknown_tool"}` || bare.Error() != "no" || bare.AsResult() {
		t.Errorf("a bare one: %s, %s", got, bare)
	}
	broken := &Refusal{Word: UpstreamError, InputSchema: json.RawMessage(`{`)}
	if got := string(broken.Data()); got != `{"word":"upstream_error"}` {
		t.Errorf("with a broken schema: %s", got)
	}
}
