package hub

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// asClient names the socket that a second process of this test connects to.
const asClient = "POSTERN_TEST_CONNECT"

// R81: who runs as another user is not listened to, even where the folder would let
// it come.
func TestPeerOfAnotherUser(t *testing.T) {
	if path := os.Getenv(asClient); path != "" {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until it is closed
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	dir, err := os.MkdirTemp("", "peer-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "test"), self, 0o700),
			os.Chmod(filepath.Join(dir, "test"), 0o755), os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "s"), 0o666)) // whatever the umask is
	}
	if err != nil {
		t.Fatal(err)
	}
	for uid, refused := range map[uint32]bool{0: false, 65534: true} {
		c := exec.Command(filepath.Join(dir, "test"), "-test.run=^TestPeerOfAnotherUser$")
		c.Dir, c.Env = dir, []string{asClient + "=" + filepath.Join(dir, "s")}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
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
