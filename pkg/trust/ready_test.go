package trust

import (
	"errors"
	"os"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// R66, C30, C34: what keeps a server from being started, found without starting
// or running anything.
func TestReady(t *testing.T) {
	w := newWorld(t)
	ran := w.path("ran")
	stored := map[string]string{"STORED": "cmd:touch " + ran}
	w.env.Secrets = secret.NewStore(stored)
	for name, tt := range map[string]struct {
		change func(s *config.Server)
		want   any
	}{
		"nothing":                {func(*config.Server) {}, nil},
		"no executable":          {func(s *config.Server) { s.Command = "/no/such/program" }, &ExecutableError{}},
		"not in the path":        {func(s *config.Server) { s.Command = "no-such-program" }, &ExecutableError{}},
		"no directory":           {func(s *config.Server) { s.CWD = "/no/such/dir" }, &UnavailableError{}},
		"a variable of args":     {func(s *config.Server) { s.Args = []string{"${MISSING}"} }, &UnavailableError{}},
		"a variable of env":      {func(s *config.Server) { s.Env = []config.EnvVar{{Name: "A", Value: "${MISSING}"}} }, &UnavailableError{}},
		"a secret in env":        {func(s *config.Server) { s.Env = []config.EnvVar{{Name: "A", Value: "${STORED}"}} }, nil},
		"a secret in command":    {func(s *config.Server) { s.Command = "/${STORED}" }, nil},
		"a secret and a missing": {func(s *config.Server) { s.Args = []string{"${STORED}", "${MISSING}"} }, &UnavailableError{}},
		"no env_file":            {func(s *config.Server) { s.EnvFile = "gone.env" }, &UnavailableError{}},
		"a project's":            {func(s *config.Server) { s.Scope, s.Command = config.Project, "/no/such/program" }, nil},
	} {
		srv := w.user("/bin/true")
		tt.change(srv)
		err := Ready(srv, w.env, "", stored)
		var unavailable *UnavailableError
		var executable *ExecutableError
		good := err == nil
		switch tt.want.(type) {
		case *UnavailableError:
			good = errors.As(err, &unavailable)
		case *ExecutableError:
			good = errors.As(err, &executable)
		}
		if !good {
			t.Errorf("%s: %v", name, err)
		}
	}
	self := *w.env // C23: it is told before anyone calls it
	self.Self = []string{w.path("postern")}
	w.write("postern", "#!/bin/true\n", 0o700)
	if err := os.Chmod(w.path("postern"), 0o700); err != nil {
		t.Fatal(err)
	}
	var postern *SelfError
	if err := Ready(w.user(w.path("postern")), &self, "", nil); !errors.As(err, &postern) {
		t.Errorf("postern itself: %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command of secrets: was run")
	}
}
