package pool

import (
	"postern/pkg/catalog"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// clean is f without secrets: a copy, for a failure may be shared. A server may
// say what it was given back in an error of its handshake, and what a failure
// says goes to agents and into the cache (C31). Stderr is clean already. The
// data of the server's error is left out.
func (p *Pool) clean(f *upstream.Failure) *upstream.Failure {
	g := *f
	g.Detail = p.o.Redactor.Text(f.Detail)
	if f.RPC != nil {
		g.RPC = &wire.RPCError{Code: f.RPC.Code, Message: p.o.Redactor.Text(f.RPC.Message)}
	}
	return &g
}

// withoutCredentials takes credentials out of what a server says about itself,
// which is recorded on disk and shown to agents (C31). It is done before anything
// else, as with the items of its lists, so that what is recorded, shown and
// compared is the same.
func (p *Pool) withoutCredentials(raw *catalog.Raw) {
	r := p.o.Redactor
	raw.ServerInfo, raw.Instructions = r.Definition(raw.ServerInfo), r.Instructions(raw.Instructions)
	raw.Capabilities = r.Definition(raw.Capabilities)
}
