/*
Mcp-serve is the gateway: an agent spawns it and speaks MCP with it over
standard input and output.

	mcp-serve [--project DIR | --no-project] [--policy NAME] [--list-wait 5s]

It shows the agent the tools of all declared servers that its policy allows,
under names like SERVER__TOOL, starts a server at the first call of one of its
tools, and sends every call on at most once. Standard output carries the
protocol only; what the operator should know goes to standard error. It ends
when its standard input ends, with every server it started.

On Linux and macOS it is two processes: the one that was started looks after a
second one, which does the work, and after all that runs below. Whichever of
the two is killed, the other ends what is left. Other commands that start
servers do the same.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-serve", app) }
