// Package mcptest owns the other two sides of every conversation in tests: fake
// servers that misbehave on demand, and a small agent. Both are real processes,
// or at least real pipes. It knows nothing of postern but the lines of package
// wire and the processes of package proc, and is imported by tests only.
//
// A test binary is its own fake server:
//
//	func TestMain(m *testing.M) { mcptest.Main(m) }
//
//	command := mcptest.FakeServerCommand(t)            // declare this as command
//	agent := mcptest.Start(t, exec.Command(command, "-page", "2"))
//	agent.Initialize()
//	answer := agent.Call("echo", `{"text":"x"}`)
//
// In scripts, Commands gives testscript.Main a command fake-server.
//
// # fake-server
//
//	-protocol V          answer initialize with this revision; default: the client's
//	-era E               legacy (default), modern (no initialize, _meta is demanded) or dual
//	-info JSON           serverInfo
//	-instructions TEXT   instructions
//	-capabilities JSON   capabilities; default: those of the lists there are
//	-tools FILE          list these tools, a JSON array kept byte for byte; default: the tools below
//	-prompts FILE, -resources FILE, -templates FILE
//	                     other lists; default: empty
//	-more                have all that MCP has: more tools, prompts, resources and
//	                     templates, and the capabilities for them
//	-page N              N items a page
//	-cursor-loop         every page names the same next cursor
//	-ttl MS              ttlMs of lists and of what is read
//	-events FILE         append what happens, see Event
//	-life DURATION       end with status 3 after this time whatever happens; default 2m
//	-fault NAME[=VALUE]  may be repeated:
//
//	banner[=TEXT]        print TEXT, or lines of every kind of noise, before anything else
//	noise=N              print N lines of noise before every answer
//	bom, crlf            begin with a byte order mark; end lines with CR LF
//	stderr=BYTES         write that much to stderr first
//	stderr-line=TEXT     write one line to stderr first
//	start-delay=DURATION read nothing before that has passed
//	exit-at-start=N      end with status N at once
//	exit-on=METHOD       end with status 1 when METHOD came
//	exit-on-discover=N   end with status N when asked server/discover
//	no-initialize        never answer initialize
//	no-discover          never answer server/discover
//	initialize=JSON      answer initialize with this result
//	list-error[=TEXT]    answer every list with an error
//	stop-reading[=METHOD]
//	                     read nothing more after the handshake, or after METHOD came
//	ignore-eof           live on when stdin ends
//	ignore-term          ignore SIGTERM
//	tty                  open /dev/tty first, see Event
//	grandchild=group     start a child of its own that sleeps for -life, holds all
//	                     pipes and, with ignore-term, ignores SIGTERM
//	grandchild=session   the same, in a session of its own
//	grandchild=hidden    the same, in a session of its own, without an environment
//	                     and no child of the server any more
//	grandchild=browser   one in a session of its own with seven children: some in
//	                     its group, some in sessions, some that nobody is the
//	                     parent of
//
// # Its tools
//
// A tool does what its name says and is told the rest by its arguments. Names it
// does not know, which -tools may list, do what echo does.
//
//	echo                 the arguments as structuredContent and, quoted, as text
//	slow {ms}            answers after ms, never if it is cancelled before
//	progress {steps, ms, text}
//	                     steps progress notifications, ms apart, then the answer;
//	                     text stands in all of them
//	big {bytes}          that many bytes of text
//	fail {text}          a result with isError
//	rpcerror {error}     that error object in place of a result
//	raw {result}         that result, byte for byte
//	env                  {env, args, cwd, pid, ppid} of the process
//	exit {status, stderr}
//	                     ends without an answer, stderr written before
//	half                 half an answer, then the end
//	write {line, hex, bare, times, stderr, answer}
//	                     line (or the bytes hex stands for) in place of the answer,
//	                     $ID replaced by the request's id; bare without its end, so
//	                     many times, to stderr; with answer, then the answer
//	twice                answers twice
//	late                 answers once it has been cancelled
//	never                no answer
//	notify {method, params, times, after}
//	                     sends notifications, then (with after: before them) answers;
//	                     "$TOKEN" in params is replaced by the call's progress token
//	change {tools, prompts, resources, templates, silent}
//	                     lists these from now on, and says so unless silent
//	ask {method, params, after}
//	                     asks the client, and answers with its answer, or (with
//	                     after) before it asks
//
// These are listed with -more only, and always there:
//
//	update {uri}         tells those who are subscribed to it that it is another
//	log {level, data}    notifications/message, if the level wanted lets it
//	unask {reason}       cancels what ask asked last
//	needurl {elicitationId, url}
//	                     the error -32042 with that address
//	rounds {n, requests} input_required n times, each with requests (an object, an
//	                     array of one a round, null for none, or one elicitation) and
//	                     a state that must come back byte for byte; then
//	                     {inputResponses, requestState} of the last retry
//	task {ms, requests}  a task of the newest revision: done after ms; or waiting for
//	                     answers to requests; or for finish
//	finish {taskId}      completes a task of either era
//	unlisten             answers all open listens, which ends them
//
// # Other methods
//
//	lists, ping
//	tools/call           with params.task, legacy: any tool, behind a task
//	prompts/get          the name and arguments as one text; the prompt rounds and
//	                     the resource fake://rounds ask once, see the tool
//	resources/read       a blob for a listed mimeType application/octet-stream, else
//	                     text; N bytes for what ends in big/N; of what is neither
//	                     listed nor begins as a template does -32002, modern -32602;
//	                     /never at its end has no answer, as has a prompt for never
//	resources/subscribe, resources/unsubscribe, logging/setLevel
//	                     legacy; see update and log
//	completion/complete  the reference and NAME=VALUE of the argument
//	subscriptions/listen acknowledged as asked; told what change, update and tasks tell
//	tasks/get, tasks/cancel; tasks/list, tasks/result (legacy); tasks/update (modern)
//	vendor/ANYTHING      {method, params} as they came
//
// Without lists of prompts or resources those that name one answer {"echo": params}.
// -32601 for all else. A request whose _meta has a member fake/result or
// fake/error is answered with that, byte for byte, whatever its method is.
package mcptest
