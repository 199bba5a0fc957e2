package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// world is a scratch home with one project that declares one server.
type world struct {
	t       testing.TB
	dirs    state.Dirs
	project string
	srv     *config.Server
	env     *Environ
	store   *Store
}

const script = "#!/bin/true\n# first\n"

func newWorld(t testing.TB) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, project: filepath.Join(base, "project")}
	w.dirs = state.Dirs{Config: filepath.Join(base, "config"), State: filepath.Join(base, "state"), Cache: filepath.Join(base, "cache")}
	for _, dir := range []string{w.dirs.Config, filepath.Join(w.project, "tools"), filepath.Join(base, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("srv.sh", script, 0o755)
	w.write("tools/server.js", "serve()\n", 0o644)
	w.write("conf.json", "{}\n", 0o644)
	w.write("server.env", "FROM_FILE=f\n", 0o600)
	w.srv = w.server("docs", w.project)
	w.env = &Environ{Hub: []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(base, "home"), "LANG=C", "POSTERN_TOKEN=x", "GODEBUG=x=1"},
		Agent: []string{"SECRET=s3cret", "OTHER=o", "ROOT_ARG=one"}}
	w.store = NewStore(w.dirs)
	return w
}

// server is a declaration in project, with a digest over everything that
// package config would put into it.
func (w *world) server(id, project string) *config.Server {
	return redigest(&config.Server{
		ID: id, Original: id, Scope: config.Project, Source: filepath.Join(project, ".mcp.json"), Project: project,
		Command: "./srv.sh", Args: []string{"tools/server.js", "--config=conf.json", "${ROOT_ARG}"},
		Env: []config.EnvVar{{Name: "TOKEN", Value: "${SECRET}"}, {Name: "FILE", Value: "${FROM_FILE}"}}, EnvFile: "server.env",
		Enabled: true, Shared: true, Class: config.ClassUnknown,
	})
}

func redigest(s *config.Server) *config.Server {
	text := s.Original + s.Source + s.Command + s.CWD + s.EnvFile
	for _, a := range s.Args {
		text += "\x00" + a
	}
	for _, e := range s.Env {
		text += "\x00" + e.Name + "=" + e.Value
	}
	sum := sha256.Sum256([]byte(text))
	s.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return s
}

func (w *world) path(rel string) string { return filepath.Join(w.project, rel) }

func (w *world) write(rel, text string, mode os.FileMode) {
	w.t.Helper()
	if err := os.WriteFile(w.path(rel), []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) records() *Records {
	w.t.Helper()
	r, err := w.store.Records(w.project)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// allow approves srv as a person would: what is described is what is written.
func (w *world) allow(srv *config.Server, env ...string) {
	w.t.Helper()
	d := Describe(w.records(), srv, w.env)
	rec, err := d.Approval(config.ClassRead, env, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Allow(context.Background(), w.dirs, rec); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) check() (*Approved, error) { return Check(w.records(), w.srv, w.env) }

func (w *world) approved() *Approved {
	w.t.Helper()
	a, err := w.check()
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// user is a server of the user's own file.
func (w *world) user(command string) *config.Server {
	return &config.Server{ID: "mine", Scope: config.User, Source: filepath.Join(w.dirs.Config, "mcp.yaml"), Command: command,
		Enabled: true, Shared: true, Class: config.ClassExecute, Digest: "sha256:x", InheritEnv: secret.Inherit{Mode: "safe"}}
}

func wantNotTrusted(t *testing.T, err error, status Status) {
	t.Helper()
	e, ok := err.(*NotTrustedError)
	if !ok || e.Status != status {
		t.Fatalf("got %v, want not trusted: %s", err, status)
	}
}
