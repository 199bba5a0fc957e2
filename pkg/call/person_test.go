package call

import (
	"context"
	"errors"
	"strings"
	"sync"

	"postern/pkg/wire"
)

// person is an agent, and who sits in front of it.
type person struct {
	capabilities, level string
	modern              bool
	// answer gives the response to a question, a result unless it begins with
	// "error:"; nil waits until the question is over.
	answer func(ctx context.Context, method, params string, progress func([]byte)) string

	mu     sync.Mutex
	asked  []string // method and params
	told   []string
	open   int
	most   int // questions that were open at the same time
	causes []string
}

func (p *person) Ask(ctx context.Context, method string, params []byte, progress func([]byte)) (wire.Message, error) {
	p.mu.Lock()
	p.asked = append(p.asked, method+" "+string(params))
	p.open++
	p.most = max(p.most, p.open)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	}()
	if p.answer == nil {
		<-ctx.Done()
		p.mu.Lock()
		p.causes = append(p.causes, context.Cause(ctx).Error())
		p.mu.Unlock()
		return wire.Message{}, context.Cause(ctx)
	}
	said := p.answer(ctx, method, string(params), progress)
	if said == "" {
		return wire.Message{}, errors.New("nobody is there")
	}
	if e, ok := strings.CutPrefix(said, "error:"); ok {
		return wire.Parse([]byte(`{"jsonrpc":"2.0","id":"p","error":` + e + `}`))
	}
	return wire.Parse([]byte(`{"jsonrpc":"2.0","id":"p","result":` + said + `,"x":1.0}`))
}

func (p *person) Notify(method string, params []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, method+" "+string(params))
}

func (p *person) Capabilities() []byte {
	if p.capabilities == "" {
		return nil
	}
	return []byte(p.capabilities)
}

func (p *person) Modern() bool  { return p.modern }
func (p *person) Level() string { return p.level }

// questions and news are what came so far.
func (p *person) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func (p *person) news() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.told...)
}
