package main

import (
	"fmt"
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
)

// progress is one line on standard error that says which servers are still
// waited for, written over itself. It is there on a terminal only (K5). Its
// methods are called from one goroutine.
type progress struct {
	env     *cmdmain.Env
	total   int
	waiting []string // ids; nil when there is no terminal
}

// progressWidth fits a terminal of 80 columns.
const progressWidth = 76

func newProgress(env *cmdmain.Env, servers []*call.Server) *progress {
	p := &progress{env: env, total: len(servers)}
	if !env.IsTerminal(env.Stderr) {
		return p
	}
	for _, s := range servers {
		p.waiting = append(p.waiting, s.Declared.ID)
	}
	p.show()
	return p
}

func (p *progress) ended(s *call.Server) {
	for i, id := range p.waiting {
		if id == s.Declared.ID {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			p.show()
			return
		}
	}
}

func (p *progress) show() {
	if len(p.waiting) == 0 {
		p.clear()
		return
	}
	line := fmt.Sprintf("%d of %d listed, waiting for %s", p.total-len(p.waiting), p.total, strings.Join(p.waiting, " "))
	if len(line) > progressWidth { // ids are ASCII
		line = line[:progressWidth] + "…"
	}
	p.write("\r\x1b[K" + line)
}

// clear takes the line away, so that messages begin at the margin.
func (p *progress) clear() {
	if p.total > 0 && p.env.IsTerminal(p.env.Stderr) {
		p.write("\r\x1b[K")
	}
}

func (p *progress) write(s string) {
	_, _ = p.env.Stderr.Write([]byte(s)) // a terminal that is gone needs no progress
}
