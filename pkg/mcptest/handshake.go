package mcptest

import "postern/pkg/wire"

// Initialize does the handshake of the newest legacy revision, with the
// capability to be asked forms, and returns the result of initialize.
func (a *Agent) Initialize() []byte {
	a.t.Helper()
	return a.InitializeAs(newestLegacy, `{"elicitation":{}}`)
}

// InitializeAs does the handshake of a revision with these capabilities, an
// object, and returns the result of initialize.
func (a *Agent) InitializeAs(revision, capabilities string) []byte {
	a.t.Helper()
	result := a.Ask("initialize", initializeParams(revision, capabilities))
	a.Notify("notifications/initialized", "")
	return result
}

// BeginInitialize begins the handshake of the newest legacy revision, without a
// capability, and returns the id of the request.
func (a *Agent) BeginInitialize() string {
	a.t.Helper()
	return a.Request("initialize", initializeParams(newestLegacy, "{}"))
}

func initializeParams(revision, capabilities string) string {
	return `{"protocolVersion":` + string(wire.Quote(revision)) + `,"capabilities":` + capabilities + `,"clientInfo":{"name":"mcptest","version":"1.0"}}`
}

// Modern makes every further request one of the newest revision, with these
// client capabilities, an object, in its _meta. A _meta that params already have
// is kept and gets the members in front of its own.
func (a *Agent) Modern(capabilities string) {
	a.meta = []byte(`"` + metaVersion + `":"` + modern + `","` + metaClientCaps + `":` + capabilities)
}

// stamped are the params of a request with what a modern agent puts into each.
func (a *Agent) stamped(params []byte) []byte {
	if a.meta == nil {
		return params
	}
	if params == nil {
		params = []byte("{}")
	}
	var at [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil {
		return params // not an object: sent as it is
	}
	old := at[0].Of(params)
	if !wire.IsObject(old) {
		return wire.InsertMember(params, "_meta", []byte("{"+string(a.meta)+"}"))
	}
	members := string(a.meta)
	if len(wire.InsertMember(old, "x", []byte("1"))) > len(old)+len(`"x":1`) {
		members += "," // there are others
	}
	open := at[0].Start + 1
	return wire.Splice(params, wire.Edit{Span: wire.Span{Start: open, End: open}, New: []byte(members)})
}

// Answer answers a request of the other side with a result.
func (a *Agent) Answer(request wire.Message, result string) {
	a.Send(string(wire.ResultLine(request.IDBytes(), []byte(result))))
}

// Refuse answers a request of the other side with an error.
func (a *Agent) Refuse(request wire.Message, code int, message string) {
	a.Send(string(wire.ErrorLine(request.IDBytes(), &wire.RPCError{Code: code, Message: message})))
}

// Notify sends a notification; params "" leaves the member out.
func (a *Agent) Notify(method, params string) {
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	a.Send(string(wire.NotificationLine(method, raw)))
}

// Cancel cancels a request of this agent, raw id, with a reason; "" leaves it out.
func (a *Agent) Cancel(id, reason string) {
	params := `{"requestId":` + id
	if reason != "" {
		params += `,"reason":` + string(wire.Quote(reason))
	}
	a.Notify("notifications/cancelled", params+"}")
}
