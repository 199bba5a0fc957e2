// Package wire owns JSON-RPC 2.0 messages as bytes: how lines are read and
// written, where the members of a message stand, and how bytes are changed
// without being decoded and encoded again (rules R1 to R6).
//
// A message is the line that was received and the spans of its members. Parse
// checks the whole line (UTF-8, JSON, nesting, envelope) and changes nothing;
// ids, names and tokens are replaced by Splice, so every other byte, number
// literals, member order and unknown members included, reaches the other side
// as it was written. What cannot be passed on safely is refused with a typed
// error: *ParseError for a message, *MemberError for an ambiguous member,
// *SyntaxError for any other text, *TooLongError for a line over the cap.
//
// Reader and Writer frame one connection each: one message a line, ended by LF.
// Both are bounded in bytes. Nothing here knows what a method means.
package wire

// MaxDepth is how many objects and arrays a message may nest; the outermost
// counts as one.
const MaxDepth = 1000
