// Package gateway owns MCP towards agents: it answers initialize and the
// lists from what is known, sends every other request down the line (package call)
// and brings the answer back as the bytes that the server sent. Requests and
// notifications of servers go the other way.
//
// A Gateway serves any number of sessions over any connections; it knows
// nothing of standard input or of the life of the process.
//
// # What the gateway changes
//
// A message is passed on as it was received but for this list (R4). Of what a bridge
// relays, the id of the row in front of each line is no part of the message (C81).
//
//	request                id                  own id towards the server; the agent's bytes come back
//	request                envelope            written anew: jsonrpc, id, method and params, without members of other
//	                                           names and without spaces between them
//	request                params.name         the server's own name for the tool or prompt (R60)
//	request                params.uri          the server's own URI, where another server has the same one (R61)
//	request, completion/complete  params.ref   its name or uri, likewise
//	request, tools/call    params.arguments    null becomes {}: some clients write none so, and servers refuse it
//	request                params._meta.progressToken
//	                                           own token, unique on the connection; the agent's bytes come back in progress (R45)
//	request                params._meta.traceparent
//	                                           our span in place of the agent's, in the same trace (R46)
//	request                params._meta, modern server
//	                                           protocolVersion, clientInfo, clientCapabilities as far as this server may
//	                                           use them, and logLevel, put or replaced (R73)
//	request                params, modern agent
//	                                           towards a legacy server these four are taken out of _meta, and
//	                                           inputResponses, requestState and task out of params (R73)
//	request                params, again       a call that a modern server asked something first: with inputResponses and
//	                                           requestState, for a legacy agent (R73)
//	request, subscriptions  params             resources/subscribe and unsubscribe are counted: the first and the last
//	                                           of a resource go to a legacy server; to a modern one, and to one that was
//	                                           started again, goes what the gateway makes of all (R72)
//	request, call_tool     params              name and arguments become those of the tool that is called, arguments
//	                                           absent or null become {}; the rest stays (R63)
//	notification           envelope            written anew, as that of a request
//	notification, cancelled  requestId         the server's id of that call, the agent's of that question
//	notification, cancelled  reason            its text, written by us; other members are left out
//	notification           params._meta.subscriptionId
//	                                           the server's taken out, and for a modern agent the id of its
//	                                           subscriptions/listen (R73)
//	notification, updated  uri                 as the agent knows it, where another server has the same one (R61)
//	question               id                  own id towards the agent; the server's bytes come back
//	question               envelope            written anew, as that of a request
//	question               params._meta.progressToken
//	                                           own token; the server's bytes come back in progress
//	question, elicitation/create  message      "[server <id>] " in front of it, but not with --only (R72)
//	question, elicitation/create  elicitationId
//	                                           made for a legacy agent where a modern server wants a page visited (R73)
//	answer to a question   id                  that of the question
//	answer to a question, tasks/list  tasks    those of other servers' questions are left out (R72)
//	list                   name, uri           the exposed name (R60) or URI (R61)
//	list                   the list            merged over servers, cut in own pages (R71); in lazy exposure the
//	                                           gateway's own tools stand in for all tools (R63); a legacy server's tools that
//	                                           need a task are left out for a modern agent (R73)
//	list, tools            inputSchema         "type":"object" inserted where the root lacks it (C72)
//	list                   strings             a credential that the server was given (C31)
//	list, tools            description         cut at a sentence to max_description_chars (R63)
//	result                 resultType          "complete" put for a modern agent where there is none; taken out for a
//	                                           legacy one, whose era knows none (R73)
//	result                 _meta.serverInfo    put for a modern agent where there is none: the gateway's, with --only the
//	                                           server's (R73)
//	result                 ttlMs, cacheScope   0 and "private" put for a modern agent, where the method wants them and the
//	                                           server said nothing (R73)
//	result, isError        content             one more text block with the input schema, where a required argument was missing (R41)
//	result                 content, empty      one text block with the JSON of structuredContent, where there is no
//	                                           content beside it (R69)
//	result                 texts               of content, contents and messages, over max_result_bytes: cut and left
//	                                           out, and one more text that says so (R69)
//	result                 structuredContent   over max_result_bytes: left out, but of errors and of a direct tool
//	                                           that declares outputSchema (R69)
//	result, completion     values              of a resource template: those left out that make a URI which is denied (R54)
//	result, call_tool      the result          with get: the value at that path as one text block
//	error -32602           data                the tool's input schema, where the server sent no data (R41)
//	error -32002           code                -32602 for a modern agent (R73)
//	error -32042           the error           for a modern agent that visits pages a result that asks for it (R73)
//
// The results of a session whose Options say Whole lack and get nothing of the
// lines of content, texts and structuredContent but with get. Of a result that is
// not complete (resultType, task) nothing but what a modern
// agent wants of every result is changed. What has no counterpart is the gateway's
// own and not on the list: initialize, server/discover, ping, logging/setLevel,
// subscriptions/listen with its acknowledgement, tasks/list, and the notifications
// that a list changed.
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
// The agent reads on in it with read_result, or reads it whole as the resource
// postern://results/ID, a text that is the JSON of the result.
//
// It is removed after config.ResultLife, or sooner to keep all of them below
// config.ResultStoreBytes, the oldest first. A file that is not as described is
// as good as none. testdata/results/ holds one.
//
// Refusals and failures of the gateway itself carry their details as the
// error's data, or in _meta["postern/error"] of a tool result (R40, R41).
package gateway
