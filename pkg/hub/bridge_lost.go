package hub

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// What the agent is told of a call: whether it was sent is what it has to know.
const (
	lostText    = "the hub was lost while the call was under way; it may have happened"
	stoppedText = "the hub was stopped by a person (mcp-serve stop); the call was not sent"
	stoppedAid  = call.AskUser + "restart this agent or its connection to postern, which starts another hub"
)

// lose ends what went down with a hub: the rows of its open calls, and what the
// agent is told: an answer to each of them, and that its open questions have no one
// to wait for the answer. What can be asked again stays open.
func (m *memory) lose(now time.Time, session string, hello *Hello) (rows []calllog.Row, told [][]byte) {
	for _, id := range m.pending() {
		r := m.open[id]
		if r.twins, r.renewed = 0, false; r.line != nil {
			m.open[id] = r
			continue
		}
		delete(m.open, id)
		rows = append(rows, r.row(now, session, hello))
		told = append(told, r.refuse([]byte(id), m.modern(), lostText, ""))
	}
	for _, r := range m.given {
		if now.Sub(r.ended) < config.BridgeGivenUpFor { // of two rows the hub's counts (C81)
			rows = append(rows, r.row(r.ended, session, hello))
		}
	}
	m.given = nil
	for _, q := range m.asked {
		params := append([]byte(`{"requestId":`), q.agent...)
		told = append(told, wire.NotificationLine(cancelledMethod, append(params, `,"reason":"the hub was lost"}`...)))
	}
	clear(m.asked)
	clear(m.muted)
	m.again = 0
	m.epoch++
	return rows, told
}

// modern reports whether the agent speaks the newest revision: it never began a
// session.
func (m *memory) modern() bool {
	if m.initialize != nil {
		return false
	}
	for _, r := range m.open {
		if r.method == "initialize" {
			return false
		}
	}
	return true
}

// refuse answers the request with word hub_lost: a tool call with a result,
// because agents show those to their model (R40, R41).
func (r *request) refuse(id []byte, modern bool, text, remedy string) []byte {
	refusal := &call.Refusal{Step: call.StepDispatch, Word: call.HubLost, Message: text, Remedy: remedy}
	if r.method != "tools/call" {
		return wire.ErrorLine(id, refusal.RPC())
	}
	refusal.Tool = r.name
	result := refusal.ToolResult()
	if modern {
		result = wire.InsertMember(result, "resultType", []byte(`"complete"`))
	}
	return wire.ResultLine(id, result)
}

// row is what is known of the call. Its subject is the name that the agent used:
// which server that is was the hub's to know.
func (r *request) row(now time.Time, session string, hello *Hello) calllog.Row {
	row := calllog.Row{
		ID: string(r.stamp[:]), TS: r.began.UTC(), LatencyMS: float64(now.Sub(r.began).Microseconds()) / 1000,
		ClientPID: hello.ClientPID, Session: session, Tool: r.name, Via: via(r.method, hello),
		Outcome: call.HubLost.Meaning().Outcome, Step: call.StepDispatch, Word: string(call.HubLost),
		RequestBytes: r.size,
	}
	if r.method != "tools/call" {
		row.Code = call.HubLost.Meaning().Code
	}
	return row
}

// via is what the rows of a method say of where it came from.
func via(method string, hello *Hello) string {
	switch method {
	case "tools/call":
		return cmp.Or(hello.Via, "direct")
	case "prompts/get":
		return call.ViaPrompt
	case "resources/read":
		return call.ViaResource
	case "completion/complete":
		return call.ViaCompletion
	case "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update":
		return call.ViaTask
	}
	return call.ViaMethod
}

// shake is the handshake that the next hub gets first, nil when there was none:
// its answer is not shown.
func (m *memory) shake() []byte {
	if m.initialize == nil {
		return nil
	}
	return m.repeat(m.initialize)
}

// repeat is a request under an id of the bridge's own.
func (m *memory) repeat(line []byte) []byte {
	msg, err := wire.Parse(line)
	if err != nil {
		return nil // it was one when it was kept
	}
	m.own++
	id := wire.Quote("postern-" + strconv.Itoa(m.own))
	m.muted[string(id)] = true
	return msg.WithID(id)
}

// resume is what the next hub gets after the handshake: what was set, and what is
// still wanted.
func (m *memory) resume() (sent [][]byte) {
	if m.initialize != nil && m.initialized != nil {
		sent = append(sent, m.initialized)
	}
	if m.level != nil {
		sent = append(sent, m.repeat(m.level))
	}
	uris := make([]string, 0, len(m.subs))
	for uri := range m.subs {
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	for _, uri := range uris {
		sent = append(sent, m.repeat(m.subs[uri]))
	}
	for _, id := range m.pending() {
		r := m.open[id]
		if r.heard && !r.renewed {
			r.renewed = true
			m.again++
			m.open[id] = r
		}
		sent = append(sent, r.line)
	}
	return sent
}
