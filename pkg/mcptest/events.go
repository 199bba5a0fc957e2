package mcptest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Event is one line of the file a fake server appends to with -events:
// NAME PID DATA.
//
//	start       the process began; its parent's pid
//	recv        a line came; the line
//	call        a tool is about to be run; its name and the arguments as sent
//	cancelled   a cancellation came; its params
//	grandchild  a child was started; its pid
//	tty         /dev/tty was opened; "opened", or why not
//	clean       stdin ended
//
// One file may serve many processes.
type Event struct {
	Name string
	PID  int
	Data string
}

// eventLog appends events, one write each.
type eventLog struct {
	mu   sync.Mutex
	path string
	file *os.File
}

func (l *eventLog) add(name, data string) {
	if l.path == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, Name+":", err)
			return
		}
		l.file = f
	}
	_, _ = fmt.Fprintf(l.file, "%s %d %s\n", name, os.Getpid(), data)
}

// Events reads the events of that name so far, all of them for "". A file that
// is not there yet has none.
func Events(t testing.TB, path, name string) (events []Event) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		what, rest, _ := strings.Cut(line, " ")
		pid, data, whole := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
		n, err := strconv.Atoi(pid)
		if err != nil || !whole {
			continue // being written
		}
		if name == "" || name == what {
			events = append(events, Event{what, n, data})
		}
	}
	return events
}

// WaitEvents waits until there are n events of that name and returns those there
// are. It fails the test when they do not come within Bound.
func WaitEvents(t testing.TB, path, name string, n int) []Event {
	t.Helper()
	for end := time.Now().Add(Bound); ; time.Sleep(2 * time.Millisecond) {
		events := Events(t, path, name)
		if len(events) >= n {
			return events
		}
		if time.Now().After(end) {
			t.Fatalf("%d events %q in %s, want %d", len(events), name, path, n)
		}
	}
}

// Eventually asks until the answer is yes, at most Bound, and returns the last
// answer. It is for what no event tells: another process's end, a clock.
func Eventually(yes func() bool) bool {
	for end := time.Now().Add(Bound); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if yes() {
			return true
		}
	}
	return yes()
}
