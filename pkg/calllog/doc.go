// Package calllog writes and reads the call log: one row for every call,
// whatever its outcome.
//
// # Files
//
// The log is a folder of files named by UTC date:
//
//	2026-09-03.jsonl              rows written on that day
//	2026-09-03.1.jsonl            and on, once the file before has reached its size
//	2026-09-03.HOST-PID.jsonl     rows of one writer, on a network file system
//	2026-09-03.HOST-PID.1.jsonl   and on
//
// A row goes into the file of the date at which it is written. Files are only
// appended to and never renamed. Several processes write to the same files: what
// is written, one row or several, is one write of at most 64 KiB to a descriptor
// opened for appending, so rows never mix (C80). Where the file system cannot
// promise that, as NFS cannot, each writer has files of its own, which it makes
// with O_EXCL, so that they are its own also when a number comes again (C82).
// HOST has only letters, digits, "-" and "_"; others became "_". Readers merge
// such files by the end of the calls.
//
// In each file the rows are ordered by the end of the calls, ts and latency_ms,
// but for a minute ([config.LogOrder]): rows wait in queues, and writers do not
// wait for each other. A writer that finds the clock set back by more goes on in
// the next file. Readers search by time in files that are large.
//
// A writer looks once a second whether its file is still the one of that name
// and the last of its day, and at each write whether it was removed or somebody
// else has written. Rows written into a file that was renamed less than a second
// ago are in that file.
//
// # Days
//
// Whoever begins a day's file removes the files of days that are more than
// log.days before it, by name (C83); where log.days is not known then, as the
// configuration is refused, it does so once it is. Since a clock that is far ahead would remove
// everything, the date is believed only when three days within that time have
// files ([config.LogPruneDays]); until then the days are counted back from the
// newest one before. What is written with a wrong clock stays where it is.
//
// # Rows
//
// A row is one JSON object on one line. Its members are the fields of [Row]; "v"
// is the version, 1. Members are only ever added. Empty strings and, where 0
// says nothing, zeros are left out. There are never response bodies in it (C81),
// and no values of secrets: callers give this package only what may be read.
//
// "writer" names one process that writes and "seq" counts its rows, lost ones
// included: a gap in seq is a row that is missing, and the "dropped" of the next
// row says how many were lost just before it. [Verify] holds a log to that.
//
// An id is one row's, but for what a bridge writes of a call whose hub was lost,
// with the word hub_lost and without args: the hub may have written a row with the
// same id, which readers keep alone (C81).
//
// A process that dies in the middle of a write leaves a line without its end.
// The next writer ends it with a newline first (C82). A writer whose disk is
// full in the middle of a row keeps the other half and writes it once there is
// room, unless somebody wrote behind it; until then rows are lost, and counted.
// Readers pass over blank lines, skip every line that is not a row, and count
// those (C83); zero bytes that a crash of the machine left in front of a line count
// as one.
//
// A line of version 1, broken here for reading:
//
//	{"v":1,"id":"01k47…","writer":"01k47…","seq":7,"ts":"2026-09-03T10:00:00.123456789Z",
//	 "latency_ms":12.5,"level":2,"upstream":"github","tool":"get_issue","via":"direct",
//	 "outcome":"ok","request_bytes":120,"response_bytes":2048,"response_tokens_est":512}
package calllog
