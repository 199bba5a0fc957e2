package upstream

import (
	"bytes"
	"io"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// recentBytes is how much of stderr is held for messages; colours and what is
// not UTF-8 are still to be taken out of it.
const recentBytes = 4 * config.StderrTail

// stderrLog keeps what the server says beside the protocol, without secrets: the
// last of it in memory, all of it in a file of bounded size.
// It works line by line, since a secret may come in two pieces.
type stderrLog struct {
	ended chan struct{} // closed when stderr has ended
	file  *state.Rolling

	mu      sync.Mutex
	recent  []byte
	stderr  *secret.Lines
	stdout  *secret.Lines
	partial []byte // the line that has not ended yet, its beginning
	missing int    // bytes behind that

	second time.Time // in which kept is counted
	kept   int       // bytes of this second
}

// newStderrLog opens path. A log that cannot be written must not keep a server
// from running, so it is left out then (C6).
func newStderrLog(path string, r *secret.Redactor) *stderrLog {
	l := &stderrLog{file: &state.Rolling{}, ended: make(chan struct{}), stderr: r.Lines(), stdout: r.Lines()}
	if path != "" {
		l.file, _ = state.OpenRolling(path, config.StderrLogBytes)
	}
	return l
}

// drain reads stderr until it ends, so that the server never blocks on it.
func (l *stderrLog) drain(stderr io.Reader) {
	defer close(l.ended)
	buf := make([]byte, 16<<10)
	for {
		n, err := stderr.Read(buf)
		if n > 0 {
			l.take(buf[:n], time.Now())
		}
		if err != nil {
			l.mu.Lock()
			l.line()
			l.mu.Unlock()
			return
		}
	}
}

// take adds bytes as they came. A flood is not looked at, up to the end of the
// line it breaks off in: it would cost more than it tells.
func (l *stderrLog) take(text []byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.kept = now, 0
	}
	if l.kept += len(text); l.kept > config.StderrPerSecond {
		l.missing += len(text)
		return
	}
	for {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		keep := 0
		if l.missing == 0 {
			keep = min(len(line), config.StderrLine-len(l.partial))
		}
		l.partial = append(l.partial, line[:keep]...)
		l.missing += len(line) - keep
		if !ended {
			return
		}
		l.line()
		text = rest
	}
}

// line ends the line that is open, unless it is blank. The caller holds mu.
func (l *stderrLog) line() {
	if len(l.partial) == 0 && l.missing == 0 {
		return
	}
	text := l.stderr.Line(string(l.partial), l.missing > 0)
	if l.missing > 0 {
		text += "[cut:" + itoa(l.missing) + "]"
	}
	l.partial, l.missing = l.partial[:0], 0
	l.add(text, text+"\n")
}

// noise keeps a line of stdout that was no message: it may be the reason why
// the server is about to end.
func (l *stderrLog) noise(line []byte) {
	cut := line[:min(len(line), recentBytes)]
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.stdout.Line(string(cut), len(cut) < len(line))
	l.add(text, "postern: no JSON-RPC on stdout: "+text+"\n")
}

// note writes a line of our own to the file only.
func (l *stderrLog) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Append([]byte("postern: " + time.Now().UTC().Format(time.RFC3339) + " " + text + "\n"))
}

// add remembers the line recent and writes text. The caller holds mu.
func (l *stderrLog) add(recent, text string) {
	l.recent = append(append(l.recent, recent...), '\n')
	if cut := len(l.recent) - recentBytes; cut > 0 {
		l.recent = append(l.recent[:0], l.recent[cut:]...)
	}
	_ = l.file.Append([]byte(text)) // what cannot be kept is dropped (C6)
}

// finish writes how the process ended and closes the file. The pipe is closed by
// then, so the wait for drain is short.
func (l *stderrLog) finish(t Teardown) {
	<-l.ended
	text := "ended: " + t.Exit
	if !t.Complete {
		text = "not ended: " + t.Reason + ", process group " + itoa(t.PGID)
	}
	l.note(text)
	l.file.Close()
}

// tail is the last of what was said, fit for a message.
func (l *stderrLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := *l.stderr // the line may go on: nothing is decided by it
	text := string(l.recent) + open.Line(string(l.partial), true)
	return lastLines(clean(text), config.StderrTail)
}
