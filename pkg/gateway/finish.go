package gateway

import (
	"bytes"

	"postern/pkg/wire"
)

// Members that results have in the modern era only.
const (
	typeMember  = "resultType"
	ttlMember   = "ttlMs"
	scopeMember = "cacheScope"
)

// typeComplete is the type of a result that is all there is.
const typeComplete = `"complete"`

// cacheable reports whether the results of a method must say how long they may be
// kept, and by whom.
func cacheable(method string) bool {
	switch method {
	case discoverMethod, "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
		return true
	}
	return false
}

// finishModern is an answer as an agent of the modern era gets it: its result
// says of which type it is, who made it and, where the method wants that, that it
// is not to be kept. What the server said of these itself stays, and so does an
// error.
func (s *session) finishModern(r *request, line []byte) []byte {
	m, err := wire.Parse(line)
	if err != nil || !m.Result.Ok() {
		return line
	}
	edits := finishing(m.ResultBytes(), cacheable(r.method), s.serverInfo())
	for i := range edits {
		edits[i].Span.Start += m.Result.Start
		edits[i].Span.End += m.Result.Start
	}
	return wire.Splice(line, edits...)
}

// finishing gives the edits that put into a result what it lacks. A result that
// is no object, or has one of the members in a way that two readers could read
// differently, is left alone.
func finishing(result []byte, cached bool, serverInfo []byte) []wire.Edit {
	var at [4]wire.Span
	names := []string{typeMember, ttlMember, scopeMember, "_meta"}
	if wire.Lookup(result, names, at[:]) != nil {
		return nil
	}
	var add object
	if !at[0].Ok() {
		add.raw(typeMember, []byte(typeComplete))
	}
	if cached && (!at[0].Ok() || string(at[0].Of(result)) == typeComplete) {
		if !at[1].Ok() {
			add.raw(ttlMember, []byte("0"))
		}
		if !at[2].Ok() {
			add.text(scopeMember, "private")
		}
	}
	if !at[3].Ok() {
		var meta object
		meta.raw(metaServerInfo, serverInfo)
		add.raw("_meta", meta.bytes())
	}
	edits := inFront(result, 0, add)
	return append(edits, signed(result, at[3], serverInfo)...)
}

// signed is the edit that adds who made the result to the _meta that it has.
func signed(result []byte, meta wire.Span, serverInfo []byte) []wire.Edit {
	var at [1]wire.Span
	value := meta.Of(result)
	if !meta.Ok() || wire.Lookup(value, []string{metaServerInfo}, at[:]) != nil || at[0].Ok() {
		return nil
	}
	var add object
	add.raw(metaServerInfo, serverInfo)
	return inFront(result, meta.Start, add)
}

// inFront is the edit that puts members in front of those of the object that
// begins at from, none if there are none to put.
func inFront(b []byte, from int, add object) []wire.Edit {
	if add.b == nil {
		return nil
	}
	open := from + bytes.IndexByte(b[from:], '{') + 1
	members := bytes.TrimPrefix(add.b, []byte{'{'})
	if rest := bytes.TrimLeft(b[open:], " \t\r\n"); rest[0] != '}' {
		members = append(members, ',')
	}
	return []wire.Edit{{Span: wire.Span{Start: open, End: open}, New: members}}
}

// withSubscription is the params of a notification with the stream it belongs to
// in their _meta, and all else as it was. params that are no object become one.
func withSubscription(params, id []byte) []byte {
	var at [1]wire.Span
	var add object
	add.raw(metaSubscription, id)
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil {
		params = []byte("{}")
	}
	if meta := at[0].Of(params); wire.IsObject(meta) {
		var stands [1]wire.Span
		if wire.Lookup(meta, []string{metaSubscription}, stands[:]) == nil && stands[0].Ok() {
			// The id of some other stream: that of the gateway with the server.
			start := at[0].Start + stands[0].Start
			return wire.Splice(params, wire.Edit{Span: wire.Span{Start: start, End: start + stands[0].End - stands[0].Start}, New: id})
		}
		return wire.Splice(params, inFront(params, at[0].Start, add)...)
	} else if meta != nil {
		return wire.Splice(params, wire.Edit{Span: at[0], New: add.bytes()})
	}
	var whole object
	whole.raw("_meta", add.bytes())
	return wire.Splice(params, inFront(params, 0, whole)...)
}
