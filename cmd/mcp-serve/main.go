/*
Mcp-serve is the gateway: an agent spawns it and speaks MCP with it over
standard input and output.

	mcp-serve [--project DIR | --no-project] [--policy NAME] [--exposure MODE]
	          [--only SERVER] [--list-wait 5s]

It shows the agent the tools, prompts and resources of all declared servers that
its policy allows, tools and prompts under names like SERVER__TOOL, starts a
server when something of it is first asked for, and sends every request on at
most once. What a server asks the agent or tells it goes the other way. With
--only the one server looks as though it were spoken with directly.

Standard output carries the protocol only; what the operator should know goes to
standard error. It ends when its standard input ends, with every server it
started.

On Linux and macOS it is two processes: the one that was started looks after a
second one, which does the work, and after all that runs below. Whichever of
the two is killed, the other ends what is left. Other commands that start
servers do the same.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-serve", app) }
