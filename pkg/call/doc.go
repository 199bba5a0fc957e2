// Package call owns the line that every call walks, from an agent or from a
// shell, and the snapshot of configuration, trust and catalogs it is judged by.
//
//	resolve        which server, which tool?     config, trust, catalog       -32602, -32003
//	decide         does policy allow it?         policy (pure)                -32003
//	supply chain   is it what was approved?      executable, files            -32004
//	dispatch       send it, once                 pool, upstream               a result, always
//	                                                                |
//	                                                one row in calls/DATE.jsonl
//
// The first step that refuses ends the call, answers and writes the row.
// Nothing is started before dispatch, with one exception (R40): a tool of a
// trusted server that was never listed is looked for on the live server, after
// the deny patterns were matched by name.
//
// A Host is what all sessions of a process share. A Session is one agent (or
// one shell command): its project, its policies, its view of the tools.
// Session.View is an immutable snapshot; Session.Do walks one call down the
// line and never sends it more than once (R43).
package call
