// Package config owns what was declared: it reads the user's mcp.yaml with its
// drop-ins and a project's .postern/mcp.yaml and .mcp.json, checks them, edits the former, and
// hands out typed values with every doubt named as a Diagnostic. It starts
// nothing, resolves no name and expands no value.
//
// What one run reads is one Config, made by Load and never changed. Each file
// is read once and bounded by limits.go.
//
// # mcp.yaml, version 1
//
// One YAML document without anchors, aliases, merge keys, tags of one's own
// and repeated keys. `version: 1` must be there. Fields that the format knows
// and this version does not act on are refused by name (C14).
//
//	version: 1
//	servers:                 a mapping of ids: [a-z0-9][a-z0-9_-]*, ≤ 32 bytes
//	  ID:
//	    command              an executable; absolute, or a bare name
//	    args env cwd         with command: templates of package secret
//	    env_file             a path as it is, relative to this file
//	    agent_env            names that the agent's environment may give
//	    inherit_env          safe, none, or a list of names
//	    timeout max_timeout start_timeout      a number with a unit, ≤ 15m
//	    class                read, execute (default) or unknown
//	    read_tools write_tools execute_tools   patterns on tool names
//	    max_concurrency queue                  whole numbers
//	    max_message_bytes max_queue_bytes      bytes, or with KiB, MiB, GiB
//	    protocol             auto (default), legacy or modern
//	    shared               true (default): one process for all sessions; false: one
//	                         for each, in its agent's directory
//	    sampling             false (default), or true with shared: false: it may ask
//	                         its agent's model
//	    start                lazy (default) or eager
//	    idle_stop            a number with a unit, ≤ 24h, or 0 for never
//	    restart_delay        a number with a unit, ≤ 1m
//	    breaker              {failures: 5, cooldown: 30s}
//	    enabled              true (default) or false
//	secrets: {NAME: "cmd:… or file:…"}
//	policies:
//	  NAME:
//	    servers              patterns on ids
//	    tools deny ask       SERVER/TOOL, SERVER__TOOL, resource:SERVER/URI,
//	                         prompt:SERVER/NAME, exec:COMMAND; see package policy
//	    allow                tiers; [read] when not written
//	    exposure             auto (default), full or lazy
//	    max_description_chars    300; 0 = never trimmed
//	    max_result_bytes     16KiB; 0 = never cut
//	defaults: {policy: NAME, trust_level: 1}
//	path: [/absolute/directory]
//	log: {args: redacted (default), hash or none, days: 30, max_file: 64MiB}
//	names: {max: 50}
//	hub: {idle_exit: 10m}   of the shared process, without a session; 0 = it stays
//
// Whatever is wrong inside one server costs that server, which keeps its id;
// whatever is wrong elsewhere refuses the user's whole configuration (C11),
// which is mcp.yaml and the drop-ins together. testdata/v1 holds
// files of this version with the digests they must keep.
//
// # mcp.d/*.yaml, version 1
//
// Drop-ins: the same form as mcp.yaml, read after it in the order of their
// names, at most MaxDropIns. Hidden files and other endings are not read.
// `servers`, `secrets` and `policies` add up; of servers with one id the first
// counts and the other is named, a second policy or secret of one name and a
// second `defaults`, `path`, `log`, `names` or `hub` refuse the configuration, because
// nothing says which of them was meant. Relative paths count from mcp.d.
//
// # .postern/mcp.yaml, version 1
//
// The same form with `version` and `servers` only, and of a server only the
// fields that the table in server.go marks `anywhere`; of `shared` only false.
// Relative paths count from the project's root and do not leave it.
//
// # .mcp.json
//
// JSON with comments and trailing commas. `mcpServers` and `servers` hold
// entries with type (stdio), command, args, env, cwd, disabled and timeout (a
// number of milliseconds). ${env:NAME} is ${NAME}; ${input:…} makes an entry
// unavailable. Names that are no ids are mapped (mapID). Other keys are named
// once and not acted on. testdata/mcpjson holds the shapes that are in use.
//
// # Digest
//
// digest.go: sha256 over the RFC 8785 form of an object with scope, source, id,
// command and, where written and not empty, args, env (an object), env_file,
// inherit_env ("none" or the list; "safe" is as if not written), cwd, timeout
// and start_timeout (as Go durations: "1m0s"), write_tools, execute_tools, and
// shared where it is false.
package config
