package call

import "sync"

// subs is the resources that a session subscribed to, by what the agent knows
// them by. The zero value is empty; the pool bounds how many there can be.
type subs struct {
	mu    sync.Mutex
	known map[string]place
}

func (s *subs) get(exposed string) (place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.known[exposed]
	return p, ok
}

func (s *subs) add(exposed string, p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]place{}
	}
	s.known[exposed] = p
}

func (s *subs) remove(exposed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, exposed)
}

// names is what the agent knows a server's URI by, as it subscribed to it.
func (s *subs) names(p place) (exposed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, known := range s.known {
		if known == p {
			exposed = append(exposed, name)
		}
	}
	return exposed
}
