package upstream

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"postern/pkg/config"
	"postern/pkg/state"
)

// recentBytes is how much raw stderr is held for messages; colours and what is
// not UTF-8 are still to be taken out of it.
const recentBytes = 4 * config.StderrTail

// stderrLog keeps what the server says beside the protocol: the last of it in
// memory, all of it in a file of bounded size. A nil file is fine.
type stderrLog struct {
	path  string
	ended chan struct{} // closed when stderr has ended

	mu     sync.Mutex
	file   *os.File
	recent []byte
}

// newStderrLog opens path. A log that cannot be written must not keep a server
// from running, so it is left out then (C6).
func newStderrLog(path string) *stderrLog {
	l := &stderrLog{path: path, ended: make(chan struct{})}
	if path != "" {
		l.file, _ = state.AppendFile(path)
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
			l.add(buf[:n], buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// noise keeps a line of stdout that was no message: it may be the reason why
// the server is about to end.
func (l *stderrLog) noise(line []byte) {
	line = append(line[:min(len(line), recentBytes):min(len(line), recentBytes)], '\n')
	l.add(line, append([]byte("postern: no JSON-RPC on stdout: "), line...))
}

// note writes a line of our own to the file only.
func (l *stderrLog) note(text string) {
	l.add(nil, []byte("postern: "+time.Now().UTC().Format(time.RFC3339)+" "+text+"\n"))
}

// add remembers recent and writes text.
func (l *stderrLog) add(recent, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent = append(l.recent, recent...)
	if cut := len(l.recent) - recentBytes; cut > 0 {
		l.recent = append(l.recent[:0], l.recent[cut:]...)
	}
	l.write(text)
}

// write appends to the file, which begins anew when it would grow too long. The
// first error ends it.
func (l *stderrLog) write(text []byte) {
	if l.file == nil {
		return
	}
	fi, err := l.file.Stat()
	if err == nil && fi.Size()+int64(len(text)) > config.StderrLogBytes {
		l.file.Close()
		if err = os.Rename(l.path, l.path+".1"); err == nil {
			l.file, err = state.AppendFile(l.path)
		}
	}
	if err == nil {
		_, err = l.file.Write(text)
	}
	if err != nil {
		l.file.Close()
		l.file = nil
	}
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// tail is the last of what was said, fit for a message.
func (l *stderrLog) tail() string {
	l.mu.Lock()
	raw := string(l.recent)
	l.mu.Unlock()
	return lastLines(clean(raw), config.StderrTail)
}

// escapes are the control sequences of terminals: colours, cursor, titles.
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[ -/]*[0-~])`)

// clean makes foreign text fit for a message: valid UTF-8, without terminal
// control sequences and control characters other than newlines.
func clean(s string) string {
	s = strings.ToValidUTF8(escapes.ReplaceAllString(s, ""), "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
}

// lastLines is the end of s, at most max bytes, whole lines where that leaves
// any.
func lastLines(s string, max int) string {
	s = strings.Trim(s, "\n")
	if len(s) <= max {
		return s
	}
	s = s[len(s)-max:]
	if _, after, ok := strings.Cut(s, "\n"); ok {
		return after
	}
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
