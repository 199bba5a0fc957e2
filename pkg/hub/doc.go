// Package hub owns what holds a process that starts servers: the keeper above
// it, the end of what is below it, and the sweep of what earlier ones left
// behind.
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
// # Elsewhere
//
// On macOS there is no subreaper and no signal at a parent's death: the pipe
// tells the command that its keeper is gone, and the keeper remembers the groups
// of the servers and ends those. Elsewhere there is no keeper.
package hub
