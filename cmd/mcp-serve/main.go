/*
Mcp-serve is the gateway: an agent spawns it and speaks MCP with it over
standard input and output.

	mcp-serve [--project DIR | --no-project] [--policy NAME] [--exposure MODE]
	          [--only SERVER] [--list-wait 5s] [--no-hub]
	mcp-serve hub | install | status | kill NAME | start NAME | restart NAME |
	          stop | reload

It shows the agent the tools, prompts and resources of all declared servers that
its policy allows, tools and prompts under names like SERVER__TOOL, starts a
server when something of it is first asked for, and sends every request on at
most once. What a server asks the agent or tells it goes the other way. With
--only the one server looks as though it were spoken with directly.

Standard output carries the protocol only; what the operator should know goes to
standard error. It ends when its standard input ends.

# The hub

What an agent spawned is a bridge: it relays to the hub, the one process of a
user that has the servers, so that a server runs once however many agents use
it. The bridge starts the hub where none is up, and tells it the agent's
directory, its language, and those variables of its environment that servers ask
for with agent_env. A hub has nothing else of an agent. It ends by itself when
it has had no session for a while; one of another build is never used, and a
hub whose program was replaced takes no new session.

A bridge whose hub is lost answers the calls that were under way, which may have
happened, finds or starts the next hub, sets up again what the session had, and
goes on. After three such deaths within a minute the session is served by
mcp-serve --no-hub below the bridge. After "mcp-serve stop" there is no other hub
until the agent connects anew.

With --no-hub the session is served by this process, with servers of its own.
So it is also where nothing is declared; where the runtime directory cannot be
believed, the hub not started, or the path of the directory or the project not
told to it, being no UTF-8; below another postern; and where this process is
confined (it may gain no privileges, or lives in a user namespace of its own) and
no hub is up. All but the first and the third are said once.

Whatever starts servers, a hub as well, is two processes on Linux and macOS: the
one that was started looks after a second one, which does the work, and after
all that runs below. Whichever of the two is killed, the other ends what is
left. A bridge is one, and has nothing below it.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-serve", app) }
