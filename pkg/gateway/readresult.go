package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/config"
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

func (s *session) piece(id, get string, offset, limit int) []byte {
	whole, err := s.g.results.get(s.owner(), id)
	if err != nil {
		return textResult(true, fmt.Sprintf("there is no result %q: a result is kept for %d days, for the project it was given to",
			clipped(id), config.ResultLife/(24*time.Hour)))
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
