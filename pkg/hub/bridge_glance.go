package hub

import (
	"bytes"

	"postern/pkg/wire"
)

// glance reads of a line of the hub what the bridge must know of it, without
// reading all of it, where it is written in one of the usual orders. The hub has
// checked the line: a member of the envelope is there once, and nothing follows
// it. ok is false where the whole has to be read. Of the method no more is told than
// that the bridge does nothing about it.
func glance(line []byte) (m wire.Message, ok bool) {
	rest, versioned := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0",`))
	if !versioned {
		if rest, ok = bytes.CutPrefix(line, []byte("{")); !ok {
			return m, false
		}
	}
	m.Raw = line
	at := len(line) - len(rest)
	switch {
	case bytes.HasPrefix(rest, []byte(`"result":`)):
		m.Kind, m.Result = wire.Response, wire.Span{Start: at, End: len(line)}
		m.ID = idAtEnd(line)
		return m, m.ID.Ok()
	case !versioned:
		return m, false // an id at the front says nothing of what follows
	case bytes.HasPrefix(rest, []byte(`"id":`)):
		return m, idInFront(&m, at+len(`"id":`))
	case bytes.HasPrefix(rest, []byte(`"method":"notifications/`)):
		from := at + len(`"method":"`)
		end := from + bytes.IndexByte(line[from:], '"')
		if end < from || bytes.IndexByte(line[from:end], '\\') >= 0 {
			return m, false
		}
		m.Kind, m.Method = wire.Notification, notification(line[from:end])
		return m, m.Method != ""
	}
	return m, false
}

// notification stands for a method that the bridge does nothing about; "" where it
// does, and has to read the whole.
func notification(method []byte) string {
	switch string(method) {
	case cancelledMethod, acknowledgedMethod:
		return ""
	}
	return "notifications/"
}

// idInFront reads an id that begins at from, and what the member after it makes of
// the message.
func idInFront(m *wire.Message, from int) bool {
	line := m.Raw
	end := from
	if end < len(line) && line[end] == '"' {
		at := bytes.IndexByte(line[end+1:], '"')
		end += at + 2
		if at < 0 || bytes.IndexByte(line[from:end], '\\') >= 0 {
			return false
		}
	} else if end += bytes.IndexByte(line[end:], ','); end <= from || line[end-1] < '0' || line[end-1] > '9' {
		return false
	}
	m.ID = wire.Span{Start: from, End: end}
	value := wire.Span{Start: end, End: len(line)}
	switch rest := line[end:]; {
	case bytes.HasPrefix(rest, []byte(`,"result":`)):
		m.Kind, m.Result = wire.Response, value
	case bytes.HasPrefix(rest, []byte(`,"error":`)):
		m.Kind, m.Error = wire.Response, value
	default:
		return false // a question, which is read whole
	}
	return m.ID.Ok()
}

// idAtEnd is where the id stands when it is the last member, or the last but
// jsonrpc. What stands directly before the last brace belongs to the message
// itself, and to nothing in it.
func idAtEnd(line []byte) wire.Span {
	rest, closed := bytes.CutSuffix(line, []byte("}"))
	rest, _ = bytes.CutSuffix(rest, []byte(`,"jsonrpc":"2.0"`))
	if !closed || len(rest) == 0 {
		return wire.Span{}
	}
	end := len(rest)
	start := end
	if rest[end-1] == '"' {
		start = bytes.LastIndexByte(rest[:end-1], '"')
	} else {
		for start > 0 && '0' <= rest[start-1] && rest[start-1] <= '9' {
			start--
		}
	}
	if start < 0 || !bytes.HasSuffix(rest[:start], []byte(`,"id":`)) {
		return wire.Span{}
	}
	return wire.Span{Start: start, End: end}
}
