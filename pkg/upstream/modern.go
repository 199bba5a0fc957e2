package upstream

import (
	"context"
	"slices"

	"postern/pkg/wire"
)

const discoverMethod = "server/discover"

// The reserved members of a modern request's _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// discover is the modern handshake: one question, after which every request says
// for itself who asks and in which version.
func (c *Client) discover(ctx context.Context) error {
	c.meta = &reserved{
		version: wire.Quote(modernVersion), info: c.clientInfo(), capabilities: orEmpty(c.o.Capabilities),
	}
	result, err := c.ask(ctx, discoverMethod, nil)
	if err != nil {
		return c.refusedVersion(err)
	}
	var at [5]wire.Span
	names := []string{"supportedVersions", "capabilities", "instructions", "serverInfo", "_meta"}
	if err := wire.Lookup(result, names, at[:]); err != nil {
		return c.badAnswer(discoverMethod, err.Error())
	}
	if theirs := at[0].Of(result); !slices.Contains(texts(theirs), modernVersion) {
		return c.badVersion(discoverMethod, string(theirs), []string{modernVersion})
	}
	server := at[3].Of(result)
	if meta := at[4].Of(result); wire.IsObject(meta) {
		var in [1]wire.Span
		if wire.Lookup(meta, []string{metaServerInfo}, in[:]) == nil && in[0].Ok() {
			server = in[0].Of(meta)
		}
	}
	c.learn(Info{
		Era: EraModern, Protocol: modernVersion,
		Capabilities: object(at[1].Of(result)), ServerInfo: object(server), Instructions: text(at[2].Of(result)),
	})
	return nil
}

// refusedVersion names both sides' versions when the server told its own.
func (c *Client) refusedVersion(err error) error {
	f, ok := err.(*Failure)
	if !ok || f.RPC == nil || f.RPC.Code != codeUnsupportedVersion {
		return err
	}
	var at [1]wire.Span
	if wire.Lookup(f.RPC.Data, []string{"supported"}, at[:]) == nil && at[0].Ok() {
		g := *f
		g.Detail = c.badVersion(discoverMethod, string(at[0].Of(f.RPC.Data)), []string{modernVersion}).Detail
		return &g
	}
	return err
}

// texts reads an array of strings and skips what is none.
func texts(raw []byte) (out []string) {
	_ = wire.EachElement(raw, func(v wire.Span) bool { // no array: no strings
		if s, err := wire.Unquote(v.Of(raw)); err == nil {
			out = append(out, s)
		}
		return len(out) < 64
	})
	return out
}
