// Package upstream is one connection to one MCP server on stdio: it starts the
// server's process, shakes hands with it in whichever era it speaks, carries
// requests and answers as bytes, and takes the whole process group down again.
//
// # One client, one process, one life
//
// Start spawns the child and returns a Client that is ready, or a *Failure and
// nothing left behind. A Client never restarts its child; whoever wants another
// life starts another Client (R11). Its states are
//
//	starting -> ready -> closing -> closed
//	        \-> failed <-/
//
// and the first cause of the end stays: everything in flight ends with it, and
// Err keeps returning it. The process group has a phase of its own, live,
// cleaning, released, because a failed connection still owns processes.
//
// # Goroutines of a client
//
//	reader     reads stdout line by line; delivers answers, progress, questions
//	           and notifications, in the order in which they came; ends with stdout
//	writer     wire.Writer; ends with Close of the writer
//	stderr     drains the child's stderr; ends with stderr
//	watcher    waits for the leader's exit, and reaps it after the release
//	supervisor waits for the first sign of an end, then climbs down the ladder
//
// A call adds none: it waits in the caller's own goroutine. Neither does a
// question of the server.
//
// # Questions
//
// A request of a legacy server is a Question, handed to Options.Ask; whom to ask is
// the owner's to know. It is open until its first answer, until the server cancels
// it, or until the connection ends, and it is answered once at most. Nothing here
// bounds how long that takes: the server's own call is bounded, and so is the
// number of questions. While a person thinks, a Standstill keeps the timeouts of
// calls from running (R44). Ping is answered here. A modern server has no requests
// to make; it may end one of ours by notifications/cancelled, and that call fails
// as aborted.
//
// # Both eras
//
// The declaration decides which handshake is tried (Options.Protocol). Where it
// leaves the choice, the modern question is the first one if that is preferred or
// was right the last time, with a deadline of its own and the legacy one behind it;
// a child that ends on it is started once more. Otherwise the legacy one is first.
//
// # The child
//
// The child gets its own session, the environment and directory it was approved
// with plus POSTERN_INSTANCE, and three pipes. On Linux one goroutine locked to
// its thread does every exec, since a child's parent-death signal follows the
// thread that forked it, and an executable that was hashed through a descriptor
// is executed through that descriptor.
//
// Teardown (R12) closes stdin, waits 500 ms, sends SIGTERM to the group, waits
// 3 s, sends SIGKILL, waits 2 s, and lets go. The leader stays unreaped until
// then, so that its group id cannot have changed hands when it is signalled.
// Descendants that left the group are found by POSTERN_INSTANCE in their
// environment and get the same signals through a pidfd. One that also cleared
// its environment is not found here, and one that left the group and died before
// the teardown is left to whoever adopted it: both are package hub's. Outside Linux only the group (macOS)
// or the process itself (elsewhere) is reached.
//
// # Identifiers on the wire
//
// Request ids are this client's own counter, 1, 2, 3, …, as JSON numbers. A
// progress token of a call is replaced by the number of its request and put back,
// byte for byte, in the progress that comes for it. An answer to a question gets the
// id of the question, as the server wrote it.
//
// # Other bytes that change
//
// Towards a modern server the reserved _meta members (protocolVersion, clientInfo,
// clientCapabilities, logLevel) of every request are this client's, in the places
// of those that stood there. Towards a legacy server they are taken out of a modern
// agent's request, with inputResponses and requestState beside _meta; an emptied
// _meta stays. Nothing else of a request, an answer or a notification is changed
// (R4).
//
// # The stderr log
//
// A text file: what the child wrote to its stderr, line by line and without
// secrets (package secret), and lines beginning with "postern: " of our own
// (start, exit, and what stood on its stdout without being JSON-RPC). Of a line
// longer than 64 KiB the beginning is kept, with [cut:N] behind it, and of more
// than 4 MiB in a second the first. Past 1 MiB the file is renamed to <name>.1,
// which replaces the previous one. When it cannot be written the child is
// drained all the same.
package upstream
