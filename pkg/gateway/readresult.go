package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// owner is whom this session's kept results belong to: nobody proves an
// identity yet, so the project alone tells sessions apart.
func (s *session) owner() owner { return owner{Project: s.o.Project} }

// readResult reads on in a result that was cut. offset and limit count bytes of
// its text, or of the value that get finds in it; a piece begins and ends with a
// whole character.
func (s *session) readResult(_ context.Context, v *call.View, raw []byte) []byte {
	var id, get string
	var offset, limit int
	most := config.DefaultResultBytes
	if n := s.exposure(v).MaxResultBytes; n > 0 {
		most = n
	}
	at, problem := arguments(readResultName, raw, "id", "offset", "limit", "get")
	if problem == "" {
		id, problem = stringArgument(raw, at[0], "id")
	}
	if problem == "" {
		offset, problem = numberArgument(raw, at[1], "offset", 0, 0)
	}
	if problem == "" {
		limit, problem = numberArgument(raw, at[2], "limit", 1, most)
	}
	if problem == "" {
		get, problem = stringArgument(raw, at[3], "get")
	}
	if problem == "" {
		if err := checkPath(get); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		return textResult(true, problem)
	}
	return s.piece(strings.TrimPrefix(id, resultScheme), get, offset, min(limit, most))
}

// readKept answers resources/read of a kept result: all of it, as the JSON that
// it is. It is a use of read_result to policies and in the log.
func (s *session) readKept(r *request, m wire.Message, uri string) {
	own := s.own.readResult.Own
	var found []byte
	own.Run = func(context.Context, *call.View, []byte) []byte {
		whole, err := s.g.results.get(s.owner(), strings.TrimPrefix(uri, resultScheme))
		if err != nil {
			return textResult(true, err.Error())
		}
		found = whole
		return textResult(false)
	}
	s.calls.DoOwn(r.ctx, &own, call.Request{Method: r.method, Modern: r.modern, LineBytes: len(m.Raw), RowID: r.row}, func(a call.Answer) {
		switch {
		case a.Refusal != nil:
			s.done(r, s.answerLine(r, a, wanted{}))
		case found == nil:
			s.done(r, wire.ErrorLine(r.id, noResource(r, noResult(uri))))
		default:
			s.done(r, keptLine(r, uri, found))
		}
	})
}

// keptLine is a kept result as the one content of a resource. Quoted it may be
// longer than any message may be.
func keptLine(r *request, uri string, whole []byte) []byte {
	o := object{}
	o.text("uri", uri)
	o.text("mimeType", "application/json")
	o.text("text", string(whole))
	if len(o.b) > config.MaxMessageBytes {
		return wire.ErrorLine(r.id, &wire.RPCError{Code: wire.CodeInternal,
			Message: "the result is too long for one message; read it with " + readResultName})
	}
	return wire.ResultLine(r.id, append(append([]byte(`{"contents":[`), o.bytes()...), "]}"...))
}

// noResource is the error for a URI that there is nothing at; the code is that of
// the agent's era (R61).
func noResource(r *request, message string) *wire.RPCError {
	if r.modern != nil {
		return &wire.RPCError{Code: wire.CodeInvalidParams, Message: message}
	}
	return &wire.RPCError{Code: codeResourceNotFound, Message: message}
}

// codeResourceNotFound answers a URI that there is nothing at, in legacy revisions.
const codeResourceNotFound = -32002

func noResult(id string) string {
	return fmt.Sprintf("there is no result %q: a result is kept for %d days, for the project it was given to",
		clipped(id), config.ResultLife/(24*time.Hour))
}

func (s *session) piece(id, get string, offset, limit int) []byte {
	whole, err := s.g.results.get(s.owner(), id)
	if err != nil {
		return textResult(true, noResult(id))
	}
	parts, _ := call.ReadResult(whole) // it was read before it was kept
	text := resultText(whole, parts)
	if get != "" {
		found := false
		if text, found = valueAt(whole, get); !found {
			return textResult(true, fmt.Sprintf("the result has nothing at get %q", get))
		}
	}
	if offset > 0 && offset >= len(text) {
		return textResult(true, fmt.Sprintf("the text ends at byte %d", len(text)))
	}
	from, to := between(text, offset, limit)
	note := fmt.Sprintf("[postern: bytes %d to %d of %d", from, to, len(text))
	if to < len(text) {
		note += fmt.Sprintf("; read on with offset %d", to)
	}
	return textResult(false, text[from:to], note+"]")
}

// between moves both ends of a piece to where characters begin, and takes at
// least one character.
func between(text string, offset, limit int) (from, to int) {
	from = offset
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	to = min(from+limit, len(text))
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	if to == from && from < len(text) {
		_, n := utf8.DecodeRuneInString(text[from:])
		to = from + n
	}
	return from, to
}
