package pkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
	"postern/pkg/proc"
)

// The tests of hub_*_test.go run the real commands with a hub of their own: the
// bridges of a shared home find each other in its runtime directory. They are
// made for a machine of any speed; storm tells how many times they do what they
// do.

// storm is quick, or full when POSTERN_STORM=full asks for the whole numbers.
func storm(quick, full int) int {
	if os.Getenv("POSTERN_STORM") == "full" {
		return full
	}
	return quick
}

// shared is a home whose agents have a hub.
type shared struct {
	*fault
	runtime string // its XDG_RUNTIME_DIR
}

// newShared declares servers as newFault does. The hub and all that it started
// are gone when the test is over.
func newShared(t *testing.T, servers ...string) *shared {
	t.Helper()
	f := newFault(t, servers...)
	run, err := os.MkdirTemp("", "run-") // short: paths of sockets have 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	s := &shared{fault: f, runtime: run}
	f.hub = true
	f.env = append(f.env, "XDG_RUNTIME_DIR="+run)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hub.log:\n%.4000s", readFile(f.path(".local/state/postern/hub.log")))
		}
		for range 100 { // a dying hub's bridge may be starting another
			found := s.left()
			if len(found) == 0 {
				break
			}
			for _, pid := range found {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			time.Sleep(10 * time.Millisecond)
		}
		os.RemoveAll(run)
	})
	return s
}

// left are the living processes of this home.
func (s *shared) left() (pids []int) {
	for _, line := range s.processes() {
		pid, _ := strconv.Atoi(strings.TrimPrefix(strings.Fields(line)[0], "/proc/"))
		if st, err := proc.Look(pid); err == nil && !st.Ended() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// setting appends lines to the configuration.
func (s *shared) setting(text string) {
	s.t.Helper()
	const name = ".config/postern/mcp.yaml"
	s.write(name, readFile(s.path(name))+text+"\n")
}

// theHub is a hub: the one that works, and the keeper above it.
type theHub struct{ keeper, owner int }

// hubs are those that run in this home.
func (s *shared) hubs() (all []theHub) {
	stats := map[int]proc.Stat{}
	for _, pid := range s.left() {
		words := strings.Split(readFile(fmt.Sprintf("/proc/%d/cmdline", pid)), "\x00")
		st, err := proc.Look(pid)
		if err == nil && filepath.Base(words[0]) == "mcp-serve" && slices.Contains(words, "hub") {
			stats[pid] = st
		}
	}
	for pid, st := range stats {
		if _, below := stats[st.Parent]; below {
			all = append(all, theHub{st.Parent, pid})
		}
	}
	return all
}

// theHub waits for exactly one hub.
func (s *shared) theHub() theHub {
	s.t.Helper()
	var all []theHub
	if !mcptest.Eventually(func() bool { all = s.hubs(); return len(all) == 1 }) {
		s.t.Fatalf("hubs: %v, processes %q", all, s.processes())
	}
	return all[0]
}

// servers are the living processes that this hub started as servers.
func (s *shared) servers(h theHub) (pids []int) {
	for _, path := range marked(h.owner) {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

// sockets are the sockets in the runtime directory.
func (s *shared) sockets() (found []string) {
	_ = filepath.Walk(s.runtime, func(path string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode()&os.ModeSocket != 0 {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// dial connects to the hub that listens.
func (s *shared) dial() net.Conn {
	s.t.Helper()
	var conn net.Conn
	if !mcptest.Eventually(func() bool {
		for _, path := range s.sockets() {
			if c, err := net.Dial("unix", path); err == nil {
				conn = c
				return true
			}
		}
		return false
	}) {
		s.t.Fatalf("no hub listens: %v", s.sockets())
	}
	return conn
}

// stop ends the agents and the hub, and wants what must hold then: nothing is
// left, nothing was executed twice, and each call has one row for its readers.
func (s *shared) stop(agents ...*mcptest.Agent) []row {
	s.t.Helper()
	for _, a := range agents {
		if status := a.Close(); status != 0 {
			s.t.Errorf("mcp-serve ended with %d: %s", status, a.Stderr())
		}
	}
	s.run0("mcp-serve", "stop")
	s.nothingLeft()
	if found := s.sockets(); len(found) > 0 {
		s.t.Errorf("sockets are left: %v", found)
	}
	s.once()
	return s.readable()
}

func (s *shared) run0(name string, args ...string) string {
	s.t.Helper()
	out, _ := s.run(0, name, args...)
	return out
}

// once wants every call to have been executed at most once.
func (s *shared) once() {
	s.t.Helper()
	seen := map[string]bool{}
	for _, e := range s.executed() {
		if seen[e.Data] && strings.Contains(e.Data, `{"n":`) {
			s.t.Errorf("executed twice: %.100s", e.Data)
		}
		seen[e.Data] = true
	}
}

// readable are the rows as mcp-log shows them, one for each id. Of two with one
// id in the files, one must be of a bridge (C81).
func (s *shared) readable() (all []row) {
	s.t.Helper()
	shown := map[string]bool{}
	for line := range strings.Lines(s.run0("mcp-log", "-o", "jsonl")) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.V != 1 || r.ID == "" {
			s.t.Errorf("%.200q is no row: %v", line, err)
		}
		if shown[r.ID] {
			s.t.Errorf("mcp-log shows %s twice", r.ID)
		}
		shown[r.ID] = true
		all = append(all, r)
	}
	written := map[string][]row{}
	files, _ := filepath.Glob(s.path(".local/state/postern/calls/*.jsonl"))
	for _, name := range files {
		for line := range strings.Lines(readFile(name)) {
			var r row
			if json.Unmarshal([]byte(line), &r) == nil {
				written[r.ID] = append(written[r.ID], r)
			}
		}
	}
	for id, rows := range written {
		if len(rows) > 2 || len(rows) == 2 && (rows[0].Word == "hub_lost") == (rows[1].Word == "hub_lost") {
			s.t.Errorf("rows of %s: %+v", id, rows)
		}
	}
	if len(written) != len(all) {
		s.t.Errorf("%d rows are written, %d shown", len(written), len(all))
	}
	return all
}

// words counts rows by what went wrong.
func words(rows []row) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Word]++
	}
	return n
}

// answers counts the responses to one id that an agent got.
func answers(a *mcptest.Agent, id string) (n int) {
	for _, m := range a.Lines() {
		if m.Method == "" && string(m.IDBytes()) == id {
			n++
		}
	}
	return n
}

// environs says which living processes of the home have text in their
// environment, by the base name of their command and its first argument.
func (s *shared) environs(text string) (found []string) {
	for _, pid := range s.left() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(environ, []byte(text)) {
			words := strings.Split(readFile(fmt.Sprintf("/proc/%d/cmdline", pid)), "\x00")
			found = append(found, fmt.Sprint(filepath.Base(words[0]), " ", pid))
		}
	}
	return found
}

// pss is the memory of processes in KiB, what is shared divided among its users.
func pss(pids ...int) (sum int) {
	for _, pid := range pids {
		_, rest, _ := strings.Cut(readFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)), "\nPss:")
		n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
		sum += n
	}
	return sum
}
