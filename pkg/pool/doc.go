// Package pool owns which servers run: it starts an approved server when it
// is first needed, shares that one process with everybody who wants the same
// thing, starts it again when it dies, keeps it down when that does not help,
// bounds how many calls it is given at a time, and stops all of them.
//
// A server is identified by the key of its approval (R20): scope, project,
// id, digest, expanded values, executable, and the session where it is not to be
// shared. Two callers with the same key share one process and with it whatever
// state the server keeps, however many ask at the same moment; a different value
// or executable is a different process. A process that ended is torn down before
// the next of its key starts. Settings outside the key hold for the running
// process at once.
//
// # One key
//
//	breaker   failures in a row: whether calls are let through at all (R24)
//	queue     slots of the running process, sessions taking turns (R24)
//	berth     what outlives a process: who wants it, is subscribed to something of
//	          it or has a task with it; deaths, delays, the breaker
//	entry     one process, from before its start until nothing of it is left
//	instance  what callers hold of it
//
// A server is wanted while a session is open that called it, subscribed to a
// resource of it or holds a task of it, or that wants it up without a call (R21).
// If it dies while it is wanted, or a restart fails, the pool starts it again after
// restart_delay, doubled each time up to a minute and spread by luck; a call tries
// at once (MB-161). An answered call makes the delay short again. Five deaths
// within a minute are flapping: nothing starts it for five minutes, and calls are
// told so (MB-057). Starts that fail are no deaths. The breaker counts them, once
// each, together with timeouts and connections that ended; what a server answers,
// errors of a tool included, is never a failure (MB-158). A breaker that failed
// starts have opened closes when a later one succeeds. A process that was started
// again is told of all subscriptions.
//
// A person can put the brake on the servers of an id (R23): they are stopped, and
// nothing starts them until the person does.
//
// Idle, it is stopped: without a call, a subscription or an open task (R22). One
// that is a session's alone ends with that session.
//
// # Whom a server means
//
// A server that several share does not know that they are several. What it asks
// and says goes to the one session it can be about (R72):
//
//	a server of one session      everything to that session
//	names a task (related-task)  to the session that holds it, or that held it last
//	resources/updated            to those subscribed to the resource, or to a whole
//	                             of which it is a part
//	message                      to the only session with a call under way, else to
//	                             all that use the server, they being one caller's; to
//	                             each only what its level lets through
//	elicitation/complete         to the session that the elicitation was put to
//	tasks, tasks/status          to the session that holds the task, or that holds it
//	                             soon: some come before the answer that names it
//	anything else                to the only session with a call under way
//
// A call that its session gave up counts as under way for a while: the server may go
// on with it.
//
// What is for nobody is declined, or dropped, and counted. The list_changed three
// are the pool's own: it reads that list again and tells Options.Changed if
// anything in it is another. A modern server is listened to for all this with one
// subscriptions/listen.
//
// Everything that nobody waits for is decided by one pure function, reconcile,
// and done by one goroutine, the steward (R25). It sends nothing to servers.
//
// The pool starts nothing but a *trust.Approved. It reads no configuration and
// decides nothing about callers. No failure that leaves it holds a value that
// the server was given by reference (C31). A panic in the life of one instance
// ends that instance (R26).
package pool
