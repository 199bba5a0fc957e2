package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// shownOf is a word of each text that a Redactor leaves as it is.
func shownOf(r *secret.Redactor, texts ...string) (shown []string) {
	for _, text := range texts {
		if r.Text(text) == text {
			shown = append(shown, text)
		}
	}
	return shown
}

// S5: whatever a server is given is known before anything is said about it, also
// when it turns out that it may not start; what every program has is not.
func TestCheckTellsValues(t *testing.T) {
	w := newWorld(t)
	w.env.Redactor = &secret.Redactor{}
	w.env.Agent = []string{"SECRET=agent-value", "ROOT_ARG=argument-value", "UNUSED=unused-value"}
	w.write("server.env", "FROM_FILE=file-value\nNOT_REFERRED=other-file-value\n", 0o600)
	w.srv.Args = append(w.srv.Args, "--api-key", "literal-argument", "--token=literal-token", "--name", "plain-argument", "${LANG}")
	w.srv.Env = append(w.srv.Env, config.EnvVar{Name: "LITERAL", Value: "literal-value"}, config.EnvVar{Name: "WHOLE", Value: "Bearer ${SECRET}"},
		config.EnvVar{Name: "PATH", Value: "/public/path:/usr/bin:/bin"})
	redigest(w.srv)
	w.allow(w.srv, "PATH")
	if _, err := w.check(); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"agent-value", "argument-value", "file-value", "other-file-value", "literal-argument", "literal-token", "literal-value"}
	if shown := shownOf(w.env.Redactor, secrets...); shown != nil {
		t.Errorf("not told: %q", shown)
	}
	public := []string{"unused-value", "plain-argument", "/public/path:/usr/bin:/bin", filepath.Join(filepath.Dir(w.project), "home"), "tools/server.js"}
	if shown := shownOf(w.env.Redactor, public...); len(shown) != len(public) {
		t.Errorf("shown are only %q", shown)
	}

	w.env.Redactor = &secret.Redactor{}
	if err := os.Remove(w.path("srv.sh")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.check(); err == nil {
		t.Fatal("it may start")
	}
	if shown := shownOf(w.env.Redactor, "argument-value", "file-value", "literal-token"); shown != nil {
		t.Errorf("not told before the failure: %q", shown)
	}
}

// An error that quotes an expanded argument is harmless once it was cleaned.
func TestErrorsCanBeCleaned(t *testing.T) {
	w := newWorld(t)
	w.env.Redactor = &secret.Redactor{}
	outside := filepath.Join(filepath.Dir(w.project), "outside-secret")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.allow(w.srv)
	w.env.Agent = []string{"SECRET=agent-value", "ROOT_ARG=../outside-secret"}
	_, err := w.check()
	if err == nil || !strings.Contains(err.Error(), "outside-secret") {
		t.Fatalf("%v", err)
	}
	if got := w.env.Redactor.Text(err.Error()); strings.Contains(got, "outside-secret") || !strings.Contains(got, "leads out of the project") {
		t.Errorf("%s", got)
	}
}

// Learn runs nothing and reads no entry of `secrets:`.
func TestLearn(t *testing.T) {
	w := newWorld(t)
	ran := w.path("ran")
	w.env.Redactor = &secret.Redactor{}
	w.env.Hub = append(w.env.Hub, "HUB_TOKEN=hub-value", "LISTED=listed-value")
	w.env.Secrets = secret.NewStore(map[string]string{"STORED": "cmd:touch " + ran})
	srv := w.server("mine", "")
	srv.Scope, srv.Source, srv.EnvFile = config.User, filepath.Join(w.dirs.Config, "mcp.yaml"), ""
	srv.Args = []string{"${MISSING}", "--password=${HUB_TOKEN}x", "--secret=literal-secret"}
	srv.Env = []config.EnvVar{{Name: "A", Value: "${STORED}"}, {Name: "B", Value: "${HUB_TOKEN}"}, {Name: "C", Value: "literal-value"}}
	srv.InheritEnv = secret.Inherit{Mode: "list", Names: []string{"LISTED"}}
	Learn(srv, w.env, "")
	if shown := shownOf(w.env.Redactor, "hub-value", "listed-value", "literal-value", "literal-secret"); shown != nil {
		t.Errorf("not told: %q", shown)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command of secrets: was run")
	}
}
