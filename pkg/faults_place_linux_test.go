package pkg

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"postern/pkg/mcptest"
)

// smallDisk puts a file system of that many bytes at a folder of the home. It
// skips the test where that is not possible: TestFaultFileLimit is for there.
func (f *fault) smallDisk(name string, size int) {
	f.t.Helper()
	path := f.path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := syscall.Mount("postern-test", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		f.t.Skipf("no file system of its own: %v", err)
	}
	f.t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

// fill takes all the space there is at a folder and returns how to give it back.
func (f *fault) fill(name string) (release func()) {
	f.t.Helper()
	path := filepath.Join(f.path(name), "ballast")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 4096); ; {
		if _, err := file.Write(block); err != nil {
			return func() { _ = os.Remove(path) }
		}
	}
}

// counted wants each of n calls to have a row or to be counted by the row that
// came after it.
func (f *fault) counted(rows []row, n int) {
	f.t.Helper()
	lost := 0
	for _, r := range rows {
		lost += r.Dropped
	}
	if len(rows)+lost != n {
		f.t.Errorf("%d rows and %d counted as lost of %d calls", len(rows), lost, n)
	}
}

// With a full disk behind the state, calls go on as before. When there is room
// again rows are written again: the one that broke off is whole, and the lost
// ones are counted (C6, C80, C82, MB-184).
func TestFaultDiskFull(t *testing.T) {
	f := newFault(t, "a", "b [-fault, stderr=100000]")
	f.smallDisk(".local/state/postern", 300<<10)
	a := f.agent()
	f.call(a, "a__echo", "")
	f.call(a, "b__echo", "")
	for range 3 {
		release := f.fill(".local/state/postern")
		for range 15 {
			f.call(a, "a__echo", `,"x":"`+strings.Repeat("x", 300)+`"`)
		}
		f.call(a, "b__write", `,"line":"more","times":1000,"stderr":true,"answer":true`)
		release()
		for range 5 {
			f.call(a, "a__echo", "")
		}
	}
	rows := f.sound(a)
	f.counted(rows, 65)
	if n := len(rows); n < 17 || n == 65 {
		t.Errorf("%d rows: the disk was never full, or never had room again", n)
	}
}

// mcp-call makes its call and says that there is no row of it. What broke off
// when it ended is ended by the next writer, and damages no other row (C82).
func TestFaultDiskFullAtTheEnd(t *testing.T) {
	f := newFault(t, "a")
	f.smallDisk(".local/state/postern", 64<<10)
	f.run(0, "mcp-call", "a", "echo", "n:=-1")
	release := f.fill(".local/state/postern")
	lost := 0
	for i := range 12 { // there is room in the last block of the file for some rows
		out, said := f.run(0, "mcp-call", "a", "echo", fmt.Sprintf("n:=%d", i))
		if !strings.Contains(out, strconv.Itoa(i)) {
			t.Errorf("%q, and said: %s", out, said)
		}
		if strings.Contains(said, "call log") || strings.Contains(said, "not logged") {
			lost++
		}
	}
	release()
	f.run(0, "mcp-call", "a", "echo", "n:=-2")
	f.torn = 1
	if rows := f.sound(); lost == 0 || len(rows)+lost != 14 {
		t.Errorf("%d rows and %d said to be lost of 14 calls", len(rows), lost)
	}
}

// With a full disk behind the cache the last good list stays, and it is said
// that no other could be recorded (C71, MB-107).
func TestFaultCacheFull(t *testing.T) {
	f := newFault(t, "a [-tools, $HOME/tools.json]")
	list := func(n, size int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(`{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("d", size)))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	f.write("tools.json", list(2, 10))
	f.smallDisk(".cache/postern", 64<<10)
	f.run(0, "mcp-catalog", "refresh")
	f.write("tools.json", list(5, 20_000))
	if _, said := f.run(6, "mcp-catalog", "refresh"); !strings.Contains(said, "space") {
		t.Errorf("said: %s", said)
	}
	out, _ := f.run(0, "mcp-catalog", "tools")
	if n := strings.Count(out, "\n"); n != 2 {
		t.Errorf("%d tools are recorded: %s", n, out)
	}
	a := f.agent()
	f.call(a, "a__t0", "")
	f.call(a, "a__t4", "") // of the running server it is known, recorded or not
	if got := a.Ask("tools/list", ""); bytes.Count(got, []byte(`"name":`)) != 5 {
		t.Errorf("%.300s", got)
	}
	f.sound(a)
	left, _ := filepath.Glob(f.path(".cache/postern/catalogs/*"))
	for _, name := range left {
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".failed") {
			t.Errorf("left: %s", name)
		}
	}
}

// limited is a command under one of the limits of ulimit.
func (f *fault) limited(limit, name string, args ...string) *exec.Cmd {
	c := f.command("sh", append([]string{"-c", `ulimit ` + limit + ` && exec "$0" "$@"`, filepath.Join(f.bin, name)}, args...)...)
	c.Path = "/bin/sh"
	return c
}

// A file that must not grow is a full disk too, where no file system of its own
// can be had.
func TestFaultFileLimit(t *testing.T) {
	f := newFault(t, "a")
	a := mcptest.Start(t, f.limited("-f 128", "mcp-serve", "--no-hub")) // 64 KiB in sh, 128 in others
	a.Initialize()
	for range 40 {
		f.call(a, "a__echo", `,"x":"`+strings.Repeat("x", 3500)+`"`)
	}
	a.Close()
	if !strings.Contains(a.Stderr(), "rows of the call log") {
		t.Errorf("said: %s", a.Stderr())
	}
	f.run(0, "mcp-call", "a", "echo", "n:=-1")
	f.torn = 1
	if rows := f.sound(); len(rows) < 2 || len(rows) > 40 {
		t.Errorf("%d rows", len(rows))
	}
}

// A home that cannot be written: calls are made, without log and cache, and each
// is said once (C6, MB-184).
func TestFaultReadOnlyHome(t *testing.T) {
	f := newFault(t, "a", "b")
	f.run(0, "mcp-catalog", "refresh", "a")
	f.readOnly()
	a := f.agent()
	if got := a.Ask("tools/list", ""); bytes.Count(got, []byte(`"name":`)) != 34 {
		t.Errorf("%.300s", got)
	}
	for range 3 {
		f.call(a, "a__echo", "")
		f.call(a, "b__echo", "")
	}
	if status := a.Close(); status != 0 {
		t.Errorf("ended with %d", status)
	}
	said := a.Stderr()
	if strings.Count(said, "not logged") != 1 || strings.Count(said, "\n") > 4 {
		t.Errorf("said: %s", said)
	}
	f.run(0, "mcp-call", "a", "echo", "n:=-1")
	f.run(0, "mcp-catalog", "tools")
	f.run(0, "mcp-log")
	if n := len(f.executed()); n != 7 {
		t.Errorf("%d executions of 7 calls", n)
	}
	f.nothingLeft()
}

// MB-184: files stand where the folders for state and cache should be, or nobody
// says where they are. The first costs log and cache only; of the second it is
// said what to set.
func TestFaultNoPlaces(t *testing.T) {
	f := newFault(t, "a")
	f.write(".local/state/postern", "no folder")
	f.write(".cache/postern", "no folder")
	a := f.agent()
	f.call(a, "a__echo", "")
	a.Close()
	if said := a.Stderr(); strings.Count(said, "not a directory") != 2 || strings.Count(said, "\n") > 3 {
		t.Errorf("said: %s", said)
	}
	f.run(0, "mcp-call", "a", "echo", "n:=-1")
	if n := len(f.executed()); n != 2 {
		t.Errorf("%d executions", n)
	}
	f.nothingLeft()
	f.env = []string{"PATH=/usr/bin", "HOME=somewhere"}
	if _, said := f.run(1, "mcp-serve"); !strings.Contains(said, "HOME is") || !strings.Contains(said, "set POSTERN_CONFIG_DIR") {
		t.Errorf("said: %s", said)
	}
}

// readOnly makes the home a file system that cannot be written, all but the
// events; without the right to mount, its folders have no write permission.
func (f *fault) readOnly() {
	f.t.Helper()
	if os.Geteuid() != 0 {
		for _, name := range []string{".local/state/postern", ".local/state", ".local", ".cache/postern/catalogs", ".cache/postern", ".cache", "."} {
			if err := os.Chmod(f.path(name), 0o500); err == nil {
				f.t.Cleanup(func() { _ = os.Chmod(f.path(name), 0o700) })
			}
		}
		return
	}
	if err := syscall.Mount(f.dir, f.dir, "", syscall.MS_BIND, ""); err != nil {
		f.t.Skipf("no read-only file system: %v", err)
	}
	f.t.Cleanup(func() { _ = syscall.Unmount(f.dir, syscall.MNT_DETACH) })
	if err := syscall.Mount("", f.dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		f.t.Skipf("no read-only file system: %v", err)
	}
}

// With few descriptors some servers cannot be started. Each such call says so,
// those that run go on, and nothing is left (MB-045, MB-052).
func TestFaultNoDescriptors(t *testing.T) {
	var servers []string
	for i := range 12 {
		servers = append(servers, fmt.Sprintf("s%d [] restart_delay: 20ms, breaker: {failures: 1000}", i))
	}
	f := newFault(t, servers...)
	a := mcptest.Start(t, f.limited("-n 48", "mcp-serve", "--no-hub", "--list-wait", "0"))
	a.Initialize()
	failed, calls := 0, 0
	for range 3 {
		for i := range servers {
			calls++
			m := a.Expect(f.ask(a, fmt.Sprintf("s%d__echo", i), ""))
			switch word(m) {
			case "":
			case "spawn", "upstream_unavailable", "closed", "unknown_tool":
				failed++
			default:
				t.Errorf("%s", m.Raw)
			}
		}
		f.call(a, "s0__echo", "")
		calls++
	}
	if failed == 0 {
		t.Error("there were descriptors enough")
	}
	rows := f.sound(a)
	f.counted(rows, calls)
}

// Six agents and some shells at once use the same home, whose servers were never
// listed. Two of the agents are killed in the middle. Everybody else's calls are
// made once, and every row is whole (C80, MB-226).
func TestFaultManyAgents(t *testing.T) {
	f := newFault(t, "a", "b [-fault, grandchild=session]")
	agents := make([]*mcptest.Agent, 6)
	for i := range agents {
		agents[i] = mcptest.Start(t, f.command("mcp-serve"))
	}
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() { // ends with its answers, each bounded; the killed ones' do not come
			a.BeginInitialize()
			a.Request("tools/list", "")
			var ids []string
			for range 20 {
				ids = append(ids, f.ask(a, "a__echo", `,"x":"`+strings.Repeat("x", 2000)+`"`), f.ask(a, "b__slow", `,"ms":20`))
			}
			if i < 2 {
				mcptest.Eventually(func() bool { return len(a.Lines()) > 5 })
				_ = syscall.Kill(a.PID(), syscall.SIGKILL)
				return
			}
			for _, id := range ids {
				if m := a.Expect(id); word(m) != "" {
					t.Errorf("agent %d: %s", i, m.Raw)
				}
			}
		})
	}
	for i := range 4 {
		wg.Go(func() { // ends with its command
			c := f.command("mcp-call", "a", "echo", fmt.Sprintf("n:=%d", -1-i))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("mcp-call: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
	rows := f.sound(agents[2:]...)
	ok := 0
	for _, r := range rows {
		if r.Outcome == "ok" {
			ok++
		}
	}
	if ok < 164 {
		t.Errorf("%d rows of calls that were answered, want at least 164", ok)
	}
}
