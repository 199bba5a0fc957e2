package wire

const head = `{"jsonrpc":"2.0"`

// RequestLine writes a request. id and params are JSON; params nil leaves the
// member out. Line breaks between the tokens of id and params are dropped.
func RequestLine(id []byte, method string, params []byte) []byte {
	out := newLine(len(id) + len(method) + len(params))
	out = appendMember(out, "id", id)
	return appendCall(out, method, params)
}

// NotificationLine writes a notification; see RequestLine.
func NotificationLine(method string, params []byte) []byte {
	return appendCall(newLine(len(method)+len(params)), method, params)
}

// ResultLine writes a response with a result; see RequestLine.
func ResultLine(id, result []byte) []byte {
	out := appendMember(newLine(len(id)+len(result)), "id", id)
	return append(appendMember(out, "result", result), '}')
}

// ErrorLine writes a response with an error. id nil is written as null: the id
// of the request could not be read. Data must be valid JSON.
func ErrorLine(id []byte, e *RPCError) []byte {
	if id == nil {
		id = []byte("null")
	}
	out := appendMember(newLine(len(id)+len(e.Message)+len(e.Data)), "id", id)
	out = append(out, `,"error":{"code":`...)
	out = append(out, itoa(e.Code)...)
	out = append(out, `,"message":`...)
	out = appendQuoted(out, e.Message)
	if e.Data != nil {
		out = appendMember(out, "data", e.Data)
	}
	return append(out, '}', '}')
}

func newLine(content int) []byte {
	return append(make([]byte, 0, content+96), head...)
}

func appendMember(out []byte, name string, value []byte) []byte {
	out = append(out, ',', '"')
	out = append(out, name...)
	out = append(out, '"', ':')
	return append(out, OneLine(value)...)
}

func appendCall(out []byte, method string, params []byte) []byte {
	out = append(out, `,"method":`...)
	out = appendQuoted(out, method)
	if params != nil {
		out = appendMember(out, "params", params)
	}
	return append(out, '}')
}
