// Package hub owns the one process that all agents of a user share, and what
// holds a process that starts servers: the keeper above it, the end of what is
// below it, and the sweep of what earlier ones left behind.
//
// # The keeper
//
// A command that may start servers runs twice: once as the keeper, which is the
// process that was started, and once below it, as the one that does the work.
//
//	agent or shell -> keeper -> the command -> servers -> whatever they start
//
// The keeper opens nothing and reads nothing. It is a subreaper, so that orphans
// below it come to it; it waits, hands signals down, and ends with the code the
// command ended with, 128 + N where signal N ended it. When the command is gone,
// killed by SIGKILL too, it ends every process below itself: SIGTERM, SIGKILL
// TermGrace later, and at most KillGrace more. Processes that left their session
// or cleared their environment are below it all the same. A dead process reaps
// nothing, which is why the command cannot do this for itself.
//
// A command whose keeper is gone gets SIGTERM from the kernel and tears down what
// it started; a server whose owner is gone gets SIGKILL from the kernel. The
// command is a subreaper as well: what hid from its servers' teardown is below it
// and ends with it (EndDescendants), and what ended before is waited for now and
// then (Tend).
//
// # Signals and the terminal
//
// INT, TERM and HUP are handed down through a pipe, one byte each. The end of
// the pipe is the end of the keeper. Beside a terminal both processes are in the
// one process group that the shell made, so that ^C and ^Z reach both of them:
// the command counts what came by the pipe and what came directly, and the
// greater number holds, so that one ^C is one. Away from a terminal the command
// has a session of its own; then TSTP stops both, and CONT continues both.
//
// # The mark of the keeper
//
// The command finds POSTERN_KEEPER in its environment,
//
//	PID.START.FD.PARENT
//
// with the keeper's pid and start time, the descriptor of the pipe, and the pid
// of the keeper's own parent. It is believed only by a process whose parent is
// exactly that one, and taken out of the environment in any case, so that
// nothing below inherits it.
//
// # The sweep
//
// Each server carries POSTERN_INSTANCE=PID.START.NAME with the pid and start time
// of its owner. Sweep ends the processes whose owner is gone, which can be there
// only when a keeper and what it kept were killed at the same time.
//
// # The place of the hub
//
// The hub listens on a socket in the runtime directory, and holds a lock beside it
// as long as it takes sessions; whoever starts a hub holds another one meanwhile:
//
//	hub-DIRECTORIES-BUILD.sock, .lock, .start
//
// each word being 8 hexadecimal digits of a SHA-256: of the real paths of the
// configuration, state and cache directories, separated by NUL; and of what Build
// tells. A bridge looks for the hub of its own build; every other command takes
// the newest one of its directories that answers. Folder, socket and the user at
// the other end are judged before a byte is sent, by both sides. A socket that
// nobody listens on refuses the connection, and nothing else says so.
//
// Whoever gets the lock within HubLockWait is the hub; who does not ends without a
// word. A hub retires when its executable or its socket was replaced: it gives up
// socket and lock, says "retiring" to whoever still connects, and ends with its
// last session. It does the same after its idle time. So there is one hub of a place
// that takes sessions, and there may be older ones that finish theirs. A socket that
// a service manager handed over stays, unless a session does: until its end the
// manager would start no other hub.
//
// A hub that goes on for its sessions listens for orders on
//
//	hub-DIRECTORIES-BUILD-PID.old
//
// so that a verb reaches all that has servers (DialAll); to a hello it says
// "retiring" there.
//
// # The wire of the socket
//
// The client speaks first. A first line of at most HubLineBytes that is a JSON
// object with the member "postern":1, the version of these lines, is a hello or an
// order; any other begins plain MCP of a session without project, that line
// included (R81). It is waited for HubLineWait. Members that are not known are
// ignored.
//
// A session of an agent's bridge (Hello):
//
//	{"postern":1,"kind":"bridge","version":"1.2","dir":"/home/u/src/x","list_wait_ms":5000,
//	 "client_pid":123,"locale":["LANG=C.UTF-8","TERM=xterm"]}
//
// beside which there may be "project", "no_project", "policy", "only", "exposure"
// and "via". Kind "call" is another command's: exposure is full, results come
// whole. The hub answers with one line, or refuses (RemoteError) and closes:
//
//	{"postern":1,"session":"01K…","want":["GITHUB_TOKEN"],"notes":["…/mcp.yaml:3:1: …"]}
//	{"postern":1,"error":{"word":"usage","message":"…","exit":2}}
//
// Notes are what is wrong with the configuration: a bridge says them on its standard
// error. Where the hub wants values the client sends those that it has, in one line
// of at most HubEnvBytes:
//
//	{"postern":1,"env":{"GITHUB_TOKEN":"…"}}
//
// From then on the hub sends MCP. The client sends MCP with a stamp before each
// line: the 26 characters of the row's id that a call in it gets, and one blank.
// The client's end of the connection is the end of the session. A hub that a
// person stopped sends {"postern":1,"stopped":true} last, and leaves
// hub-DIRECTORIES-BUILD.stopped, whose time tells those who do not read it; the
// connection of one that dies just ends. Word "retiring" means: look for the hub
// again. A connection that ends before the answer means the same. Word "overload"
// means that the hub has HubConnections: a bridge ends with that, as one more server
// of each kind is the last thing such a machine needs; a command that makes one call
// says so and makes it itself.
//
// An order is one line, and so is its answer:
//
//	{"postern":1,"verb":"kill","name":"wiki","client_pid":123}
//	{"postern":1,"result":…}
//
// Verbs are status, kill, start, restart, stop, reload, refresh and release, which
// takes kill back and starts nothing; a hub that retires takes start for that.
// testdata/wire holds lines of version 1.
//
// # The bridge
//
// Bridge relays lines between an agent and a hub where they were read: one parse
// of what the agent writes, a look at either end of what the hub writes, a stamp,
// and nothing is copied. It keeps the handshake, the last logging/setLevel, the
// subscriptions, and what is open.
//
//	open                 when the hub is lost
//	a call               answered once with hub_lost, never sent again; its row is written
//	what only asks       lists, ping, server/discover, initialize, what sets a level or a
//	                     subscription: the next hub is asked
//	a listen             asked again; its second acknowledgement is not shown
//	a question           the agent is told that nobody waits for the answer
//
// The next hub gets the handshake, then all that was set up, then the lines that
// came meanwhile: up to BridgeWaiting of them wait, and then the agent does. A line
// of which the lost hub cannot have read the whole goes to the next one. Hubs count
// their questions from one each: the ids of a later hub's have its number in front,
// so that a late answer never goes to a question that is not its own.
//
// A row that a bridge writes has the id that the hub would have given the call, the
// name that the agent used as its tool, and neither server nor arguments.
//
// # Elsewhere
//
// On macOS there is no subreaper and no signal at a parent's death: the pipe
// tells the command that its keeper is gone, and the keeper remembers the groups
// of the servers and ends those. Elsewhere there is no keeper.
package hub
