package pool

import (
	"slices"
	"testing"

	"postern/pkg/config"
	"postern/pkg/trust"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// C31: what a reference became is found in environment and arguments, alone and
// as a whole; what was written down is not a secret.
func TestSecretsOf(t *testing.T) {
	for _, c := range []struct {
		name      string
		env, args [2]string // as declared, as launched
		want      []string
	}{
		{"nothing", [2]string{"plain", "plain"}, [2]string{"-v", "-v"}, nil},
		{"whole", [2]string{"${A}", "value-a"}, [2]string{"${B}", "value-b"}, []string{"value-a", "value-b"}},
		{"inside", [2]string{"Bearer ${A}", "Bearer value-a"}, [2]string{"--key=${B}!", "--key=value-b!"},
			[]string{"--key=value-b!", "Bearer value-a", "value-a", "value-b"}},
		{"two", [2]string{"${A}:${B}", "user:word"}, [2]string{"", ""}, []string{"user:word"}},
		{"default", [2]string{"${A:-other}", "other"}, [2]string{"", ""}, []string{"other"}},
		{"short", [2]string{"${A}", "abc"}, [2]string{"x${A}", "xabc"}, []string{"xabc"}},
		{"escape", [2]string{"$$${A}", "$value"}, [2]string{"$$5", "$5"}, []string{"$value", "value"}},
		{"broken", [2]string{"${", "value"}, [2]string{"", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := &config.Server{Env: []config.EnvVar{{Name: "NAME", Value: c.env[0]}}, Args: []string{c.args[0]}}
			got := secretsOf(srv, trust.Launch{Env: []string{"HOME=/home/me", "NAME=" + c.env[1], "NAMES=x"}, Args: []string{c.args[1]}})
			if !slices.IsSortedFunc(got, func(a, b string) int { return len(b) - len(a) }) {
				t.Errorf("%q is not sorted", got)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHideIn(t *testing.T) {
	s := secrets{"Bearer word", "word"}
	shared := &upstream.Failure{
		Word: upstream.ServerError, Server: "s", Phase: "p", Detail: "no Bearer word, no word", Stderr: "word", Exit: "exit status 1", Sent: true,
		RPC: &wire.RPCError{Code: -5, Message: "word", Data: []byte(`"word"`)},
	}
	got := s.hideIn(shared)
	if got.Detail != "no ***, no ***" || got.Stderr != "***" || got.RPC.Message != "***" || got.RPC.Data != nil {
		t.Errorf("got %+v, %+v", got, got.RPC)
	}
	if got.Word != shared.Word || got.Server != "s" || got.Phase != "p" || got.Exit != shared.Exit || !got.Sent || got.RPC.Code != -5 {
		t.Errorf("lost something: %+v", got)
	}
	if shared.Detail != "no Bearer word, no word" || shared.RPC.Message != "word" {
		t.Error("the shared failure was changed")
	}
}
