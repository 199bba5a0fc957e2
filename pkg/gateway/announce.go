package gateway

import (
	"slices"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// changed notes that something this session sees may differ.
func (s *session) changed() {
	select {
	case s.changes <- struct{}{}:
	default: // a look is due already
	}
}

// announceChanges sends list_changed when a list differs from what the agent was
// shown last, never before it has asked for that list and at most twice a second
// (R54). It ends with the session.
func (s *session) announceChanges() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.changes:
		}
		timer := time.NewTimer(config.ListChangedEvery)
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		o := s.offer(false)
		s.warm(o)
		s.tell(s.streams.all()...)
		for _, group := range s.differing(o) {
			s.send(wire.NotificationLine("notifications/"+group+"/list_changed", nil))
		}
	}
}

// differing names the groups with a list that is not what the agent was shown
// last, each once, and takes it that the agent hears of it. One of the modern era
// hears of what it listens to, and only there.
func (s *session) differing(o *offer) (groups []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision == "" {
		return nil
	}
	for k := range listKinds {
		if s.listed[k] == "" || s.listed[k] == o.lists[k].digest {
			continue
		}
		s.listed[k] = o.lists[k].digest
		if !slices.Contains(groups, k.group()) {
			groups = append(groups, k.group())
		}
	}
	return groups
}
