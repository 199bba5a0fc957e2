package mcptest

import (
	"bytes"
	"strconv"
	"strings"

	"postern/pkg/wire"
)

// list answers a request for a list. The cursor of a page is the index of its
// first item.
func (s *server) list(m wire.Message) {
	if text, ok := s.o.faults["list-error"]; ok {
		s.refuse(m, wire.CodeInternal, text)
		return
	}
	s.mu.Lock()
	items := s.lists[m.Method]
	s.mu.Unlock()
	from := 0
	if cursor := member(m.ParamsBytes(), "cursor"); cursor != nil && string(cursor) != "null" {
		n, err := strconv.Atoi(text(m.ParamsBytes(), "cursor"))
		if err != nil || n < 0 || n > len(items) {
			s.refuse(m, wire.CodeInvalidParams, "no such cursor")
			return
		}
		from = n
	}
	to := len(items)
	if s.o.page > 0 {
		to = min(to, from+s.o.page)
	}
	key := strings.TrimSuffix(m.Method, "/list")
	if key == "resources/templates" {
		key = "resourceTemplates"
	}
	var b bytes.Buffer
	b.WriteString(`{"` + key + `":[`)
	b.Write(bytes.Join(items[from:to], []byte(",")))
	b.WriteString("]")
	switch {
	case s.o.cursorLoop:
		b.WriteString(`,"nextCursor":"0"`)
	case to < len(items):
		b.WriteString(`,"nextCursor":"` + strconv.Itoa(to) + `"`)
	}
	if s.o.ttl > 0 || isModern(m) {
		b.WriteString(`,"ttlMs":` + strconv.Itoa(s.o.ttl) + `,"cacheScope":"public"`)
	}
	b.WriteString("}")
	s.answer(m, b.Bytes())
}

// named returns the item whose member has that value, nil when the list has none.
func (s *server) named(list, key, value string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.lists[list] {
		if text(item, key) == value {
			return item
		}
	}
	return nil
}

// has says whether there is such a list.
func (s *server) has(list string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[list] != nil
}
