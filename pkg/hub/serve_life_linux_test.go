package hub

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/mcptest"
	"postern/pkg/state"
)

// Of many that start at the same time one is the hub, and the others end at once,
// with 0 and without a word. After a kill -9 the next one is it.
func TestOneWinner(t *testing.T) {
	dirs := scratch(t)
	for range 2 {
		var all []*hubOf
		for range 12 {
			h := prepareHub(t, dirs, os.Args[0], "hub", "1", "0")
			h.start()
			all = append(all, h)
		}
		all[0].up()
		var winner *hubOf
		living := func() (n int) {
			for _, h := range all {
				select {
				case <-h.ended:
					if h.ProcessState.ExitCode() != 0 || h.out.Len() > 0 {
						t.Errorf("a loser ended with %d: %s", h.ProcessState.ExitCode(), &h.out)
					}
				default:
					winner = h
					n++
				}
			}
			return n
		}
		if !mcptest.Eventually(func() bool { return living() == 1 }) {
			t.Fatalf("%d hubs", living())
		}
		session(t, winner.place).ping()
		if unlock, err := try(winner.place.lockFile()); unlock != nil || err != nil {
			t.Errorf("a hub does not hold its lock, %v", err)
		}
		if err := winner.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-winner.ended
		if _, err := os.Lstat(winner.place.Socket); err != nil {
			t.Errorf("the socket of a killed hub is gone: %v", err)
		}
	}
}

// copyOf is a copy of the test binary, with a name of its own.
func copyOf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(scratch(t).Config, "program")
	replaceBy(t, path)
	return path
}

// replaceBy puts a new file with the same content in the place of an executable.
func replaceBy(t *testing.T, path string) {
	t.Helper()
	self, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, path+".new").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// MB-060: a hub whose executable was replaced takes no new session, leaves its
// place to the next one, and ends with its last session, which it serves to the end.
func TestReplacedExecutable(t *testing.T) {
	dirs, program := scratch(t), copyOf(t)
	old := prepareHub(t, dirs, program, "hub", "1", "0")
	old.start()
	old.up()
	one, two := session(t, old.place), session(t, old.place)
	replaceBy(t, program)
	if !retired(t, old.place) { // it looks at each hello
		t.Error("a session began with the old hub")
	}
	next := prepareHub(t, dirs, program, "hub", "1", "0")
	if !mcptest.Eventually(func() bool { return next.place.Free(t.Context()) }) {
		t.Fatal("the lock is kept")
	}
	next.start()
	next.up()
	session(t, next.place).ping()
	one.ping()
	one.Close()
	two.ping()
	two.Close()
	if code := old.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &old.out)
	}
	session(t, next.place).ping() // its socket was not removed by the old one
}

// A hub that nobody asks notices it as well.
func TestReplacedExecutableUnasked(t *testing.T) {
	dirs, program := scratch(t), copyOf(t)
	h := prepareHub(t, dirs, program, "hub", "1", "0")
	h.start()
	h.up()
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if code := h.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
}

// Agents of an earlier build may lose their hub after an upgrade: one of their own
// build is started from the image that they run, and is there as long as they are.
func TestHubOfAnEarlierBuild(t *testing.T) {
	dirs, program := scratch(t), copyOf(t)
	bridge := exec.Command(program, "listen")
	bridge.Env = append(os.Environ(), programVariable+"=1")
	if _, err := bridge.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bridge.Process.Kill()
		_ = bridge.Wait()
	})
	replaceBy(t, program)
	h := prepareHub(t, dirs, fmt.Sprintf("/proc/%d/exe", bridge.Process.Pid), "hub", "1", "0")
	h.start()
	h.up()
	s := session(t, h.place)
	session(t, h.place).ping()
	s.ping()
}

// A hub that nobody can find any more ends with its last session, and leaves alone
// what stands where its socket was.
func TestReplacedSocket(t *testing.T) {
	dirs := scratch(t)
	h := startHub(t, dirs, "0")
	s := session(t, h.place)
	if err := os.Remove(h.place.Socket); err != nil {
		t.Fatal(err)
	}
	l, err := listenOn(h.place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !mcptest.Eventually(func() bool { return h.place.Free(t.Context()) }) {
		t.Fatal("the lock is kept")
	}
	s.ping()
	s.Close()
	if code := h.code(); code != 0 || !strings.Contains(h.out.String(), "socket was replaced") {
		t.Errorf("ended with %d: %s", code, &h.out)
	}
	if _, err := os.Lstat(h.place.Socket); err != nil {
		t.Errorf("the other socket: %v", err)
	}
}

// hub.idle_exit counts from the last session's end, and not while there is one.
func TestIdleExit(t *testing.T) {
	dirs := scratch(t)
	h := startHub(t, dirs, "500ms")
	s, other := session(t, h.place), session(t, h.place)
	other.Close()
	begin := time.Now()
	for time.Since(begin) < 1200*time.Millisecond {
		s.ping()
	}
	begin = time.Now()
	s.Close()
	if code := h.code(); code != 0 || time.Since(begin) < 500*time.Millisecond {
		t.Errorf("ended with %d after %v: %s", code, time.Since(begin), &h.out)
	}
	if !retired(t, h.place) || !h.place.Free(t.Context()) {
		t.Error("socket or lock is kept")
	}
}

// Whoever looks for a hub that is about to leave comes to the next one: nobody is
// left with a connection that nobody answers.
func TestReachWhileHubsLeave(t *testing.T) {
	dirs := scratch(t)
	p := placeOf(t, dirs, "1")
	spawn := func() error {
		h := prepareHub(t, dirs, os.Args[0], "hub", "1", "20ms")
		if err := h.Start(); err != nil {
			return err
		}
		go func() { _ = h.Cmd.Wait() }() // ends with the hub, which is idle soon
		return nil
	}
	for range 10 {
		conn, err := p.Reach(t.Context(), spawn)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
		c := &client{conn, t, bufio.NewReader(conn)}
		time.Sleep(time.Duration(rand.N(40)) * time.Millisecond) // about as long as the hub stays: either may be first
		var refused *RemoteError
		if w, err := c.hello(Hello{Kind: KindBridge, NoProject: true}); w.Session == "" && !errors.As(err, &refused) {
			t.Errorf("nobody answers: %v", err)
		}
		conn.Close()
	}
	mcptest.Eventually(func() bool { return p.Free(t.Context()) })
}

// Who connected before the hub left, and was not taken yet, is told to look again.
func TestLeftInTheQueue(t *testing.T) {
	l, err := listenOn(placeOf(t, scratch(t), "1").Socket)
	if err != nil {
		t.Fatal(err)
	}
	h := &shared{ctx: t.Context(), open: map[net.Conn]bool{}, most: 2, retiring: true, orphan: true, drain: true, o: ServeOptions{Say: func(string) {}}}
	var waiting []*client
	for range 3 {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(mcptest.Bound))
		waiting = append(waiting, &client{conn, t, bufio.NewReader(conn)})
	}
	if err := l.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	h.accept(l)
	for _, c := range waiting {
		var refused *RemoteError
		if _, err := c.hello(Hello{Kind: KindBridge}); !errors.As(err, &refused) || refused.Word != wordRetiring {
			t.Errorf("it is told %v", err)
		}
	}
	h.wg.Wait()
}

// A hub with idle_exit 0 stays; one that nobody came to yet is waited for as long
// as somebody may be on the way.
func TestIdleTimes(t *testing.T) {
	for _, tc := range []struct {
		exit     time.Duration
		sessions int
		used     bool
		want     time.Duration
	}{{0, 0, true, forever}, {time.Minute, 1, true, forever}, {time.Minute, 0, true, time.Minute}, {1, 0, false, config.HubReach}} {
		h := &shared{linger: tc.exit, sessions: tc.sessions, used: tc.used, empty: time.Now()}
		if got := h.idle(); got > tc.want || got < tc.want-time.Second {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// S15, 00: no core dumps, nothing that others can read, as many files as the system
// lets it have; and servers have the limit back that there was.
func TestLimitsOfTheHub(t *testing.T) {
	h := prepareHub(t, scratch(t), "/bin/sh", "-c", `ulimit -S -c $(ulimit -H -c); exec "$0" "$@"`, os.Args[0], "hub", "1", "0")
	h.start()
	h.up()
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", h.Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, row := range strings.Split(read("limits"), "\n") {
		f := strings.Fields(row)
		if strings.HasPrefix(row, "Max core file size") && f[4] != "0" && f[4] != "1" || strings.HasPrefix(row, "Max open files") && f[3] != f[4] {
			t.Error(row)
		}
	}
	if !strings.Contains(read("status"), "Umask:\t0077") {
		t.Error("others can read what it makes")
	}
	if fi, err := os.Lstat(h.place.Socket); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", fi, err)
	}
}

// Who speaks plain MCP to a hub that retires is told nothing but the end: the hub's
// own lines are none of that protocol.
func TestPlainWhileRetiring(t *testing.T) {
	ours, theirs := pair(t)
	h := &shared{ctx: t.Context(), open: map[net.Conn]bool{}, retiring: true, orphan: true}
	if _, err := io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	h.greet(ours, false)
	ours.Close()
	if told, err := io.ReadAll(theirs); len(told) > 0 || err != nil {
		t.Errorf("%q, %v", told, err)
	}
}

// R23: of the hubs that an upgrade leaves there the one that takes new sessions starts
// a server; those that only finish theirs take the brake back.
func TestStartWhileRetiring(t *testing.T) {
	for retiring, want := range map[bool]string{false: call.VerbStart, true: call.VerbRelease} {
		ours, theirs := pair(t)
		var got []string
		h := &shared{ctx: t.Context(), open: map[net.Conn]bool{}, retiring: retiring, orphan: true, o: ServeOptions{
			Control: func(verb, name string, _ int) (json.RawMessage, error) {
				got = append(got, verb, name)
				return json.RawMessage("{}"), nil
			},
		}}
		if _, err := theirs.Write(order{Verb: call.VerbStart, Name: "wiki"}.line()); err != nil {
			t.Fatal(err)
		}
		h.greet(ours, false)
		ours.Close()
		if !slices.Equal(got, []string{want, "wiki"}) {
			t.Errorf("retiring %v: %q", retiring, got)
		}
	}
}

// A service manager hands over the socket, to the hub or to its keeper. It is not
// removed, and one that this build is not looked for on is refused.
func TestActivation(t *testing.T) {
	dirs := scratch(t)
	place := placeOf(t, dirs, "1")
	for _, verb := range []string{"hub", "kept-hub"} {
		h, l := activated(t, dirs, place.Socket, os.Args[0], verb, "500ms", "1")
		s := session(t, place) // it waits in the queue until the hub is there
		s.ping()
		s.Close()
		l.Close()
		if code := h.code(); code != 0 {
			t.Errorf("%s: ended with %d: %s", verb, code, &h.out)
		}
		if _, err := os.Lstat(place.Socket); err != nil {
			t.Errorf("%s: the socket is not the hub's: %v", verb, err)
		}
		if err := os.Remove(place.Socket); err != nil {
			t.Fatal(err)
		}
	}
	for socket, fds := range map[string]string{place.Socket + "2": "1", place.Socket: "2"} {
		h, _ := activated(t, dirs, socket, os.Args[0], "hub", "0", fds)
		if code := h.code(); code != 96 || !strings.Contains(h.out.String(), "mcp-serve install") {
			t.Errorf("ended with %d: %s", code, &h.out)
		}
	}
}

// activated starts a hub as a service manager does.
func activated(t *testing.T, dirs state.Dirs, socket, program, verb, idle, fds string) (*hubOf, *net.UnixListener) {
	t.Helper()
	l, err := listenOn(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := prepareHub(t, dirs, "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program, verb, "1", idle)
	h.Env, h.ExtraFiles = append(h.Env, "LISTEN_FDS="+fds), []*os.File{f}
	h.start()
	return h, l
}

// A socket that a service manager made in the place of a hub's own is served once
// that hub has noticed: the connections that wait meanwhile are not lost.
func TestActivationBesideAHub(t *testing.T) {
	dirs := scratch(t)
	old := startHub(t, dirs, "0")
	s := session(t, old.place)
	if err := os.Remove(old.place.Socket); err != nil {
		t.Fatal(err)
	}
	activated(t, dirs, old.place.Socket, os.Args[0], "hub", "0", "1")
	session(t, old.place).ping()
	s.ping()
	if config.HubSocketWait < 2*config.HubCheckEvery {
		t.Error("it waits less than the hub before needs")
	}
	_ = old.Process.Signal(syscall.SIGTERM)
}

// A service manager starts no other hub as long as the one before lives, and would
// let everybody wait: one that retires while it has sessions gives the place up to
// whoever starts a hub without it.
func TestReplacedExecutableActivated(t *testing.T) {
	dirs, program := scratch(t), copyOf(t)
	place := placeOf(t, dirs, "1")
	old, l := activated(t, dirs, place.Socket, program, "hub", "0", "1")
	one := session(t, place)
	replaceBy(t, program)
	if !retired(t, place) {
		t.Error("a session began with the old hub")
	}
	if !mcptest.Eventually(func() bool { return place.Free(t.Context()) }) {
		t.Fatal("the lock is kept")
	}
	next := prepareHub(t, dirs, program, "hub", "1", "0")
	next.start()
	next.up()
	session(t, place).ping()
	one.ping()
	one.Close()
	if code := old.code(); code != 0 || !strings.Contains(old.out.String(), "systemctl --user restart postern.socket") {
		t.Errorf("ended with %d: %s", code, &old.out)
	}
	session(t, place).ping()
	l.Close()
}

// One that has no session ends at once, and the socket stays the manager's.
func TestReplacedExecutableActivatedIdle(t *testing.T) {
	dirs, program := scratch(t), copyOf(t)
	place := placeOf(t, dirs, "1")
	old, _ := activated(t, dirs, place.Socket, program, "hub", "0", "1")
	session(t, place).Close()
	replaceBy(t, program)
	if code := old.code(); code != 0 {
		t.Errorf("ended with %d: %s", code, &old.out)
	}
	if _, err := os.Lstat(place.Socket); err != nil {
		t.Error(err)
	}
}
