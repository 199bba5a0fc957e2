// Package call owns the line that every call walks, from an agent or from a
// shell, and the snapshot of configuration, trust and catalogs it is judged by. A
// call is any request that a server answers: of a tool, a prompt, a resource, a
// completion, a subscription, a task, or of a method that is not known here.
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
//
// # Many agents
//
// A host serves one agent or many. What a session may see and start follows from
// the user's configuration, its own project's, and the values that its own agent
// was asked for (Host.Names); processes are shared by those for whom all of that
// comes to the same, which is the pool's key. A host that is a hub's belongs to no
// agent: its environment is its own, and its user tells it things by Control.
//
// # The way back
//
// What a server asks goes to the Agent of the session that it is about, if the
// agent declared that it answers such and this server may ask it: elicitations of
// every server, with its id before the message; roots, sampling, and the tasks that
// the agent made of its questions, of a server that is this session's alone. While a person is asked, no call of the session
// comes nearer to its max_timeout (R44).
//
// # Between the eras
//
// An agent and a server of one era get each other's bytes. Where the eras differ
// (R73), a modern server's questions are put to a legacy agent one by one and its
// call is sent again with the answers, at most config.Rounds times; a modern agent
// of a legacy server gets that one's errors in its own form, and is asked nothing.
// Tasks are not carried across.
package call
