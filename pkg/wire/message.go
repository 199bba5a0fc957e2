package wire

import "strconv"

// Kind says what a message is.
type Kind uint8

// The three kinds of message; the zero Kind is none of them.
const (
	Request Kind = iota + 1
	Notification
	Response
)

// Message is one checked message: the bytes and where their members stand. It
// is a value; all copies share Raw, which nobody modifies.
type Message struct {
	Raw                       []byte // the checked line without its newline
	Kind                      Kind
	ID, Params, Result, Error Span   // spans into Raw; an absent member is the zero Span
	Method                    string // decoded; "" for a response
}

// IDBytes returns the id as written, nil when there is none. An error response
// may carry the id null.
func (m Message) IDBytes() []byte { return m.ID.Of(m.Raw) }

// ParamsBytes returns the params as written, nil when there are none.
func (m Message) ParamsBytes() []byte { return m.Params.Of(m.Raw) }

// ResultBytes returns the result as written, nil when there is none.
func (m Message) ResultBytes() []byte { return m.Result.Of(m.Raw) }

// ErrorBytes returns the error object as written, nil when there is none.
func (m Message) ErrorBytes() []byte { return m.Error.Of(m.Raw) }

// WithID returns a copy of Raw with the id replaced and every other byte kept
// (R4). A message without an id is copied as it is.
func (m Message) WithID(id []byte) []byte {
	if !m.ID.Ok() {
		return Splice(m.Raw)
	}
	return Splice(m.Raw, Edit{m.ID, id})
}

// ParseError says why a line is no message that can be passed on.
type ParseError struct {
	Code   int    // CodeParse: not JSON; CodeInvalidRequest: JSON, but no valid message
	Reason string // for people
	ID     []byte // the id as written when it could be read without doubt, else nil
	Noise  bool   // not JSON, or JSON that does not claim to be JSON-RPC (R3)
	Batch  bool   // a JSON array (R5); also Noise unless an element claims to be JSON-RPC
}

func (e *ParseError) Error() string { return "not a JSON-RPC message: " + e.Reason }

// Parse checks a whole line and finds the members of the message in it (R2):
// valid UTF-8, valid JSON, at most MaxDepth deep, jsonrpc "2.0", a request,
// notification or response and nothing between, no member of the envelope twice
// or in another case. The message keeps line. The error is always a *ParseError.
// Numbers and members that are not of the envelope are never judged.
func Parse(line []byte) (Message, error) {
	s := scan{b: line}
	var e envelope
	start := s.space(0)
	var end int
	if s.byte(start) == '{' {
		end = s.envelope(start, &e)
	} else {
		end = s.value(start, 0)
	}
	if end >= 0 && s.space(end) != len(line) {
		end = s.fail(s.space(end), "text after the message")
	}
	if end < 0 || s.byte(start) != '{' || s.badUTF8 > 0 {
		return Message{}, s.refuse(start, &e)
	}
	m := Message{Raw: line, ID: e.spans[memID], Params: e.spans[memParams], Result: e.spans[memResult], Error: e.spans[memError]}
	var reason string
	if m.Kind, m.Method, reason = e.classify(line); reason != "" {
		return Message{}, &ParseError{Code: CodeInvalidRequest, Reason: reason, ID: e.id(line), Noise: !e.claims}
	}
	return m, nil
}

// refuse makes the error of a line that is not a JSON object in valid UTF-8.
func (s *scan) refuse(start int, e *envelope) *ParseError {
	switch {
	case s.why == whyDepth:
		id, claims := looseEnvelope(s.b)
		return &ParseError{Code: CodeInvalidRequest, Reason: whyDepth, ID: id, Noise: !claims}
	case s.why != "":
		return &ParseError{Code: CodeParse, Reason: s.why + " at byte " + itoa(s.at), Noise: true}
	case s.badUTF8 > 0:
		return &ParseError{Code: CodeParse, Reason: "invalid UTF-8 at byte " + itoa(s.badUTF8-1), ID: e.id(s.b), Noise: !e.claims}
	case s.byte(start) == '[':
		return &ParseError{Code: CodeInvalidRequest, Reason: "a batch", Noise: !batchClaims(s.b), Batch: true}
	}
	return &ParseError{Code: CodeInvalidRequest, Reason: "not an object", Noise: true}
}

// batchClaims reports whether an element of the array says it is JSON-RPC.
func batchClaims(line []byte) (claims bool) {
	_ = EachElement(line, func(v Span) bool {
		if IsObject(v.Of(line)) {
			_, claims = looseEnvelope(v.Of(line))
		}
		return !claims
	})
	return claims
}

func itoa(n int) string { return strconv.Itoa(n) }
