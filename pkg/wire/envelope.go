package wire

// Members of the envelope, indices into envelope.spans; memName names them.
const (
	memVersion = iota
	memID
	memMethod
	memParams
	memResult
	memError
	memCount
)

// envelope collects the members of one message while it is scanned.
type envelope struct {
	spans  [memCount]Span
	claims bool   // some form of a jsonrpc member is there
	idBad  bool   // the id is there twice or in another case: no answer may use it
	reason string // the first fault among the members
}

func memName(k int) string {
	return [memCount]string{"jsonrpc", "id", "method", "params", "result", "error"}[k]
}

// envelope scans the object at i to its end, noting the members in e. Faults of
// members do not stop it: text that is not JSON is said first.
func (s *scan) envelope(i int, e *envelope) int {
	if i = s.space(i + 1); s.byte(i) == '}' {
		return i + 1
	}
	for {
		keyEnd, plain := s.str(i)
		if keyEnd < 0 {
			return -1
		}
		start := s.colon(keyEnd)
		if start < 0 {
			return -1
		}
		end := s.value(start, 1)
		if end < 0 {
			return -1
		}
		e.note(s.b[i:keyEnd], plain, Span{start, end})
		i = s.space(end)
		switch s.byte(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return i + 1
		default:
			return s.fail(i, "no , or } after a member")
		}
	}
}

// note records one member.
func (e *envelope) note(key []byte, plain bool, v Span) {
	k, exact := memberOf(key, plain)
	if k < 0 {
		return
	}
	e.claims = e.claims || k == memVersion
	switch {
	case !exact:
		e.fault(k, "in another case")
	case e.spans[k].Ok():
		e.fault(k, "twice")
	default:
		e.spans[k] = v
	}
}

func (e *envelope) fault(k int, how string) {
	e.idBad = e.idBad || k == memID
	if e.reason == "" {
		e.reason = "member " + memName(k) + " is there " + how
	}
}

// memberOf finds which member of the envelope a key is, -1 for none; exact is
// false when only the case differs.
func memberOf(key []byte, plain bool) (k int, exact bool) {
	switch string(key) {
	case `"jsonrpc"`:
		return memVersion, true
	case `"id"`:
		return memID, true
	case `"method"`:
		return memMethod, true
	case `"params"`:
		return memParams, true
	case `"result"`:
		return memResult, true
	case `"error"`:
		return memError, true
	}
	for k := range memCount {
		if match := matchKey(key, plain, memName(k)); match != differs {
			return k, match == equal
		}
	}
	return -1, false
}

// id is the id an error answer may carry, nil when there is none or any doubt.
func (e *envelope) id(line []byte) []byte {
	if id := e.spans[memID].Of(line); !e.idBad && isID(id) {
		return id
	}
	return nil
}

// classify decides what the message is, or why it is none.
func (e *envelope) classify(line []byte) (k Kind, method, reason string) {
	if e.reason != "" {
		return 0, "", e.reason
	}
	version := e.spans[memVersion]
	if !version.Ok() {
		return 0, "", "no member jsonrpc"
	}
	if !isString(version.Of(line), "2.0") {
		return 0, "", `jsonrpc is not "2.0"`
	}
	if e.spans[memMethod].Ok() {
		return e.call(line)
	}
	return Response, "", e.response(line)
}

// call checks a request or notification.
func (e *envelope) call(line []byte) (Kind, string, string) {
	if e.spans[memResult].Ok() || e.spans[memError].Ok() {
		return 0, "", "a method together with a result or an error"
	}
	method, err := Unquote(e.spans[memMethod].Of(line))
	if err != nil {
		return 0, "", "method is not a string"
	}
	if p := e.spans[memParams].Of(line); p != nil && p[0] != '{' && p[0] != '[' && p[0] != 'n' {
		return 0, "", "params is neither an object nor an array"
	}
	id := e.spans[memID].Of(line)
	if id == nil {
		return Notification, method, ""
	}
	if !isID(id) {
		return 0, "", "id is neither a string nor a number"
	}
	return Request, method, ""
}

// response checks a response and returns its fault, "" for none.
func (e *envelope) response(line []byte) string {
	id, result, failure := e.spans[memID].Of(line), e.spans[memResult].Ok(), e.spans[memError].Of(line)
	switch {
	case e.spans[memParams].Ok():
		return "params without a method"
	case result && failure != nil:
		return "both a result and an error"
	case !result && failure == nil:
		return "neither a method nor a result nor an error"
	case failure != nil && failure[0] != '{':
		return "error is not an object"
	case failure != nil && (id == nil || id[0] == 'n'):
		return "" // the answer to a request whose id its receiver could not read
	case !isID(id):
		return "id of a response is neither a string nor a number"
	}
	return ""
}

// isID reports whether a checked value has the type of an id.
func isID(id []byte) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || isDigit(id[0]))
}

// isString reports whether a checked value is the string want.
func isString(raw []byte, want string) bool {
	if len(raw) == len(want)+2 {
		return raw[0] == '"' && string(raw[1:len(raw)-1]) == want // an escape would be longer
	}
	s, err := Unquote(raw)
	return err == nil && s == want
}
