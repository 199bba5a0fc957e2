package hub

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// asClient names the socket that a second process of this test connects to.
const asClient = "POSTERN_TEST_CONNECT"

// visit is what the second process does: it sends a ping and prints what comes
// until the connection is closed.
func visit(t *testing.T, path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
	_, _ = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") // to one who may not listen
	_ = conn.(*net.UnixConn).CloseWrite()
	_, _ = io.Copy(os.Stdout, conn)
}

// visitor is that process, not started yet, of a user.
func visitor(t *testing.T, uid uint32, socket string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	dir, err := os.MkdirTemp("", "peer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil { // whatever the umask is
		err = errors.Join(os.WriteFile(program, self, 0o700), os.Chmod(program, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^TestPeerOfAnotherUser$")
	c.Dir, c.Env = dir, []string{asClient + "=" + socket}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return c
}

// R81: who runs as another user is told apart by the socket itself.
func TestPeerOfAnotherUser(t *testing.T) {
	if path := os.Getenv(asClient); path != "" {
		visit(t, path)
		return
	}
	dir, err := os.MkdirTemp("", "peer-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(socket, 0o666)); err != nil {
		t.Fatal(err)
	}
	for uid, refused := range map[uint32]bool{0: false, 65534: true} {
		c := visitor(t, uid, socket)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		_ = l.SetDeadline(time.Now().Add(mcptest.Bound))
		conn, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		var unsafe *state.UnsafeError
		if err := checkPeer(conn); errors.As(err, &unsafe) != refused {
			t.Errorf("user %d: %v", uid, err)
		}
		conn.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("user %d: %v", uid, err)
		}
	}
}

// R81: the hub answers its own user and nobody else, even where the folder would
// let others come.
func TestHubHearsItsOwnUser(t *testing.T) {
	dirs := scratch(t)
	h := startHub(t, dirs, "0")
	if err := errors.Join(os.Chmod(filepath.Dir(dirs.Runtime), 0o755), os.Chmod(dirs.Runtime, 0o755), os.Chmod(h.place.Socket, 0o666)); err != nil {
		t.Fatal(err)
	}
	for uid, heard := range map[uint32]bool{0: true, 65534: false} {
		out, err := visitor(t, uid, h.place.Socket).CombinedOutput()
		if err != nil {
			t.Fatalf("user %d: %v\n%s", uid, err, out)
		}
		if strings.Contains(string(out), `"id":1`) != heard {
			t.Errorf("user %d was told %s", uid, out)
		}
	}
}
