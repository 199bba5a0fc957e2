package mcptest

import (
	"io"
	"strconv"
	"strings"
	"sync"
)

// output writes to stdout, one line at a time.
type output struct {
	mu     sync.Mutex
	w      io.Writer
	faults faults
}

// line writes one message, with the noise that is to stand before it.
func (o *output) line(l []byte) {
	noise, _ := strconv.Atoi(o.faults["noise"])
	end := "\n"
	if o.faults.has("crlf") {
		end = "\r\n"
	}
	o.raw([]byte(strings.Repeat("[info] something happened\n", noise) + string(l) + end))
}

// raw writes bytes as they are, and nothing of others between them.
func (o *output) raw(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.w.Write(b) // a client that is gone ends us by EOF
}
