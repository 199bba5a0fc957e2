package trust

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// C30: of a name that an environment has twice the last one counts, and a name
// is not confused with one that begins with it.
func TestVariables(t *testing.T) {
	get := variables([]string{"A=1", "AB=2", "A=3", "EMPTY=", "broken"})
	for name, want := range map[string]string{"A": "3", "AB": "2", "EMPTY": ""} {
		if got, ok := get(name); got != want || !ok {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"B", "broken", ""} {
		if got, ok := get(name); ok {
			t.Errorf("%q is %q", name, got)
		}
	}
}

// An env_file that cannot be used makes the server unavailable, with the file
// named and nothing of its content told.
func TestBadEnvFile(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"absent":    func(w *world) { _ = os.Remove(w.path("server.env")) },
		"empty":     func(w *world) { w.write("server.env", "", 0o600) },
		"no syntax": func(w *world) { w.write("server.env", "s3cret without a name\n", 0o600) },
		"large":     func(w *world) { w.write("server.env", "A="+strings.Repeat("x", config.MaxEnvFile), 0o600) },
		"directory": func(w *world) { w.srv.EnvFile = "tools" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.allow(w.srv)
			spoil(w)
			w.srv.Digest = w.records().All()[0].Digest
			_, err := w.check()
			if name == "empty" {
				// FROM_FILE is then missing, which is an error of its own.
				if err == nil {
					t.Error("it may start")
				}
				return
			}
			var e *UnavailableError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "env_file") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// C30: references are expanded in the command, the arguments, the variables and the
// directory alike, and nothing else of a text is touched.
func TestExpandedEverywhere(t *testing.T) {
	w := newWorld(t)
	w.env.Hub = append(w.env.Hub, "BIN="+w.project, "SUB=tools", "KEY=a b")
	mine := w.user("${BIN}/srv.sh")
	mine.Args, mine.CWD = []string{"--key=${KEY}$$", "${SUB}${SUB}"}, "${BIN}/${SUB}"
	mine.Env = []config.EnvVar{{Name: "AUTH", Value: "Bearer ${KEY}"}}
	a, err := Check(w.records(), mine, w.env)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch()
	if err != nil || l.Path != w.path("srv.sh") || l.Dir != w.path("tools") || !slices.Equal(l.Args, []string{"--key=a b$", "toolstools"}) ||
		!slices.Contains(l.Env, "AUTH=Bearer a b") {
		t.Errorf("launch is %+v, %v", l, err)
	}
}

// C5: the user's own env_file is believed only when nobody else can write it.
func TestUserEnvFile(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.dirs.Config, "mine.env")
	if err := os.WriteFile(file, []byte("KEY=value\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := w.user("/bin/true")
	mine.EnvFile, mine.Args = "mine.env", []string{"--key=${KEY}"}
	a, err := Check(w.records(), mine, w.env)
	if err != nil || a.SecretOrigins()["KEY"] != secret.FromEnvFile {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	var e *UnavailableError
	if _, err := Check(w.records(), mine, w.env); !errors.As(err, &e) || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("got %v", err)
	}
}

// C30: a default is used only for what is missing, and is told as such.
func TestDefaults(t *testing.T) {
	w := newWorld(t)
	mine := w.user("/bin/true")
	mine.Args = []string{"${LANG:-x}", "${NOTHING:-${ALSO_NOTHING:-deep}}", "$$5"}
	a, err := Check(w.records(), mine, w.env)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch()
	if err != nil || !slices.Equal(l.Args, []string{"C", "deep", "$5"}) {
		t.Errorf("args are %q, %v", l.Args, err)
	}
	if got := a.SecretOrigins(); got["LANG"] != secret.FromEnvironment || got["NOTHING"] != secret.FromDefault {
		t.Errorf("origins are %v", got)
	}
}

// C32: what a child inherits, by mode; what never passes.
func TestInheritance(t *testing.T) {
	w := newWorld(t)
	launch := func(change func(*config.Server)) []string {
		t.Helper()
		mine := w.user("/bin/true")
		change(mine)
		a, err := Check(w.records(), mine, w.env)
		if err != nil {
			t.Fatal(err)
		}
		l, err := a.Launch()
		if err != nil {
			t.Fatal(err)
		}
		return l.Env
	}
	mark := "POSTERN_DEPTH=1"
	if got := launch(func(s *config.Server) { s.InheritEnv.Mode = "none" }); !slices.Equal(got, []string{mark}) {
		t.Errorf("none: %q", got)
	}
	listed := secret.Inherit{Mode: "list", Names: []string{"LANG", "OTHER", "SECRET", "POSTERN_TOKEN"}}
	got := launch(func(s *config.Server) { s.InheritEnv, s.AgentEnv = listed, []string{"OTHER"} })
	if !slices.Equal(got, []string{"LANG=C", "OTHER=o", mark}) {
		t.Errorf("list: %q", got)
	}
	got = launch(func(s *config.Server) { s.Env = []config.EnvVar{{Name: "LANG", Value: "de"}} })
	if !slices.Contains(got, "LANG=de") || slices.Contains(got, "LANG=C") {
		t.Errorf("declared over inherited: %q", got)
	}
	for _, name := range []string{"POSTERN_DEPTH", "GODEBUG"} {
		mine := w.user("/bin/true")
		mine.Env = []config.EnvVar{{Name: name, Value: "0"}}
		var e *UnavailableError
		if _, err := Check(w.records(), mine, w.env); !errors.As(err, &e) {
			t.Errorf("%s may be set: %v", name, err)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	w := newWorld(t)
	sub := filepath.Join(w.dirs.Config, "sub")
	if err := errors.Join(os.Mkdir(sub, 0o700), os.Symlink(sub, filepath.Join(w.dirs.Config, "link"))); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{
		"": filepath.Join(filepath.Dir(w.project), "home"), "sub": sub, "link": sub, "${WHERE}": w.project, sub + "/..": w.dirs.Config,
	} {
		mine := w.user("/bin/true")
		mine.CWD, mine.AgentEnv = cwd, []string{"WHERE"}
		w.env.Agent = []string{"WHERE=" + w.project}
		a, err := Check(w.records(), mine, w.env)
		if err != nil {
			t.Errorf("%q: %v", cwd, err)
			continue
		}
		if l, err := a.Launch(); err != nil || l.Dir != want {
			t.Errorf("%q leads to %s, %v; want %s", cwd, l.Dir, err, want)
		}
	}
	for _, cwd := range []string{"absent", filepath.Join(w.project, "conf.json")} {
		mine := w.user("/bin/true")
		mine.CWD = cwd
		var e *UnavailableError
		if _, err := Check(w.records(), mine, w.env); !errors.As(err, &e) {
			t.Errorf("%q: %v", cwd, err)
		}
	}
	mine := w.user("/bin/true")
	w.env.Hub = []string{"PATH=/bin"}
	if _, err := Check(w.records(), mine, w.env); err == nil {
		t.Error("without HOME and cwd it starts somewhere")
	}
}

// No error of a refused server holds a value, whatever is wrong with it (C31).
func TestErrorsHoldNoValues(t *testing.T) {
	w := newWorld(t)
	w.env.Agent = []string{"SECRET=s3cret", "ROOT_ARG=s3cret"}
	for name, change := range map[string]func(*config.Server){
		"argument": func(s *config.Server) { s.Args = []string{"${SECRET}", "${MISSING}"} },
		"default":  func(s *config.Server) { s.Args = []string{"${MISSING:-${SECRET}${MISSING}}"} },
		"env":      func(s *config.Server) { s.Env = []config.EnvVar{{Name: "A", Value: "${SECRET}${MISSING}"}} },
	} {
		mine := w.user("/bin/true")
		mine.AgentEnv = []string{"SECRET"}
		change(mine)
		_, err := Check(w.records(), mine, w.env)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The whole way: a real binary copied into the project, approved, started by
// its descriptor.
func TestStartByDescriptor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux starts by descriptor")
	}
	w := newWorld(t)
	data, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Skip(err)
	}
	w.write("tool", string(data), 0o755)
	w.srv.Command, w.srv.Args, w.srv.Env = "./tool", []string{"hello"}, nil
	redigest(w.srv)
	w.allow(w.srv)
	l, err := w.approved().Launch()
	if err != nil {
		t.Fatal(err)
	}
	if l.File == nil {
		t.Skip("echo is a script here")
	}
	defer l.File.Close()
	cmd := exec.Command("/proc/self/fd/3", l.Args...)
	cmd.Args[0], cmd.Env, cmd.Dir, cmd.ExtraFiles = "echo", l.Env, l.Dir, []*os.File{l.File}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
}
