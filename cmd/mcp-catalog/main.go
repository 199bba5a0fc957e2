/*
Mcp-catalog says which servers are declared and what they offer.

	mcp-catalog add NAME [--env K=V]… [-- COMMAND ARG…]   declare a server
	mcp-catalog rm NAME                                   take a declaration away
	mcp-catalog enable NAME | disable NAME                let it be started, or not
	mcp-catalog test NAME | -- COMMAND ARG…               start it once and say what it offers
	mcp-catalog refresh [SERVER…] [--stale]               ask servers for their lists and record them
	mcp-catalog servers                                   the declared servers, a row each
	mcp-catalog tools [PATTERN…] [--tier T]               their tools, a row each
	mcp-catalog show NAME                                 one tool or one server in full

Only test, refresh, and add which ends with one, start servers; the other
verbs read what was recorded. A server that a project's file declares is started
by none of them before mcp-trust approved it.

Lists are tables on a terminal and JSON lines elsewhere. What a server says
of itself is shown on a terminal with everything escaped that could act on it.

Declare a server and see what it offers:

	mcp-catalog add github -- github-mcp-server stdio
	mcp-catalog tools 'github/*'

Keep the recorded lists young, from cron, hearing only of what changed:

	mcp-catalog refresh --stale
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-catalog", app) }
