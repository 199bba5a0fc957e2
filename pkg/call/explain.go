package call

import (
	"bytes"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// explainArguments gives the tool's schema back when the server refused the
// arguments, so that a model can mend its call (R41): in the data of -32602,
// where the server sent none, and as one more text block of an isError result
// whose call lacked a required member. Both are on the gateway's list of bytes
// it may change.
func (c *Call) explainArguments() {
	m := c.answer.Reply
	schema := c.tool.Def.InputSchema
	if len(schema) == 0 || len(schema) > config.MaxReturnedSchema {
		return
	}
	if m.Error.Ok() {
		c.explainError(schema)
		return
	}
	result, parts := c.result(), c.answer.Parts
	if parts.Partial || !parts.Failed || !parts.Content.Ok() || len(missingRequired(schema, c.arguments)) == 0 {
		return
	}
	text := wire.Quote("input schema of " + c.tool.Def.Name + ": " + string(schema))
	block := append(append([]byte(`,{"type":"text","text":`), text...), '}')
	if content := parts.Content.Of(result); len(bytes.TrimSpace(content[1:len(content)-1])) == 0 {
		block = block[1:]
	}
	end := parts.Content.End - 1
	c.answer.Result = wire.Splice(result, wire.Edit{Span: wire.Span{Start: end, End: end}, New: block})
	c.answer.Parts, _ = ReadResult(c.answer.Result)
}

func (c *Call) explainError(schema []byte) {
	e, err := wire.ParseRPCError(c.answer.Reply.Error.Of(c.answer.Reply.Raw))
	if err != nil || e.Code != wire.CodeInvalidParams || len(e.Data) > 0 {
		return
	}
	r := &Refusal{Word: UpstreamError, Server: c.tool.Server.Declared.ID, Tool: c.tool.Def.Name, InputSchema: schema}
	e.Data = r.Data()
	c.answer.Error = e
}
