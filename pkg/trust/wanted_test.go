package trust

import (
	"slices"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// C30: what a server could use of an agent's environment, and nothing else.
func TestWanted(t *testing.T) {
	w := newWorld(t)
	hub := []string{"PATH=/usr/bin:/bin", "HAS=1", "EMPTY="}
	user := func(change func(*config.Server)) *config.Server {
		srv := w.user("/bin/true")
		srv.Args = []string{"${A:-${NESTED}}", "${HAS}", "${EMPTY}", "${NOT_ALLOWED}", "$$LITERAL"}
		srv.Env = []config.EnvVar{{Name: "SET", Value: "${B}"}}
		srv.AgentEnv = []string{"B", "A", "NESTED", "HAS", "EMPTY", "SET", "UNUSED", "LITERAL", "LISTED"}
		change(srv)
		return srv
	}
	project := func(change func(*config.Server)) *config.Server {
		change(w.srv)
		return w.srv
	}
	same := func(*config.Server) {}
	for _, c := range []struct {
		name string
		srv  *config.Server
		want []string
	}{
		{"the user's", user(same), []string{"A", "B", "NESTED"}},
		{"without agent_env", user(func(s *config.Server) { s.AgentEnv = nil }), nil},
		{"inherited by name", user(func(s *config.Server) {
			s.InheritEnv = secret.Inherit{Mode: "list", Names: []string{"LISTED", "OTHER"}}
		}), []string{"A", "B", "LISTED", "NESTED"}},
		{"disabled", user(func(s *config.Server) { s.Enabled = false }), nil},
		{"a project's, not approved", project(same), nil},
	} {
		if got := w.records().Wanted(c.srv, hub); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	w.allow(w.srv)
	if got := w.records().Wanted(w.srv, hub); !slices.Equal(got, w.records().All()[0].Env) || !slices.Contains(got, "SECRET") {
		t.Errorf("a project's, approved: %q", got)
	}
	w.srv.AgentEnv = []string{"OTHER"} // no field of a project's
	w.srv.Env = append(w.srv.Env, config.EnvVar{Name: "MORE", Value: "${OTHER}"})
	if got := w.records().Wanted(w.srv, hub); slices.Contains(got, "OTHER") {
		t.Errorf("more than was shown: %q", got)
	}
	if got := w.records().Wanted(redigest(w.srv), hub); got != nil {
		t.Errorf("a project's, changed: %q", got)
	}
}
