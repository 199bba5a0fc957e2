package call

import (
	"sync"
	"time"

	"postern/pkg/config"
)

// look has every open session look at configuration, trust and catalogs, before
// the pool starts a server that nobody waits for, and now and then; and what runs on
// without a session likewise. Sessions look at the same time and are waited for
// config.LookWait at most, since the disk of one must not hold up all others; of
// those that come too late the last view counts. So long again for the rest.
func (h *Host) look() {
	end := time.NewTimer(config.LookWait)
	defer end.Stop()
	open := h.open()
	var each sync.WaitGroup
	for _, s := range open {
		h.within(&each, &s.looks, "session "+s.ID, func() { s.renew() })
	}
	if !waited(&each, end.C) {
		h.warnOnce("look", "a session does not come to look at its files: they may lie on a disk that does not answer")
		end.Reset(config.LookWait)
	}
	seen := map[string]bool{}
	for _, s := range open {
		for _, srv := range s.view.Load().Servers {
			seen[srv.running()] = true
		}
	}
	var rest sync.WaitGroup
	h.within(&rest, &h.looks, "servers without a session", func() { h.lookAtRest(seen) })
	waited(&rest, end.C)
}

// looks is who looks at the same files: one, and one that comes after it, who sees
// what the first may have missed.
type looks struct {
	mu    sync.Mutex
	busy  int
	since time.Time
}

// hang reports whether one has begun long ago and not ended.
func (l *looks) hang() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy > 0 && time.Since(l.since) >= config.LookWait
}

func (l *looks) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.since = l.busy-1, time.Now()
}

// within runs a look on a goroutine of its own, if there are not two already. It
// ends with the files it looks at.
func (h *Host) within(all *sync.WaitGroup, l *looks, where string, run func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.busy {
	case 0:
		l.since = time.Now()
	case 2:
		return
	}
	l.busy++
	all.Go(func() {
		defer l.over()
		h.contain(where, run)
	})
}

// waited waits for all; false is that the time was over before.
func waited(all *sync.WaitGroup, over <-chan time.Time) bool {
	done := make(chan struct{})
	go func() { // ends with the last look
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-over:
		return false
	}
}

// open is all open sessions, those of control verbs included.
func (h *Host) open() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Session, 0, len(h.sessions))
	for s := range h.sessions {
		all = append(all, s)
	}
	return all
}
