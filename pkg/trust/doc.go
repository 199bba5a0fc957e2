// Package trust owns the question whether a declared server may be started. Its
// answer is a value: only [Check] makes an [Approved], and whoever starts
// processes accepts nothing else. An Approved carries the declaration that was
// judged, with its values expanded and its executable found, so that nothing is
// looked up a second time between the decision and the start.
//
// A server of the user's own file is trusted because the user wrote it. A server
// of a project needs a record that a person made with mcp-trust: it binds the
// declaration (by digest), what its values expand to, the executable and the
// files of the project that its arguments name. A record holds for one real
// path. It is not inherited by a copy, a parent or another worktree (C52).
//
// What a record does not cover is said whenever one is shown: what an
// interpreter loads besides the named file, what a package runner downloads,
// files outside the project, and the values of environment variables. A script
// is opened by its interpreter and not by us, so between the last look at it
// and its start another process of the same user could exchange it; a binary is
// started from the very descriptor that was looked at.
//
// # trust.json
//
// Decisions are kept in trust.json in the config directory, as one JSON object:
//
//	{"v":1,"records":[RECORD…]}
//
// with records of this form, of which `executable`, `files`, `trees`, `expanded` and
// `env` belong to decision "allow" only:
//
//	project     real path of the project's root
//	source      real path of the declaring file
//	server      id of the server
//	digest      "sha256:" and 64 hex digits: the declaration
//	decision    "allow" or "deny"
//	class       "read", "execute" or "unknown"
//	env         names of variables that may be taken from the environment, and of
//	            those that the declaration may set although they change what runs
//	executable  {"path","sha256","root_owned"}
//	files       [{"path","sha256"}…], paths relative to the project's root
//	trees       [{"path","count","sha256"}…], folders of the project: the digest is
//	            over the sorted lines "file PATH NUL sha256 LF" and "link PATH NUL
//	            target LF" of all below it
//	expanded    sha256 of command, arguments and directory after expansion
//	at          when it was decided, RFC 3339
//	expires     when it ends, or null
//	note        free text
//
// A denial holds for the project and the id whatever the declaration says now;
// it is looked up first. The file is at most 1 MiB and 4096 records (C50).
// Absent or empty is "no records". A file that is not ours alone (C5), too
// large, of another version, or holds anything this text does not describe
// grants nothing, and is not overwritten either.
package trust
