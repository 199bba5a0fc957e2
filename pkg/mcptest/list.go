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
		s.out.line(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInternal, Message: text}))
		return
	}
	s.mu.Lock()
	items := s.lists[m.Method]
	s.mu.Unlock()
	from := 0
	if cursor := member(m.ParamsBytes(), "cursor"); cursor != nil && string(cursor) != "null" {
		n, err := strconv.Atoi(text(m.ParamsBytes(), "cursor"))
		if err != nil || n < 0 || n > len(items) {
			s.out.line(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no such cursor"}))
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
	if s.o.ttl > 0 {
		b.WriteString(`,"ttlMs":` + strconv.Itoa(s.o.ttl) + `,"cacheScope":"public"`)
	}
	b.WriteString("}")
	s.out.line(wire.ResultLine(m.IDBytes(), b.Bytes()))
}
