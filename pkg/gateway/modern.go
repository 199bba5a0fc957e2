package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"postern/pkg/call"
	"postern/pkg/wire"
)

// modernRevision is the one revision whose requests introduce themselves.
const modernRevision = "2026-07-28"

// The members of _meta with which they do, and those of what they get.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// codeUnsupportedVersion answers a request of a revision that is not spoken.
const codeUnsupportedVersion = -32022

// Methods of the modern era alone.
const (
	discoverMethod = "server/discover"
	listenMethod   = "subscriptions/listen"
)

// supportedVersions are all revisions spoken with agents, newest first.
func supportedVersions() []string { return append([]string{modernRevision}, revisions[:]...) }

// introduction is what a modern request says of itself.
type introduction struct {
	call.Modern
	client []byte // clientInfo as sent, nil without one
}

// introduce reads which era a request is of (R71): nil and nil is the legacy era,
// where requests say nothing of it, or name a revision that begins with
// initialize. A modern request that breaks the rules of its era is answered with
// the error.
func introduce(method string, params []byte) (*introduction, *wire.RPCError) {
	if !mayIntroduce(params) {
		return outside(method, nil)
	}
	var meta, at [4]wire.Span
	if err := wire.Lookup(params, []string{"_meta"}, meta[:1]); err != nil {
		return outside(method, err)
	}
	self := meta[0].Of(params)
	if err := wire.Lookup(self, []string{metaVersion, metaCapabilities, metaClientInfo, metaLogLevel}, at[:]); err != nil {
		return outside(method, err)
	}
	if !at[0].Ok() {
		return outside(method, nil)
	}
	version, err := wire.Unquote(at[0].Of(self))
	switch {
	case err != nil:
		return nil, badMeta(metaVersion, "is not a string")
	case slices.Contains(revisions[:], version):
		return outside(method, nil)
	case version != modernRevision:
		return nil, badVersion(at[0].Of(self))
	}
	return described(self, at[1:])
}

// described reads the rest of an introduction: capabilities, client and level.
func described(self []byte, at []wire.Span) (*introduction, *wire.RPCError) {
	in := &introduction{client: at[1].Of(self)}
	in.Capabilities = at[0].Of(self)
	switch {
	case in.Capabilities == nil:
		return nil, badMeta(metaCapabilities, "is missing")
	case !wire.IsObject(in.Capabilities):
		return nil, badMeta(metaCapabilities, "is not an object")
	case in.client != nil && !wire.IsObject(in.client):
		return nil, badMeta(metaClientInfo, "is not an object")
	case !at[2].Ok():
		return in, nil
	}
	var err error
	if in.LogLevel, err = wire.Unquote(at[2].Of(self)); err != nil || !isLevel(in.LogLevel) {
		return nil, badMeta(metaLogLevel, "is no log level")
	}
	return in, nil
}

// mayIntroduce tells most requests of the legacy era apart without reading them
// once more: the name of a member is there as it is, but for its slash, unless it
// is written in escapes.
func mayIntroduce(params []byte) bool {
	return bytes.Contains(params, []byte("protocolVersion")) || bytes.Contains(params, []byte(`\u`))
}

// outside is the introduction of a request that makes none. One that could be
// read in two ways is refused (R2), and so is one of a method that only the
// modern era has.
func outside(method string, err error) (*introduction, *wire.RPCError) {
	twice, ok := err.(*wire.MemberError)
	switch {
	case ok:
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: twice.Error()}
	case method == discoverMethod || method == listenMethod:
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams,
			Message: fmt.Sprintf("%s needs %q in params._meta, %q", method, metaVersion, modernRevision)}
	}
	return nil, nil
}

func badMeta(member, why string) *wire.RPCError {
	return &wire.RPCError{Code: wire.CodeInvalidParams, Message: fmt.Sprintf("params._meta: %q %s", member, why)}
}

func badVersion(requested []byte) *wire.RPCError {
	supported, _ := json.Marshal(supportedVersions()) // strings only: cannot fail
	var data object
	data.raw("supported", supported)
	data.raw("requested", requested)
	return &wire.RPCError{Code: codeUnsupportedVersion, Message: "unsupported protocol version", Data: data.bytes()}
}

// modern takes a request of the modern era off the legacy table and reports
// whether it was one.
func (s *session) modern(m wire.Message, reply func([]byte)) bool {
	in, problem := introduce(m.Method, m.ParamsBytes())
	switch {
	case problem != nil:
		reply(wire.ErrorLine(m.IDBytes(), problem))
		return true
	case in == nil:
		return false
	}
	s.meet(in)
	if run := s.modernMethod(m.Method); run != nil {
		s.start(m, &in.Modern, reply, run)
	} else {
		reply(unknownMethod(m))
	}
	return true
}

// modernMethod is what answers a method in the modern era, nil for one that was
// left behind.
func (s *session) modernMethod(method string) func(*request, wire.Message) {
	switch method {
	case discoverMethod:
		return s.advertise
	case listenMethod:
		return s.listen
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result":
		return nil
	}
	run, _ := s.runner(method)
	return run
}

// meet takes note of an agent of the modern era with its first request, as
// initialize does in the legacy one; who it says it is may differ from request to
// request.
func (s *session) meet(in *introduction) {
	s.mu.Lock()
	first := !s.met && s.revision == ""
	another := !s.met || !bytes.Equal(s.client, in.client)
	s.met, s.client = true, in.client
	s.mu.Unlock()
	if another {
		s.calls.Claim(clientName(in.client))
	}
	if first {
		s.discover()
		o := s.offer(true)
		s.wg.Go(func() { s.guard(func() { s.warm(o) }) }) // ends with the last index, some milliseconds a server
	}
}

// clientName reads name and version of a clientInfo, as far as they are there.
// What a request does not say of its client nothing else says for it.
func clientName(info []byte) (name, version string) {
	var at [2]wire.Span
	if wire.Lookup(info, []string{"name", "version"}, at[:]) != nil {
		return "", ""
	}
	name, _ = wire.Unquote(at[0].Of(info)) // none: ""
	version, _ = wire.Unquote(at[1].Of(info))
	return name, version
}
