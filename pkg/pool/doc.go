// Package pool owns which servers run: it starts an approved server when it
// is first needed, shares that one process with everybody who wants the same
// thing, bounds how many calls it is given at a time, and stops all of them.
//
// A server is identified by the key of its approval (R20): scope, project,
// id, digest, expanded values and executable. Two callers with the same key
// share one process, however many ask at the same moment; a different value
// or executable is a different process. A process that ended is torn down
// before the next of its key starts.
//
// The pool starts nothing but a *trust.Approved. It reads no configuration and
// decides nothing about callers. No failure that leaves it holds a value that
// the server was given by reference (C31).
package pool
