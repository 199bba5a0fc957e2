// Package calllog writes and reads the call log: one row for every call,
// whatever its outcome.
//
// # Files
//
// The log is a folder of files named by UTC date:
//
//	2026-09-03.jsonl    rows written on that day
//	2026-09-03.1.jsonl  and on, once the file before has reached its size
//
// A row goes into the file of the date at which it is written. Files are only
// appended to and never renamed; whoever begins a new day removes the days that
// are too old, by name (C83). Several processes write to the same files: a row
// is one write of at most 64 KiB to a descriptor opened for appending, so rows
// never mix (C80).
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
// row says how many were lost just before it.
//
// A process that dies in the middle of a write leaves a line without its end.
// The next writer ends it with a newline first (C82). Readers pass over blank
// lines, skip every line that is not a row, and count those (C83).
//
// A line of version 1, broken here for reading:
//
//	{"v":1,"id":"01k47…","writer":"01k47…","seq":7,"ts":"2026-09-03T10:00:00.123456789Z",
//	 "latency_ms":12.5,"level":2,"upstream":"github","tool":"get_issue","via":"direct",
//	 "outcome":"ok","request_bytes":120,"response_bytes":2048,"response_tokens_est":512}
package calllog
