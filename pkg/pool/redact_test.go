package pool

import (
	"testing"

	"postern/pkg/secret"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// C31: a failure loses what is secret and nothing else, and a shared one stays.
func TestClean(t *testing.T) {
	r := &secret.Redactor{}
	r.Add("the-value")
	p := New(Options{Redactor: r})
	shared := &upstream.Failure{
		Word: upstream.ServerError, Server: "s", Phase: "p", Detail: "no the-value, no dGhlLXZhbHVl", Stderr: "clean", Exit: "exit status 1", Sent: true,
		RPC: &wire.RPCError{Code: -5, Message: "the-value", Data: []byte(`"the-value"`)},
	}
	got := p.clean(shared)
	if got.Detail != "no [redacted:value], no [redacted:value]" || got.RPC.Message != "[redacted:value]" || got.RPC.Data != nil {
		t.Errorf("got %+v, %+v", got, got.RPC)
	}
	if got.Word != shared.Word || got.Server != "s" || got.Phase != "p" || got.Exit != shared.Exit || got.Stderr != "clean" || !got.Sent || got.RPC.Code != -5 {
		t.Errorf("lost something: %+v", got)
	}
	if shared.Detail != "no the-value, no dGhlLXZhbHVl" || shared.RPC.Message != "the-value" {
		t.Error("the shared failure was changed")
	}
}
