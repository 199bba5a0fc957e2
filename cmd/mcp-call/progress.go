package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"postern/pkg/cmdmain"
)

const (
	progressWidth = 76                     // fits a terminal of 80 columns
	progressAfter = 500 * time.Millisecond // shorter calls show nothing but the server's own progress
	progressEvery = 100 * time.Millisecond // the line is written anew at most so often
	progressEnd   = time.Second            // a terminal that was stopped holds up the result no longer
)

// progress is one line on standard error, written over itself, that says what
// the call is about. It is there on a terminal only (K5).
type progress struct {
	env    *cmdmain.Env
	latest atomic.Pointer[string]
	wake   chan struct{} // nil where nothing is shown
	end    chan struct{}
	ended  chan struct{}
	once   sync.Once

	mu     sync.Mutex
	drawn  bool
	paused int // something else is being written
}

// startProgress begins to show what is waited for. The caller stops it.
func startProgress(env *cmdmain.Env, t target) *progress {
	p := &progress{env: env, wake: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{})}
	if !env.IsTerminal(env.Stderr) {
		p.wake = nil
		close(p.ended)
		return p
	}
	text := "waiting for " + t.String()
	p.latest.Store(&text)
	go p.show() // ends when stop is called
	return p
}

// step takes the params of one notifications/progress. It does not block.
func (p *progress) step(params []byte) {
	if p.wake == nil {
		return
	}
	message := gjson.ParseBytes(params)
	text := member(message, "progress").Raw
	if total := member(message, "total"); total.Type == gjson.Number {
		text += "/" + total.Raw
	}
	if words := member(message, "message").String(); words != "" {
		text += " " + words
	}
	p.latest.Store(&text)
	p.nudge()
}

func (p *progress) nudge() {
	select {
	case p.wake <- struct{}{}:
	default: // the line is about to be written with the latest text
	}
}

// pause takes the line away until the caller resumes. It does nothing to a nil
// progress.
func (p *progress) pause() (resume func()) {
	if p == nil || p.wake == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused++
	p.clear()
	return func() {
		p.mu.Lock()
		p.paused--
		p.mu.Unlock()
		p.nudge()
	}
}

// stop takes the line away and waits until it is gone.
func (p *progress) stop() {
	p.once.Do(func() { close(p.end) })
	select {
	case <-p.ended:
	case <-time.After(progressEnd):
	}
}

func (p *progress) show() {
	defer close(p.ended)
	begin := time.NewTimer(progressAfter)
	defer begin.Stop()
	for {
		select {
		case <-begin.C:
		case <-p.wake:
		case <-p.end:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.clear()
			return
		}
		p.draw()
		select {
		case <-time.After(progressEvery):
		case <-p.end:
		}
	}
}

// progressLine is foreign text as it may stand in the line.
func progressLine(text string) string {
	return beginning(strings.Join(strings.Fields(text), " "), progressWidth)
}

// beginning is as much of a text as fits, made harmless.
func beginning(text string, width int) string {
	line := []rune(cmdmain.Printable(text))
	if len(line) > width {
		line = append(line[:width], '…')
	}
	return string(line)
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == 0 {
		p.write(progressLine(p.env.Clean(*p.latest.Load())))
		p.drawn = true
	}
}

// clear takes the line away, if it is there. The caller holds mu.
func (p *progress) clear() {
	if p.drawn {
		p.write("")
		p.drawn = false
	}
}

func (p *progress) write(line string) {
	_, _ = p.env.Stderr.Write([]byte("\r\x1b[K" + line)) // a terminal that is gone needs no progress
}
