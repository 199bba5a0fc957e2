/*
Mcp-trust decides which servers of a project may start.

	mcp-trust status [SERVER…]       what the project declares, what it would run, and what was decided
	mcp-trust allow SERVER [--class C] [--digest D] [--env NAME]… [--unpinned] [--note T]
	mcp-trust deny SERVER [--note T]
	mcp-trust revoke SERVER
	mcp-trust list [--all]           the decisions

A server that a repository declares starts only after allow. What is allowed is
the declaration as it is now, what its values expand to, the executable, and the
files of the project that its arguments name; when one of them changes, the
server no longer starts, and status says what differs. The decision holds for
the project's real path and no copy of it. A denial holds however the
declaration changes. Servers of your own mcp.yaml need no decision.

allow shows what would run and asks; there is no flag that answers. Without a
terminal it wants --digest with the digest that status shows, and so binds the
decision to what was looked at. None of these commands starts a server.

The project is the one around the current directory, or --project DIR.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-trust", app) }
