package mcptest

import (
	"strconv"
	"strings"

	"postern/pkg/wire"
)

// anyQuestion is what rounds asks when it is not told what.
const anyQuestion = `{"q":{"method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}}`

// roundState is a state as it stands in a result: not as an encoder writes it, so
// that one who decodes and encodes it again is found out.
func roundState(k int) string { return `"\u0072ound\/` + strconv.Itoa(k) + `"` }

// round asks for input n times, with requests, an object or an array of one a
// round; false means that all rounds are over, or that the client is a legacy one.
func (s *server) round(m wire.Message, n int, requests []byte) bool {
	if !isModern(m) {
		return false
	}
	k := 0
	if state := member(m.ParamsBytes(), "requestState"); state != nil {
		said, _ := wire.Unquote(state)
		at, err := strconv.Atoi(strings.TrimPrefix(said, "round/"))
		if err != nil || string(state) != roundState(at) {
			s.refuse(m, wire.CodeInvalidParams, "this is not the state that was given: "+string(state))
			return true
		}
		k = at
	}
	if k >= n {
		return false
	}
	if requests == nil {
		requests = []byte(anyQuestion)
	}
	if each, err := elements(requests); err == nil && k < len(each) {
		requests = each[k]
	}
	ask := ""
	if string(requests) != "null" {
		ask = `"inputRequests":` + string(requests) + `,`
	}
	s.out.line(wire.ResultLine(m.IDBytes(), []byte(`{"resultType":"input_required",`+ask+`"requestState":`+roundState(k+1)+`}`)))
	return true
}

// rounds asks, and at the end answers with what the last retry brought.
func (c call) rounds() {
	if c.s.round(c.m, number(c.args, "n", 1), member(c.args, "requests")) {
		return
	}
	p := c.m.ParamsBytes()
	c.structured([]byte(`{"inputResponses":` + orNull(member(p, "inputResponses")) + `,"requestState":` + orNull(member(p, "requestState")) + `}`))
}
