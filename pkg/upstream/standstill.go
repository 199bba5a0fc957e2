package upstream

import (
	"sync"
	"time"
)

// Standstill is time that does not count against a call: while a question to
// the caller's person is open (R44). The zero value is ready; it is shared by all
// calls of a caller, and all methods may be called concurrently.
type Standstill struct {
	mu     sync.Mutex
	open   int
	since  time.Time     // of the span that is open
	past   time.Duration // of those that ended
	resume chan struct{} // closed at the end of the open span; nil until asked for
}

// Begin opens a question. end closes it, and does nothing the second time.
func (s *Standstill) Begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open++; s.open == 1 {
		s.since = time.Now()
	}
	return sync.OnceFunc(s.finish)
}

func (s *Standstill) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 {
		s.past += time.Since(s.since)
		if s.resume != nil {
			close(s.resume)
			s.resume = nil
		}
	}
}

// Total is how long at least one question was open, the present time included
// if one is. It never gets less.
func (s *Standstill) Total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		return s.past
	}
	return s.past + time.Since(s.since)
}

// resumed is closed when time goes on; nil while it does.
func (s *Standstill) resumed() <-chan struct{} {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open > 0 && s.resume == nil {
		s.resume = make(chan struct{})
	}
	return s.resume
}
