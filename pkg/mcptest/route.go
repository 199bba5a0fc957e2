package mcptest

import (
	"strings"

	"postern/pkg/wire"
)

// The members of a request's _meta that say what its answer is to be.
const (
	metaResult = "fake/result"
	metaError  = "fake/error"
)

// handler answers one request. cancelled is closed when the client cancels it.
type handler func(s *server, m wire.Message, cancelled <-chan struct{})

// handlers are the methods but those of the handshake. Those that wait run in
// a goroutine of their own.
func handlers() map[string]handler {
	list := func(s *server, m wire.Message, _ <-chan struct{}) { s.list(m) }
	return map[string]handler{
		toolsList: list, promptsList: list, resourcesList: list, templatesList: list,
		"ping":                  func(s *server, m wire.Message, _ <-chan struct{}) { s.answer(m, []byte("{}")) },
		"prompts/get":           func(s *server, m wire.Message, _ <-chan struct{}) { s.prompt(m) },
		"resources/read":        func(s *server, m wire.Message, _ <-chan struct{}) { s.resource(m) },
		"resources/subscribe":   func(s *server, m wire.Message, _ <-chan struct{}) { s.subscribe(m, true) },
		"resources/unsubscribe": func(s *server, m wire.Message, _ <-chan struct{}) { s.subscribe(m, false) },
		"completion/complete":   func(s *server, m wire.Message, _ <-chan struct{}) { s.complete(m) },
		"logging/setLevel":      func(s *server, m wire.Message, _ <-chan struct{}) { s.setLevel(m) },
		"subscriptions/listen":  func(s *server, m wire.Message, _ <-chan struct{}) { s.listen(m) },
		"tasks/get":             func(s *server, m wire.Message, _ <-chan struct{}) { s.taskGet(m) },
		"tasks/list":            func(s *server, m wire.Message, _ <-chan struct{}) { s.taskList(m) },
		"tasks/cancel":          func(s *server, m wire.Message, _ <-chan struct{}) { s.taskCancel(m) },
		"tasks/update":          func(s *server, m wire.Message, _ <-chan struct{}) { s.taskUpdate(m) },
		"tools/call":            (*server).call,
		"tasks/result":          (*server).taskResult,
	}
}

func (s *server) request(m wire.Message) {
	if why := s.refused(m); why != nil {
		s.out.line(wire.ErrorLine(m.IDBytes(), why))
		return
	}
	switch m.Method {
	case "initialize":
		s.initialize(m)
		return
	case "server/discover":
		s.discover(m)
		return
	}
	if s.asTold(m) {
		return
	}
	do := handlers()[m.Method]
	switch {
	case strings.HasPrefix(m.Method, "vendor/"):
		s.answer(m, []byte(`{"method":`+string(wire.Quote(m.Method))+`,"params":`+orNull(m.ParamsBytes())+`}`))
	case do == nil:
		s.refuse(m, wire.CodeMethodNotFound, "no method "+m.Method)
	case m.Method == "tools/call" || m.Method == "tasks/result":
		s.work(m, do)
	default:
		do(s, m, nil)
	}
}

// asTold answers a request that brings its own answer.
func (s *server) asTold(m wire.Message) bool {
	meta := member(m.ParamsBytes(), "_meta")
	if result := member(meta, metaResult); result != nil {
		s.out.line(wire.ResultLine(m.IDBytes(), result))
		return true
	}
	if e := member(meta, metaError); e != nil {
		s.out.line(wire.InsertMember([]byte(`{"id":`+string(m.IDBytes())+`,"error":`+string(e)+`}`), "jsonrpc", []byte(`"2.0"`)))
		return true
	}
	return false
}

// work runs what may wait and can be cancelled.
func (s *server) work(m wire.Message, do handler) {
	cancelled := make(chan struct{})
	key := wire.IDKey(m.IDBytes())
	s.mu.Lock()
	s.running[key] = cancelled
	s.mu.Unlock()
	go func() { // ends with the request: all of them wait with a bound, or for the end of the process
		do(s, m, cancelled)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[key] == cancelled {
			delete(s.running, key)
		}
	}()
}

func echo(params []byte) []byte {
	if params == nil {
		return []byte("{}")
	}
	return wire.InsertMember([]byte("{}"), "echo", params)
}

func orNull(raw []byte) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
