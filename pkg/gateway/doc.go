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
//	request, tools/call    params.arguments    null becomes {}: some clients write none so, and servers refuse it
//	request, tools/call    params._meta.progressToken
//	                                           own token, unique on the connection; the agent's bytes come back in progress (R45)
//	request, tools/call    params._meta        for a modern server: protocolVersion, clientInfo, clientCapabilities
//	notification, cancelled  requestId         the server's id of that call
//	tools/list             name                the exposed name (R60)
//	tools/list             inputSchema         "type":"object" inserted where the root lacks it (C72)
//	tools/list             strings             a credential that the server was given (C31)
//	tools/list             description         cut at a sentence to max_description_chars (R63)
//	tools/list             the list            merged over servers, cut in own pages (R71); in lazy exposure the
//	                                           gateway's own tools stand in for all of it (R63)
//	request, call_tool     params              name and arguments become those of the tool that is called, arguments
//	                                           absent or null become {}; the rest stays (R63)
//	result, isError        content             one more text block with the input schema, where a required argument was missing (R41)
//	result                 content             one text block with the JSON of structuredContent, where there is no
//	                                           content beside it (R69)
//	result                 content             over max_result_bytes: blocks of text cut and left out, one more text
//	                                           block that says so (R69)
//	result                 structuredContent   over max_result_bytes: left out, but of errors and of a direct tool
//	                                           that declares outputSchema (R69)
//	result, call_tool      the result          with get: the value at that path as one text block
//	error -32602           data                the tool's input schema, where the server sent no data (R41)
//	result                 resultType          "complete" inserted for a modern agent where there is none, and taken out for a
//	                                           legacy one: its era knows none (R73)
//	result                 ttlMs, cacheScope   for a modern agent 0 and "private" inserted, where the method wants them and the
//	                                           server said nothing
//	result                 _meta.serverInfo    for a modern agent inserted where there is none: the gateway's, or with --only
//	                                           the server's
//	notification           params._meta.subscriptionId
//	                                           the server's taken out, and for a modern agent the id of its subscriptions/listen
//
// A result that is not complete (resultType, task) is never changed but for who
// made it.
//
// # Kept results, version 1
//
// The whole of a result that was cut lies in state/results/ID, where ID is 128
// random bits in hexadecimal. The file is one line of JSON and then the result
// as the server sent it:
//
//	v                   1; any other number is another format
//	caller, project     whom it was given to; nobody else can read it
//	bytes               of the result, so that a torn file is told from a whole one
//
// It is removed after config.ResultLife, or sooner to keep all of them below
// config.ResultStoreBytes, the oldest first. A file that is not as described is
// as good as none. testdata/results/ holds one.
//
// Refusals and failures of the gateway itself carry their details as the
// error's data, or in _meta["postern/error"] of a tool result (R40, R41).
package gateway
