// Package pool owns which servers run: it starts an approved server when it
// is first needed, shares that one process with everybody who wants the same
// thing, starts it again when it dies, keeps it down when that does not help,
// bounds how many calls it is given at a time, and stops all of them.
//
// A server is identified by the key of its approval (R20): scope, project,
// id, digest, expanded values and executable. Two callers with the same key
// share one process and with it whatever state the server keeps, however many
// ask at the same moment; a different value or executable is a different
// process. A process that ended is torn down before the next of its key
// starts. Settings outside the key hold for the running process at once.
//
// # One key
//
//	breaker   failures in a row: whether calls are let through at all (R24)
//	queue     slots of the running process, sessions taking turns (R24)
//	berth     what outlives a process: who wants it, deaths, delays, the breaker
//	entry     one process, from before its start until nothing of it is left
//	instance  what callers hold of it
//
// A server is wanted while a session that called it is open, or while a session
// is that wants it up without a call. If it dies while it is wanted, or a
// restart fails, the pool starts it again after restart_delay, doubled each
// time up to a minute and spread by luck; a call tries at once (MB-161). An
// answered call makes the delay short again. Five deaths within a minute are
// flapping: nothing starts it for five minutes, and calls are told so (MB-057).
// Starts that fail are no deaths. The breaker counts them, once each, together
// with timeouts and connections that ended; what a server answers, errors of a
// tool included, is never a failure (MB-158). A breaker that failed starts have
// opened closes when a later one succeeds.
//
// Everything that nobody waits for is decided by one pure function, reconcile,
// and done by one goroutine, the steward (R25). It sends nothing to servers.
//
// The pool starts nothing but a *trust.Approved. It reads no configuration and
// decides nothing about callers. No failure that leaves it holds a value that
// the server was given by reference (C31). A panic in the life of one instance
// ends that instance (R26).
package pool
