//go:build unix

package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain makes this binary a second process that takes a lock, says so, and
// keeps it until its input ends.
func TestMain(m *testing.M) {
	if path := os.Getenv("STATE_TEST_LOCK"); path != "" {
		os.Exit(holdLock(path))
	}
	os.Exit(m.Run())
}

func holdLock(path string) int {
	take := Lock
	if os.Getenv("STATE_TEST_HELD") != "" {
		take = noFlock
	}
	if _, err := take(context.Background(), path); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0 // without unlocking: the lock must not outlive the process
}

// noFlock is Lock on a file system without flock.
func noFlock(ctx context.Context, path string) (func() error, error) {
	return lock(ctx, path, func(*os.File) (bool, error) { return false, unix.ENOTSUP })
}

// holder starts the second process; release ends it and waits for it.
func holder(t *testing.T, path string, held bool) (pid int, release func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STATE_TEST_LOCK="+path)
	if held {
		cmd.Env = append(cmd.Env, "STATE_TEST_HELD=1")
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release = func() { _ = stdin.Close(); _ = cmd.Wait() }
	t.Cleanup(release)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd.Process.Pid, release
}

func TestLockExcludesOtherProcesses(t *testing.T) { // C4
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held=%v", held), func(t *testing.T) {
			take := Lock
			if held {
				take = noFlock
			}
			path := filepath.Join(t.TempDir(), "f.lock")
			pid, release := holder(t, path, held)

			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			if _, err := take(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want the end of the context", err)
			}
			file := path
			if held {
				file += ".held"
			}
			if got := holderOf(file); got != pid {
				t.Errorf("the holder is %d, want %d", got, pid)
			}
			release()
			unlock, err := take(context.Background(), path)
			if err != nil {
				t.Fatalf("after the holder died: %v", err)
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the lock file is gone: %v", err)
			}
			if leftover, _ := filepath.Glob(path + ".held*"); leftover != nil {
				t.Errorf("left behind: %v", leftover)
			}
		})
	}
}

func TestLockGivesUp(t *testing.T) { // C4: 5 s, and who holds it
	path := filepath.Join(t.TempDir(), "f.lock")
	unlock, err := Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := Lock(context.Background(), path)
		var locked *LockedError
		if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != path {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begin); d < lockWait || d > lockWait+lockEvery {
			t.Errorf("it took %v", d)
		}
	})
}

func TestLockRefusesASymlink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.lock")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(context.Background(), path); err == nil {
		t.Error("a lock was taken through a symlink")
	}
}

func TestAbandoned(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	dead, me, here := cmd.Process.Pid, os.Getpid(), bootID()
	now := time.Now()
	fresh := Stamp{inode: 1, mtime: now.UnixNano()}
	old := Stamp{inode: 1, mtime: now.Add(-2 * lockOld).UnixNano()}
	for _, tt := range []struct {
		name, content string
		stamp         Stamp
		want          bool
	}{
		{"gone", "", Stamp{}, false},
		{"being written", "", fresh, false},
		{"left unwritten", "", old, true},
		{"no number", "x y", fresh, false},
		{"alive", fmt.Sprintf("%d %s\n", me, here), fresh, false},
		{"alive for long", fmt.Sprintf("%d %s\n", me, here), old, false},
		{"dead", fmt.Sprintf("%d %s\n", dead, here), fresh, true},
		{"of another machine", fmt.Sprintf("%d elsewhere\n", dead), fresh, false},
		{"of another boot", fmt.Sprintf("%d earlier\n", me), old, true},
	} {
		if got := abandoned(tt.content, tt.stamp, now); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func FuzzHolder(f *testing.F) {
	for _, seed := range []string{"", "1\n", "17 boot\n", "-3 x", "99999999999999999999 y", "1 2 3", "\x00"} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "lock")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid := holderOf(path); pid < 0 {
			t.Errorf("%q names process %d", content, pid)
		}
		s := Stamp{inode: 1, mtime: time.Now().UnixNano()}
		if abandoned(content, s, time.Now()) && !strings.Contains(content, bootID()) {
			t.Errorf("%q of just now counts as abandoned", content)
		}
	})
}

func TestShellWord(t *testing.T) {
	for _, path := range []string{"/plain/a-b_c.d", "/with space", "/it's", "/$HOME", "/a;b", "/-n", "", "/é", "/new\nline", `/back\slash`, "/*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(path)).Output()
		if err != nil || string(out) != path {
			t.Errorf("%q becomes %s, which is %q, %v", path, shellWord(path), out, err)
		}
	}
}
