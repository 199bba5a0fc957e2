package mcptest

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// Name is the name of the fake server's command.
	Name = "fake-server"
	// Bound is how long anything here waits for what must come.
	Bound = 20 * time.Second

	serverVariable = "MCPTEST_FAKE_SERVER" // path of the copy Main made
)

// Main is the TestMain of a package that starts fake servers: the process is one
// when it was started under that name, else it runs the tests. It exits.
func Main(m *testing.M) {
	if isServer() {
		runServer()
	}
	dir, err := os.MkdirTemp("", "mcptest")
	if err == nil {
		err = copySelf(dir)
	}
	if err != nil {
		_, _ = io.WriteString(os.Stderr, "mcptest: "+err.Error()+"\n")
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Commands is for testscript.Main: the command fake-server.
func Commands() map[string]func() { return map[string]func(){Name: runServer} }

// FakeServerCommand returns the absolute path of an executable that is the fake
// server, the same for the whole process; Main has made it.
func FakeServerCommand(t testing.TB) string {
	t.Helper()
	path := os.Getenv(serverVariable)
	if path == "" {
		t.Fatal("mcptest: TestMain must call mcptest.Main")
	}
	return path
}

// runServer leaves without os.Exit: a race-enabled process would wait a second
// in it, longer than a gateway waits for a server to end.
func runServer() { syscall.Exit(Server(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func isServer() bool {
	for _, name := range []string{os.Args[0], executable()} {
		if strings.TrimSuffix(filepath.Base(name), ".exe") == Name {
			return true
		}
	}
	return false
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// copySelf copies the test binary. It happens before any test: a child forked
// meanwhile would hold the copy open for writing, and executing it would fail.
func copySelf(dir string) (err error) {
	name := Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	in, err := os.Open(executable())
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Setenv(serverVariable, path)
}
