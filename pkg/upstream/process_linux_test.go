package upstream

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
	"postern/pkg/trust"
)

// server is the options for a fake server with these arguments, and the file of
// its events.
func server(t testing.TB, args ...string) (Options, string) {
	t.Helper()
	dir := t.TempDir()
	events := filepath.Join(dir, "events")
	path := mcptest.FakeServerCommand(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Server: "demo", StartTimeout: patience, MaxMessage: 4 << 20, MaxQueue: 4 << 20,
		StderrLog: filepath.Join(dir, "log", "demo.log"), Mark: "test" + strings.ReplaceAll(dir, "/", "."),
		Launch: trust.Launch{Path: path, File: f, Args: append([]string{"-events", events, "-life", "60s"}, args...), Env: []string{"PATH=/bin:/usr/bin", "A=1"}},
	}, events
}

func mustStart(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// alive is whether a process runs; a zombie does not.
func alive(pid int) bool {
	s, err := proc.Look(pid)
	return err == nil && !s.Ended()
}

func waitDead(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); alive(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

// zombies counts this process's children that nobody waited for.
func zombies() (n int) {
	for _, s := range proc.Below(os.Getpid()) {
		if s.Parent == os.Getpid() && s.Ended() {
			n++
		}
	}
	return n
}

func call(t testing.TB, c *Client, tool, args string) string {
	t.Helper()
	r, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"` + tool + `","arguments":` + args + `}`), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Message.Raw)
}

// R10, R13: a real process: its session, environment, arguments, descriptors;
// a context that ends after the start changes nothing (MB-038).
func TestProcess(t *testing.T) {
	o, events := server(t, "-instructions", "Hi.")
	o.Launch.Env = append(o.Launch.Env, "POSTERN_INSTANCE=another's")
	o.Launch.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	i := c.Info()
	if i.Protocol != latestLegacy || i.Era != EraLegacy || i.Instructions != "Hi." {
		t.Errorf("got %+v", i)
	}
	env := call(t, c, "env", "{}")
	for _, want := range []string{`"A":"1"`, `"POSTERN_INSTANCE":"` + o.Mark + `"`, o.Launch.Dir, `"ppid":` + strconv.Itoa(os.Getpid())} {
		if !strings.Contains(env, want) {
			t.Errorf("%s lacks %s", env, want)
		}
	}
	if strings.Contains(env, "another's") || strings.Contains(env, "HOME=") {
		t.Errorf("environment is not what was approved: %s", env)
	}
	sid, err := unix.Getsid(i.PID)
	if err != nil || sid != i.PID {
		t.Errorf("session %d of process %d, %v: it shares our terminal (MB-040)", sid, i.PID, err)
	}
	checkDescriptors(t, i.PID)
	if _, err := o.Launch.File.Stat(); err == nil {
		t.Error("the executable was left open")
	}
	td := c.Close()
	if want := (Teardown{Complete: true, PGID: i.PID, BoundMS: 5850, Exit: "exit status 0"}); td != want {
		t.Errorf("got %+v, want %+v", td, want)
	}
	if again := c.Close(); again != td {
		t.Errorf("second Close: %+v", again)
	}
	if len(mcptest.Events(t, events, "clean")) != 1 {
		t.Error("stdin was not closed first (MB-034)")
	}
	if f := failure(t, c.Err(), Aborted); f.Exit != "" {
		t.Errorf("cause %+v", f)
	}
	_, err = c.Do(t.Context(), Call{Method: "x"})
	if f := failure(t, err, Aborted); f.Sent {
		t.Error("a call after Close counts as sent")
	}
}

// checkDescriptors is that the child has its three pipes and nothing of ours.
func checkDescriptors(t *testing.T, pid int) {
	t.Helper()
	ours, theirs := pipesOf(t, os.Getpid()), pipesOf(t, pid)
	if len(theirs) != 3 {
		t.Errorf("the child has %d pipes: %v", len(theirs), theirs)
	}
	for p := range theirs {
		if !ours[p] {
			t.Errorf("%s of the child is not ours", p)
		}
	}
}

func pipesOf(t *testing.T, pid int) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, e := range entries {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); err == nil && strings.HasPrefix(to, "pipe:") {
			set[to] = true
		}
	}
	return set
}

// R10: what was hashed is what runs, whatever took its place meanwhile.
func TestExecutesWhatWasOpened(t *testing.T) {
	o, _ := server(t)
	path := filepath.Join(t.TempDir(), mcptest.Name)
	if err := os.Link(o.Launch.Path, path); err != nil {
		t.Skip(err)
	}
	o.Launch.Path = path
	other := filepath.Join(filepath.Dir(path), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\nexit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	mustStart(t, o)
}

// What was hashed is executed through /proc: without it that is said, and not that
// something of the program is missing.
func TestExecutesWithoutProc(t *testing.T) {
	const variable, hide = "UPSTREAM_TEST_NO_PROC", "mount -t tmpfs none /proc"
	if os.Getenv(variable) != "" {
		o, _ := server(t)
		if p, err := start(t.Context(), o.Launch, o.Mark); p != nil || err == nil || !strings.Contains(err.Error(), "/proc is not mounted") {
			t.Errorf("%v", err)
		}
		return
	}
	if out, err := exec.Command("unshare", "-rm", "sh", "-c", hide).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	c := exec.Command("unshare", "-rm", "sh", "-c", hide+` && exec "$0" -test.run='^TestExecutesWithoutProc$' -test.v`, os.Args[0])
	c.Env = append(os.Environ(), variable+"=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestExecutesWithoutProc") {
		t.Errorf("%v: %s", err, out)
	}
}

// R10: the descriptor of the executable is not lost among those that the forked
// child shuffles, whichever number it has.
func TestExecDescriptorNumbers(t *testing.T) {
	for range 8 {
		o, _ := server(t)
		mustStart(t, o).Close()
		f, err := os.Open(os.DevNull) // shifts the numbers
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
}

// MB-045: each way not to start has words of its own.
func TestSpawnErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/tmp", link); err != nil {
		t.Fatal(err)
	}
	ok := write("ok", "#!/bin/sh\n", 0o700)
	for _, tc := range []struct{ path, dir, want string }{
		{filepath.Join(dir, "absent"), "", "no such file"},
		{dir, "", "is a directory"},
		{write("plain", "#!/bin/sh\n", 0o600), "", "is not executable"},
		{write("lost", "#!/no/such/interpreter\n", 0o700), "", "the interpreter or loader it names does not exist"},
		{write("text", "hello\n", 0o700), "", "first line such as #!"},
		{ok, filepath.Join(dir, "absent"), "working directory"},
		{ok, ok, "is not a directory"},
		{ok, link, "leads elsewhere"},
	} {
		_, err := Start(t.Context(), Options{
			Server: "demo", StartTimeout: patience, MaxMessage: 1 << 20, MaxQueue: 1 << 20,
			Launch: trust.Launch{Path: tc.path, Dir: tc.dir},
		})
		f := failure(t, err, Spawn)
		if !strings.Contains(f.Error(), tc.want) || f.Phase != "spawn" || f.Sent {
			t.Errorf("%s: %+v, want %q", tc.path, f, tc.want)
		}
	}
}

// R13, MB-047: a server that ends at once: status and last words, fit to print.
func TestExitAtStart(t *testing.T) {
	o, _ := server(t, "-fault", "stderr=40960", "-fault", "stderr-line=\x1b[31mbad\x1b[0m key \xff!", "-fault", "exit-at-start=7")
	begin := time.Now()
	_, err := Start(t.Context(), o)
	f := failure(t, err, Closed)
	if f.Exit != "exit status 7" || f.Phase != "initialize" || time.Since(begin) > 10*time.Second {
		t.Errorf("after %v: %+v", time.Since(begin), f)
	}
	if len(f.Stderr) == 0 || len(f.Stderr) > 2<<10 || strings.ContainsAny(f.Stderr, "\x1b\r") {
		t.Errorf("stderr %q", f.Stderr)
	}
	log, err := os.ReadFile(o.StderrLog)
	if err != nil || len(log) < 40960 || !strings.Contains(string(log), "ended: exit status 7") {
		t.Errorf("log of %d bytes, %v", len(log), err)
	}
	if n := zombies(); n != 0 {
		t.Errorf("%d zombies (MB-030)", n)
	}
}

// R13: a server that never answers is bounded by start_timeout and gone after.
func TestNeverAnswers(t *testing.T) {
	o, events := server(t, "-fault", "no-initialize", "-fault", "stderr-line=waiting for a licence")
	o.StartTimeout = 2 * time.Second // enough for the process to begin
	_, err := Start(t.Context(), o)
	f := failure(t, err, Timeout)
	if f.Limit != o.StartTimeout || f.Phase != "initialize" || f.Stderr != "waiting for a licence" {
		t.Errorf("got %+v", f)
	}
	if pid := mcptest.WaitEvents(t, events, "start", 1)[0].PID; alive(pid) {
		t.Error("the server lives on")
	}
}

// R13: a server that was modern and ends on that question is started again and
// asked the old way.
func TestNoLongerModern(t *testing.T) {
	o, events := server(t, "-era", "dual", "-fault", "exit-on-discover=1")
	o.Era = EraModern
	c := mustStart(t, o)
	if i := c.Info(); i.Era != EraLegacy {
		t.Errorf("got %+v", i)
	}
	if n := len(mcptest.Events(t, events, "start")); n != 2 {
		t.Errorf("%d starts", n)
	}
}

// A modern server end to end: every request carries our _meta.
func TestModernServer(t *testing.T) {
	o, events := server(t, "-era", "modern")
	c := mustStart(t, o)
	items, _, _, err := c.List(t.Context(), "tools/list", "tools")
	if err != nil || len(items) == 0 || c.Info().Era != EraModern {
		t.Fatalf("%d tools, %v, %+v", len(items), err, c.Info())
	}
	call(t, c, "echo", `{"n":1e400}`)
	for _, e := range mcptest.Events(t, events, "recv")[1:] {
		if !strings.Contains(e.Data, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
			t.Errorf("sent %s", e.Data)
		}
	}
}

// MB-036: a server may write what it likes to stderr before it answers, also
// without a newline; memory and log stay bounded.
func TestStderrFlood(t *testing.T) {
	o, _ := server(t, "-fault", "stderr-line="+strings.Repeat("x", 100<<10), "-fault", "stderr=3000000")
	c := mustStart(t, o)
	call(t, c, "echo", "{}")
	c.Close()
	for _, name := range []string{o.StderrLog, o.StderrLog + ".1"} {
		fi, err := os.Stat(name)
		if err != nil || fi.Size() > 1<<20 || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if n := len(c.log.recent); n > recentBytes {
		t.Errorf("%d bytes in memory", n)
	}
}

// A server that ends in the middle of a call ends that call at once, with how it
// ended, and Done says so (R11, R43).
func TestExitMidCall(t *testing.T) {
	o, _ := server(t)
	c := mustStart(t, o)
	for _, args := range []string{`{"status":5,"stderr":"out of cheese"}`} {
		_, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"exit","arguments":` + args + `}`)})
		f := failure(t, err, Closed)
		if !f.Sent || f.Exit != "exit status 5" || f.Phase != "tools/call" || !strings.Contains(f.Stderr, "out of cheese") {
			t.Errorf("got %+v", f)
		}
	}
	await(t, c.Done())
	if td := c.Close(); !td.Complete || td.Exit != "exit status 5" {
		t.Errorf("got %+v", td)
	}
	if alive(c.Info().PID) || zombies() != 0 {
		t.Error("something is left")
	}
}

// Half an answer and then the end is a broken message of a known call.
func TestHalfAnswer(t *testing.T) {
	o, _ := server(t)
	c := mustStart(t, o)
	_, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"half","arguments":{}}`)})
	if f := failure(t, err, Closed); !f.Sent {
		t.Errorf("got %+v", f)
	}
}

// R12, MB-028, MB-033, MB-053: whatever a server leaves behind, in its group or
// in a session of its own, ends within the bound.
func TestTeardownOfEverything(t *testing.T) {
	for _, tc := range []struct {
		name  string
		args  []string
		least time.Duration
		exit  string
	}{
		{"ignores the end", []string{"-fault", "ignore-eof"}, 0, "signal: terminated"},
		{"ignores everything", []string{"-fault", "ignore-eof", "-fault", "ignore-term"}, 3 * time.Second, "signal: killed"},
		{"a child in the group", []string{"-fault", "grandchild=group"}, 0, "exit status 0"},
		{"a child in a session of its own", []string{"-fault", "grandchild=session"}, 0, "exit status 0"},
		{"children that ignore", []string{"-fault", "grandchild=session", "-fault", "ignore-term"}, 3 * time.Second, "exit status 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, events := server(t, tc.args...)
			c := mustStart(t, o)
			begin := time.Now()
			td := c.Close()
			took := time.Since(begin)
			if !td.Complete || td.Exit != tc.exit || took < tc.least || took > time.Duration(td.BoundMS)*time.Millisecond {
				t.Errorf("after %v: %+v", took, td)
			}
			for _, e := range mcptest.Events(t, events, "grandchild") {
				if pid, _ := strconv.Atoi(e.Data); alive(pid) {
					t.Errorf("%d lives on", pid)
				}
			}
			if alive(c.Info().PID) {
				t.Error("the server lives on")
			}
		})
	}
}

// R12: the group goes down the moment its leader is seen to exit, also when a
// child holds the pipes.
func TestLeaderExits(t *testing.T) {
	o, events := server(t, "-fault", "grandchild=group", "-fault", "grandchild=group")
	c := mustStart(t, o)
	_, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"exit","arguments":{"status":1}}`)})
	if f := failure(t, err, Closed); f.Exit != "exit status 1" {
		t.Errorf("got %+v", f)
	}
	for _, e := range mcptest.Events(t, events, "grandchild") {
		pid, _ := strconv.Atoi(e.Data)
		waitDead(t, pid)
	}
}

// MB-030, R10: as a subreaper, orphans are waited for one by one.
func TestOrphansAreReaped(t *testing.T) {
	if err := proc.BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"group", "session"} {
		o, events := server(t, "-fault", "grandchild="+kind)
		c := mustStart(t, o)
		c.Close()
		pid, _ := strconv.Atoi(mcptest.Events(t, events, "grandchild")[0].Data)
		if _, err := proc.Look(pid); err == nil {
			t.Errorf("%s: the orphan %d is not reaped", kind, pid)
		}
	}
	if n := zombies(); n != 0 {
		t.Errorf("%d zombies", n)
	}
	script := filepath.Join(t.TempDir(), "forks")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n(true & true) & sleep 1; (true & true) & read x\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), trust.Launch{Path: script, Env: []string{"PATH=/bin:/usr/bin"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	child := p.group.(*child)
	for end := time.Now().Add(patience); !child.reapOrphan(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no orphan came")
		}
	}
	p.teardown()
}

// MB-052, MB-030: many lives cost no descriptor and leave no zombie.
func TestDescriptors(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	o, _ := server(t)
	mustStart(t, o).Close()
	before := count()
	for i := range 20 {
		args := []string{}
		if i%2 == 0 {
			args = []string{"-fault", "exit-at-start=3"}
		}
		o, _ := server(t, args...)
		if c, err := Start(t.Context(), o); err == nil {
			c.Close()
		}
	}
	if after := count(); after > before+3 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if n := zombies(); n != 0 {
		t.Errorf("%d zombies", n)
	}
}

// R10: kill -9 of the owner takes the server along, though the thread that asked
// for it is long gone. What the owner inherited open, the server did not.
func TestOwnerIsKilled(t *testing.T) {
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"="+mcptest.FakeServerCommand(t))
	in, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(r, w)
	owner.ExtraFiles = []*os.File{r}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !alive(pid) {
		owner.Process.Kill()
		t.Fatalf("the owner said %q", line)
	}
	inherited, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(r.Fd())))
	if theirs := pipesOf(t, pid); len(theirs) != 3 || theirs[inherited] {
		t.Errorf("the server has %v, among them ours: %v", theirs, theirs[inherited])
	}
	owner.Process.Kill()
	owner.Wait()
	waitDead(t, pid)
}

// A start that is given up while the process is being made leaves none behind.
func TestStartGivenUp(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var files []string
	for i := range 20 {
		wg.Go(func() {
			o, events := server(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*200)*time.Microsecond)
			defer cancel()
			if c, err := Start(ctx, o); err == nil {
				c.Close()
			}
			mu.Lock()
			files = append(files, events)
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, f := range files {
		for _, e := range mcptest.Events(t, f, "start") {
			waitDead(t, e.PID)
		}
	}
}

// R42, S9: lists are nobody's calls; after the first call that was answered, what
// the server writes may be about another caller.
func TestLastWordsBelongToNobody(t *testing.T) {
	for _, before := range []int{0, 1} {
		o, _ := server(t)
		c := mustStart(t, o)
		if _, _, _, err := c.List(t.Context(), "tools/list", "tools"); err != nil {
			t.Fatal(err)
		}
		for range before {
			call(t, c, "echo", "{}")
		}
		_, err := c.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"exit","arguments":{"stderr":"about somebody"}}`)})
		if f := failure(t, err, Closed); (f.Stderr == "about somebody") != (before == 0) {
			t.Errorf("after %d calls: %q", before, f.Stderr)
		}
	}
}
