// Package gateway owns MCP towards agents: it answers initialize and the
// lists from what is known, sends each tools/call down the line (package call)
// and brings the answer back as the bytes that the server sent.
//
// A Gateway serves any number of sessions over any connections; it knows
// nothing of standard input or of the life of the process.
//
// # What the gateway changes
//
// A message is passed on as it was received but for this list (R4):
//
//	request, tools/call    id                  own id towards the server; the agent's bytes come back
//	request, tools/call    params.name         the server's own name for the tool (R60)
//	request, tools/call    params._meta.progressToken
//	                                           own token, unique on the connection; the agent's bytes come back in progress (R45)
//	request, tools/call    params._meta        for a modern server: protocolVersion, clientInfo, clientCapabilities
//	notification, cancelled  requestId         the server's id of that call
//	tools/list             name                the exposed name (R60)
//	tools/list             inputSchema         "type":"object" inserted where the root lacks it (C72)
//	tools/list             the list            merged over servers, cut in own pages (R71)
//	result, isError        content             one more text block with the input schema, where a required argument was missing (R41)
//	error -32602           data                the tool's input schema, where the server sent no data (R41)
//
// Refusals and failures of the gateway itself carry their details as the
// error's data, or in _meta["postern/error"] of a tool result (R40, R41).
package gateway
