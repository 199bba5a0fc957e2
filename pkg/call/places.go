package call

import (
	"sync"

	"postern/pkg/config"
)

// places is the questions that an agent is asked at the moment: config.MaxQuestions
// of them, of config.QuestionBytes in all. One server has no more of either than it
// leaves to the others, but that a question which is alone, and one that is its
// server's first and short, has room in any case. The zero value is empty.
type places struct {
	mu  sync.Mutex
	all share
	of  map[string]share // by server
}

type share struct{ n, bytes int }

// shortQuestion is one of those of which as many as may be open are no more than
// config.QuestionBytes.
const shortQuestion = config.QuestionBytes / config.MaxQuestions

// take takes a place for a question of a server, of so many bytes; give gives it
// back. It is false when there is none.
func (p *places) take(server string, size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.of[server]
	switch {
	case own.n >= config.MaxQuestions-p.all.n:
		return false
	case p.all.n == 0, own.n == 0 && size <= shortQuestion:
	case own.bytes+size > config.QuestionBytes-p.all.bytes:
		return false
	}
	p.add(server, share{1, size})
	return true
}

func (p *places) give(server string, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(server, share{-1, -size})
}

// add is with mu held.
func (p *places) add(server string, d share) {
	if p.of == nil {
		p.of = map[string]share{}
	}
	own := p.of[server]
	own.n, own.bytes = own.n+d.n, own.bytes+d.bytes
	p.all.n, p.all.bytes = p.all.n+d.n, p.all.bytes+d.bytes
	if p.of[server] = own; own.n == 0 {
		delete(p.of, server)
	}
}
