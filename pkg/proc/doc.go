// Package proc owns what the system tells of other processes, and signalling
// exactly the one that was looked at.
//
// A pid names a process only as long as it lives; afterwards it may be anyone's.
// An ID therefore carries the start time too, and a signal goes through a
// descriptor of the process (pidfd) that was compared with its ID. On systems
// without /proc an ID has no start time, and nothing but this process itself is
// known.
package proc
