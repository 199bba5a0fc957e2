package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// listKind is one of the lists that MCP has.
type listKind int

const (
	toolList listKind = iota
	promptList
	resourceList
	templateList
	listKinds
)

// member is the name of the list in its result.
func (k listKind) member() string {
	return [listKinds]string{"tools", "prompts", "resources", "resourceTemplates"}[k]
}

// group is whose notifications/GROUP/list_changed tells of the list.
func (k listKind) group() string {
	return [listKinds]string{"tools", "prompts", "resources", "resources"}[k]
}

// list is one list of a view as the agent sees it. It is not changed once it is
// sealed.
type list struct {
	items   [][]byte // definitions
	digests []byte   // one behind the other, of each
	digest  string   // of all items
}

// add appends a definition.
func (l *list) add(item []byte, digest catalog.Digest) {
	l.items = append(l.items, item)
	l.digests = append(l.digests, digest[:]...)
}

func (l *list) seal() {
	sum := sha256.Sum256(l.digests)
	l.digest, l.digests = hex.EncodeToString(sum[:8]), nil
}

// showList answers a request for a list from what is known. Only while the
// discovery of this session runs does it wait, at most ListWait (R66).
func (s *session) showList(k listKind) func(*request, wire.Message) {
	return func(r *request, m wire.Message) {
		s.awaitDiscovery(r.ctx)
		o := s.offer(r.modern != nil)
		l := &o.lists[k]
		start, err := l.position(m.ParamsBytes())
		if err != nil {
			s.done(r, wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInvalidParams, Message: err.Error()}))
			return
		}
		s.mu.Lock()
		s.listed[k] = l.digest
		if k == toolList && s.decided == "" {
			s.decided = o.mode
		}
		s.mu.Unlock()
		s.done(r, wire.ResultLine(r.id, l.result(k, start)))
	}
}

// result is one page of the list as the result of a request for it.
func (l *list) result(k listKind, start int) []byte {
	end, size := l.page(start)
	result := append(make([]byte, 0, size+128), `{"`+k.member()+`":[`...)
	for i, item := range l.items[start:end] {
		if i > 0 {
			result = append(result, ',')
		}
		result = append(result, item...)
	}
	result = append(result, ']')
	if end < len(l.items) {
		result = append(append(append(result, `,"nextCursor":"`...), l.cursor(end)...), '"')
	}
	return append(result, '}')
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

// page is where the page ends that begins with the item at start, and its bytes:
// at most config.ListPageBytes of them, but at least one item.
func (l *list) page(start int) (end, size int) {
	for end = start; end < len(l.items) && (end == start || size+len(l.items[end]) < config.ListPageBytes); end++ {
		size += len(l.items[end]) + 1
	}
	return end, size
}

// cursor names a position in this very set: a set that changed in between
// would give holes or repetitions.
func (l *list) cursor(position int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.digest + "." + strconv.Itoa(position)))
}

// position reads the cursor of a request for the list, 0 without one.
func (l *list) position(params []byte) (int, error) {
	if len(params) == 0 || string(params) == "null" {
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
		return 0, errors.New("the cursor is not a string")
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	digest, number, found := strings.Cut(string(plain), ".")
	position, perr := strconv.Atoi(number)
	if err != nil || perr != nil || !found || digest != l.digest || position <= 0 || position >= len(l.items) {
		return 0, errors.New("the cursor is not of this list, or the list has changed: start again without one")
	}
	return position, nil
}
