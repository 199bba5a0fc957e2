package gateway

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// listTools answers tools/list from what is known. Only while the discovery
// of this session runs does it wait, at most ListWait (R66).
func (s *session) listTools(r *request, m wire.Message) {
	s.awaitDiscovery(r.ctx)
	set := s.tools()
	start, err := set.position(m.ParamsBytes())
	if err != nil {
		s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: err.Error()}))
		return
	}
	page, next := set.page(start)
	s.mu.Lock()
	s.listed = set.digest
	if s.decided == "" {
		s.decided = set.mode
	}
	s.mu.Unlock()
	result := append([]byte(`{"tools":[`), page...)
	result = append(result, ']')
	if next > 0 {
		result = append(result, `,"nextCursor":"`...)
		result = append(result, set.cursor(next)...)
		result = append(result, '"')
	}
	s.done(r, wire.ResultLine(r.id, append(result, '}')))
}

func (s *session) awaitDiscovery(ctx context.Context) {
	s.mu.Lock()
	discovery := s.discovery
	s.mu.Unlock()
	if discovery == nil {
		return
	}
	timer := time.NewTimer(s.o.ListWait)
	defer timer.Stop()
	select {
	case <-discovery:
	case <-timer.C:
		s.calls.Overdue()
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.discovery = nil // only the first list waits; what comes later is announced
	s.mu.Unlock()
}

// page joins items from start on, at most config.ListPageBytes of them but at
// least one, and says where the next page starts, 0 for the end.
func (t *toolSet) page(start int) (page []byte, next int) {
	size, end := 0, start
	for end < len(t.items) && (end == start || size+len(t.items[end]) < config.ListPageBytes) {
		size += len(t.items[end]) + 1
		end++
	}
	page = make([]byte, 0, size)
	for i, item := range t.items[start:end] {
		if i > 0 {
			page = append(page, ',')
		}
		page = append(page, item...)
	}
	if end < len(t.items) {
		next = end
	}
	return page, next
}

// cursor names a position in this very set: a set that changed in between
// would give holes or repetitions.
func (t *toolSet) cursor(position int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(t.digest + "." + strconv.Itoa(position)))
}

// position reads the cursor of a tools/list request, 0 without one.
func (t *toolSet) position(params []byte) (int, error) {
	if len(params) == 0 {
		return 0, nil
	}
	var span [1]wire.Span
	if err := wire.Lookup(params, []string{"cursor"}, span[:]); err != nil {
		return 0, err
	}
	raw := span[0].Of(params)
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	text, err := wire.Unquote(raw)
	if err != nil {
		return 0, fmt.Errorf("the cursor is not a string")
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	digest, number, found := strings.Cut(string(plain), ".")
	position, perr := strconv.Atoi(number)
	if err != nil || perr != nil || !found || digest != t.digest || position <= 0 || position >= len(t.items) {
		return 0, fmt.Errorf("the cursor is not of this list, or the list has changed: start again without one")
	}
	return position, nil
}

// changed notes that something this session sees may differ.
func (s *session) changed() {
	select {
	case s.changes <- struct{}{}:
	default: // a look is due already
	}
}

// announceChanges sends list_changed when the set differs from what the agent
// listed last, never before it has listed and at most twice a second (R54). It
// ends with the session.
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
		set := s.tools()
		s.warm(set)
		s.mu.Lock()
		tell := s.listed != "" && s.listed != set.digest
		if tell {
			s.listed = set.digest
		}
		s.mu.Unlock()
		if tell {
			s.send(wire.NotificationLine("notifications/tools/list_changed", nil))
		}
	}
}
