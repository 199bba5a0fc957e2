package config

import "time"

// Every number that bounds or paces postern, one a line with its reason.
// Packages below this one (wire, state, secret) keep their own.

// Configuration files (C12).
const (
	MaxFileBytes     = 256 << 10 // one configuration file: 128 servers of 2 KiB
	MaxDropIns       = 64        // files in mcp.d; each costs a look every second
	MaxServers       = 128       // in one file; more is a generated mistake
	MaxIDBytes       = 32        // an id becomes half of an exposed tool name
	MaxCommandBytes  = 512       // a path, not a command line
	MaxArgs          = 64        // arguments of one server
	MaxArgBytes      = 4096      // one argument
	MaxEnv           = 64        // declared variables of one server
	MaxEnvBytes      = 4096      // the value of one variable
	MaxCWDBytes      = 512       // a directory
	MaxPolicies      = 64        // of one user
	MaxPatterns      = 256       // in one list of patterns
	MaxPatternBytes  = 512       // one pattern
	MaxNameBytes     = 32        // a policy's name; it also names files
	MaxPathEntries   = 64        // directories of `path:`
	MaxTerminalHosts = 32        // names of programs that host terminals
	MaxProcessName   = 64        // the name of a program
	MaxSecrets       = 128       // entries of `secrets:`
	MaxDepth         = 32        // nesting of a configuration file; real ones need 5
	MaxDiagnostics   = 200       // kept of one file; the rest is counted in one line
)

// One server: defaults, and the range a declaration may choose from.
const (
	DefaultTimeout      = 60 * time.Second  // of a call since its last sign of life
	DefaultMaxTimeout   = 15 * time.Minute  // of a call altogether
	DefaultStartTimeout = 15 * time.Second  // of a program that is already installed
	RunnerStartTimeout  = 120 * time.Second // of a package runner that may download first
	MaxTimeout          = 15 * time.Minute  // nothing waits longer than this
	ShortTimeout        = time.Second       // below this a wrong unit is likely

	DefaultConcurrency  = 8        // calls in flight to one server
	MaxConcurrency      = 256      // beyond, a stdio server only queues them itself
	DefaultQueue        = 64       // calls waiting for one server
	MaxQueue            = 4096     // waiting calls cost memory each
	DefaultMessageBytes = 4 << 20  // one message
	MinMessageBytes     = 4 << 10  // an initialize result must fit
	MaxMessageBytes     = 64 << 20 // one message at most; it is held in memory whole
	DefaultQueueBytes   = 4 << 20  // unwritten bytes to one server
	MinQueueBytes       = 4 << 10  // at least one usual message
	MaxQueueBytes       = 64 << 20 // unwritten bytes at most

	DefaultIdleStop        = 10 * time.Minute // without a call; a start costs less than the memory
	MaxIdleStop            = 24 * time.Hour   // longer is 0: never
	DefaultRestartDelay    = time.Second      // before the first restart after a death
	MaxRestartDelay        = time.Minute      // where its doubling ends too
	DefaultBreakerFailures = 5                // in a row, before calls fail at once
	MaxBreakerFailures     = 1000             // more is no breaker
	DefaultBreakerCooldown = 30 * time.Second // until one call is let through again
	MaxBreakerCooldown     = time.Hour        // longer is a server that should be disabled
)

// What a policy shows and returns.
const (
	DefaultDescriptionChars = 300      // of a tool's description in a list; the rest is a describe_tool away
	MaxDescriptionChars     = 64 << 10 // longer is 0: never trimmed
	DefaultResultBytes      = 16 << 10 // of one result; about 4,000 tokens
	MinResultBytes          = 1 << 10  // room for the note that says where the rest is
	MaxResultBytes          = 64 << 20 // no message is longer
)

// The call log and the exposed names.
const (
	DefaultLogDays = 30         // days that rows are kept
	MaxLogDays     = 3650       // ten years
	DefaultLogFile = 64 << 20   // one file of rows
	MinLogFile     = 1 << 20    // smaller only makes many files
	MaxLogFile     = 1024 << 20 // larger is slow to copy and open
	DefaultNameMax = 50         // clients put a prefix of 14 in front, providers stop at 64
	MinNameMax     = 32         // room for a hash and something readable
	MaxNameMax     = 64         // the providers' limit
	MaxLevel       = 3          // trust levels are 0 to 3
	AnonymousLevel = 1          // who proves no identity and has no default reads
)

// Catalogs (C70, C71).
const (
	MaxCatalogBytes = 8 << 20         // one recorded catalog; the largest of 71 public servers has 2 MiB
	MaxTools        = 500             // of one server; more drown any model
	MaxURIBytes     = 4 << 10         // of a resource; longer ones carry data
	MaxExpressions  = 32              // of a resource template; real ones have up to five
	MaxSchemaBytes  = 256 << 10       // one schema; the largest public one has 90 KiB
	MaxPrompts      = 500             // of one server, as its tools
	MaxResources    = 500             // of one server; what has more has templates
	MaxTemplates    = 500             // of one server, as its tools
	MaxToolName     = 256             // bytes of a tool's own name; the protocol advises 128
	MaxRefused      = 100             // refused items named in a catalog; the rest is counted
	MaxFailureText  = 1 << 10         // of what a failed discovery said
	CatalogTTL      = 24 * time.Hour  // a recorded list counts as fresh
	MinCatalogTTL   = time.Minute     // a server cannot ask for less
	FailedDiscovery = 5 * time.Minute // a failed discovery is not repeated
	RefreshJobs     = 4               // servers that a refresh starts at the same time
	MaxRefreshJobs  = 64              // more processes at once only wait for each other
	RefreshTimeout  = 2 * time.Minute // of one server in a refresh; a package runner may download first
	MaxFailureBytes = 32 << 10        // the file that remembers one; paths may be long
)

// Search over tools (R65).
const (
	MaxQueryBytes  = 1 << 10 // of a query; the rest is not read
	MaxQueryWords  = 32      // of a query; a sentence has half
	MaxFieldWords  = 256     // of one field of a tool; a description that goes on is a manual
	MaxWordBytes   = 64      // of one word
	MaxPrefixWords = 256     // that the last word of a query may begin, in one catalog
)

// Exposure and results (R63, R64, R69).
const (
	FullBytes        = 24 << 10           // definitions that auto still shows whole; about 6,000 tokens
	SearchLimit      = 5                  // tools of one search when nothing is asked for
	MaxSearchLimit   = 100                // tools of one search
	SearchBytes      = 64 << 10           // one search where results are never cut
	SearchLineChars  = 160                // what a search says of a tool, without detail
	MaxPathBytes     = 256                // a gjson path of get
	ResultNoteBytes  = 512                // kept free in a cut result for the note
	KeptTextBytes    = 512                // of text are shown in any case
	ResultLife       = 7 * 24 * time.Hour // the whole of a cut result is kept
	ResultStoreBytes = 256 << 20          // all kept results together
	ResultCountEvery = time.Minute        // how often other processes' results are counted
)

// Sessions and calls.
const (
	ConfigCheckEvery   = time.Second            // how often files of the configuration are looked at (R90)
	LookWait           = 3 * time.Second        // for sessions that look at their files, all at a time; the disk of one may not answer
	RefusalLogWait     = 100 * time.Millisecond // a refusal's row is waited for so long (C81)
	LogFlush           = 2 * time.Second        // the log's queue at the end of a process
	MaxReturnedSchema  = 8 << 10                // a schema given back with refused arguments (R41)
	WarnedTools        = 100                    // tools whose results the operator is told about, one line each
	WarnedMembers      = 32                     // of a result that are looked for, for that
	WarnedNameChars    = 200                    // of what is missing in that line
	AgentMessageBytes  = 4 << 20                // one message of an agent (R1)
	AgentQueueBytes    = 64 << 20               // unwritten bytes towards one agent: a stopped agent is not dead (R6)
	AgentUnsentBytes   = 64 << 20               // answers beside that queue: as much again, so that a longest one can wait; of more only a note is left
	SessionCalls       = 1024                   // requests of one session under way
	MaxBatch           = 256                    // messages of one 2025-03-26 batch (R5)
	ListPageBytes      = 1 << 20                // one page of an own list (R71)
	MaxCapabilityBytes = 16 << 10               // one capability of one server that is merged with others'; real ones have some hundred
	CapabilityNesting  = 4                      // objects within it that are merged; tasks.requests.tools.call is one of four
	InstructionBytes   = 4 << 10                // instructions in all (R67)
	ListWait           = 5 * time.Second        // default of --list-wait (R66)
	MaxListWait        = time.Minute            // an agent gives up a list sooner
	ListChangedEvery   = 500 * time.Millisecond // list_changed at most so often (R54)
	ListUnchangedRest  = 4 * time.Second        // lists of a server that announces changes which are none are read at most so often in the end
	MaxPosternDepth    = 3                      // postern started by postern so often is a loop (C23)
	EndGrace           = 500 * time.Millisecond // answers under way when an agent closes its end
	MaxWarnings        = 1000                   // different ones that one process shows in a row; what makes more goes on making them
	WarningsRest       = time.Hour              // before new ones are shown again after so many: a hub lives for weeks
	AgentFlush         = 500 * time.Millisecond // unwritten answers when a session ends
)

// What servers ask of agents, and what lasts longer than a call.
const (
	QuestionBytes = 16 << 20         // of them, unless it is one alone: each is in memory some three times
	QuestionLife  = 15 * time.Minute // of a question that nobody answers: whoever is there has seen it by then
	MaxStandstill = 30 * time.Minute // of one call while questions are open; with max_timeout below LogLongestCall
	GivenUpLife   = 10 * time.Second // of a call that its session has given up: a server that goes on asks about it within that, or is taken to mean another one
	MaxQuestions  = 64               // of servers to one session, open at the same time, of one of them half; a person answers one
	Rounds        = 10               // of questions that one call of a modern server may need (R73)
	MaxValues     = 1000             // values of one completion that are judged; the protocol allows 100
	TaskLife      = time.Hour        // an open task keeps its server from being stopped for so long (R22)
	LinkMemory    = 1000             // linked resources that a session remembers the server of (R61)
	ElicitMemory  = 100              // elicitations of which a server may tell later that they are done
	LevelWait     = 2 * time.Second  // for a server's answer to logging/setLevel before the call is sent
	MaxStreams    = 32               // subscriptions/listen of one agent at the same time; one does for all
	StreamItems   = 500              // resources, and tasks, that one of them names; as many as a server may list
	StreamBytes   = 4 << 20          // of notifications that one of them keeps for an agent that does not read
	StreamJobs    = 8                // resources that are subscribed to at the same time for one of them
)

// Rows of the call log (C80, C81).
const (
	LogQueue       = 4096      // rows waiting to be written; a full queue drops, it never delays a call
	LogRowBytes    = 64 << 10  // one row, one write
	LogStringBytes = 1 << 10   // one string of a row; longer ones are cut
	LogArgsInput   = 64 << 10  // arguments that are redacted whole; of longer ones large members are left out first
	LogArgsBytes   = 4 << 10   // the arguments of a row; longer ones are left out
	LogLineBytes   = 256 << 10 // a longer line of a log file is damage, not a row
)

// Files of the call log (C82, C83).
const (
	LogCheckEvery  = time.Second            // how often a writer looks whether its file is still the one by name
	LogOrder       = time.Minute            // rows of one file may be out of order by so much: queues, several writers
	LogLossWindow  = 5 * time.Minute        // rows that bridges write of calls in flight stand so close together
	LogLongestCall = time.Hour              // above every max_timeout with its question
	LogPruneDays   = 3                      // days with rows that make a date credible enough to remove old days
	LogPiece       = 512 << 10              // what a scan reads and judges at once, two for each processor
	LogBlock       = 64 << 10               // what a search by time looks at
	LogFollowEvery = 250 * time.Millisecond // how often -f looks for new rows: soon for a person, 0.1 % of a processor
	LogFollowRows  = 10                     // rows that -f begins with
)

// Trust and what it covers (C50, C51, C23).
const (
	MaxTrustFile    = 1 << 20  // trust.json: 4096 records of 256 bytes
	MaxTrustRecords = 4096     // beyond, a lookup on every call is no longer cheap
	MaxEnvFile      = 64 << 10 // one env_file: 256 names of 256 bytes
	MaxCoveredFile  = 64 << 20 // a script or data file that an approval hashes
	MaxExecutable   = 1 << 30  // an executable that an approval hashes; node has 120 MB

	MaxTrees       = 8                    // folders that one approval covers whole
	MaxTreeFiles   = 10_000               // files below one of them
	MaxTreeBytes   = 64 << 20             // bytes below one of them
	TreeCheckEvery = time.Second          // how often they are looked at while calls go on
	MaxApproval    = 366 * 24 * time.Hour // of an approval with an end; without one there is none
	MinApproval    = time.Minute          // shorter is a wrong unit
)

// One connection to a server on stdio.
const (
	StdinTimeout           = 10 * time.Second       // nothing taken for so long: the server does not read (R6)
	ProbeTimeout           = 5 * time.Second        // a remembered modern server that ignores server/discover (R13)
	NoiseLines             = 1000                   // lines in a row that are no JSON-RPC: this is no server (R3)
	NoiseBytes             = 1 << 20                // the same in bytes
	NotificationsPerSecond = 1000                   // what comes beyond is dropped (R3)
	ServerQuestions        = 256                    // open requests of one server; beyond they are declined
	SideListWait           = 5 * time.Second        // for prompts, resources and templates at a start: tools do not wait for them longer
	MaxListPages           = 100                    // pages of one list (R14)
	StderrTail             = 2 << 10                // last lines of stderr in a message
	StderrLastLine         = 300                    // of it in the text of a failure
	StderrLogBytes         = 1 << 20                // one stderr log, then .1
	StderrLife             = 7 * 24 * time.Hour     // of a log that nobody writes to any more, as of results
	StderrFiles            = 500                    // of them: servers of one session leave one with each
	StderrTidy             = 24 * time.Hour         // how often they are looked at
	StderrLine             = 64 << 10               // one line; a secret is found in whole lines only
	StderrPerSecond        = 4 << 20                // what comes beyond is a flood: four whole logs
	SettleGrace            = 250 * time.Millisecond // exit status, last answers and last stderr come by three ways
	FlushGrace             = 100 * time.Millisecond // queued messages, such as cancellations, before stdin is closed
	EOFGrace               = 500 * time.Millisecond // to end by itself at the end of stdin (R12)
	TermGrace              = 3 * time.Second        // to end when asked; docker stops a container in this time
	KillGrace              = 2 * time.Second        // to vanish when killed
)

// The shared process (R74, R81).
const (
	KeptConfigs     = 64                     // of projects that had a session: what is dropped is read again
	KeptRecords     = 4096                   // projects that the trust records are kept for, a pointer each: sessions have them too
	HubIdleExit     = 10 * time.Minute       // without a session; a start costs less than the memory
	MaxHubIdleExit  = 24 * time.Hour         // longer is 0: never
	HubLineBytes    = 64 << 10               // a first line, and its answer; directories and locale have 40 KiB at most
	HubLineWait     = 5 * time.Second        // for a first line, and for its answer: both ends are local
	HubVariables    = 256                    // of an agent that are asked for; an agent has not more
	HubEnvBytes     = 1 << 20                // their values in one line; the system allows two
	HubNotes        = 20                     // of what is wrong with the configuration, to one client; mcp-catalog has all
	HubNoteBytes    = 1 << 10                // of each: with their number well below HubLineBytes
	HubLockWait     = 100 * time.Millisecond // for the lock: who holds it is the hub
	HubSocketWait   = 15 * time.Second       // for the lock where the socket is given: the one before has to notice
	HubReach        = 5 * time.Second        // for a hub that was just started
	HubReachFirst   = time.Millisecond       // until it is looked for again, a quarter longer each time
	HubReachAgain   = time.Second            // for a hub that was started and is not there: it was killed, or is slow
	HubReachMost    = 50 * time.Millisecond  // where that ends: a person waits
	HubConnections  = 4096                   // at the same time; agents are some dozens
	HubOrders       = 64                     // connections at the same time to a hub that only finishes its sessions
	HubRefusals     = 64                     // connections over those that are told so, at a time; others are closed
	HubCheckEvery   = 5 * time.Second        // how often a hub looks whether it is still the one
	HubSayEvery     = time.Minute            // that connections cannot be accepted, or are refused
	HubDrain        = 100 * time.Millisecond // who connected while it stopped listening is told so
	HubGrace        = 3 * time.Second        // of a hub's sessions when it ends, as of its servers
	ControlWait     = 3 * time.Minute        // for a control verb: start_timeout has an hour, and nobody waits that long at a shell
	StatusWait      = 10 * time.Second       // for status, which a hub that goes on answers at once; a machine may be slow
	ControlSay      = 5 * time.Second        // until a person is told what is waited for
	HubStop         = 20 * time.Second       // for the end of a hub's servers: HubGrace twice, and theirs
	HubGoodbye      = time.Second            // for the last line to a bridge that may not read
	HubOrphanLinger = 10 * time.Second       // of a hub of an earlier build, without a session: twice HubReach
)

// The bridge between an agent and the shared process (R74, R80).
const (
	BridgeEnd        = 900 * time.Millisecond                      // from the end of stdin to its own
	AloneEnd         = EndGrace + EOFGrace + TermGrace + KillGrace // of a session that it has served without a hub: the servers' end
	BridgeWaiting    = 4 << 20                                     // of lines that wait for the next hub, beside one
	BridgeResume     = 5 * time.Second                             // they wait for answers to what is repeated; a server may have to start
	BridgeLook       = 100 * time.Millisecond                      // how often a write that hangs looks whether the agent is there
	ParentLook       = time.Second                                 // how often a parent is looked at where the kernel does not tell
	BridgeGivenUp    = 64                                          // calls that the agent gave up, whose rows a dying hub may not have written,
	BridgeGivenUpFor = time.Minute                                 // for so long: one that hangs is killed by then
	HubDeaths        = 3                                           // within HubDeathWindow: the session goes on without a hub
	HubDeathWindow   = time.Minute                                 // a hub that was up so long did well
)

// Which servers run (R20 to R26).
const (
	ServerEnd           = SettleGrace + FlushGrace + EOFGrace + TermGrace + KillGrace + time.Second // of a server, waited for: its teardown and a busy machine; what takes longer hangs
	FlapDeaths          = 5                                                                         // deaths within FlapWindow: it will not come right by itself
	FlapWindow          = time.Minute                                                               // a server that was up so long did well
	FlapHold            = 5 * time.Minute                                                           // a flapping server is left down; a person had time to look
	ReconcileEvery      = 30 * time.Second                                                          // processes and connections are looked at, nothing is sent
	RestartJobs         = 4                                                                         // starts nobody waits for, at the same time: they take the machine from calls
	RetireGrace         = 500 * time.Millisecond                                                    // a removed server that is about to get a last call
	ServerSubscriptions = 4000                                                                      // resources of one server that sessions are subscribed to
	ServerTasks         = 1000                                                                      // open tasks with one server; the oldest of the session with most give way
	EarlyNews           = 16                                                                        // of tasks that nobody has yet; a call's answer follows at once
	EarlyBytes          = 16 << 10                                                                  // of one of them; a status is short
	HubLogBytes         = 1 << 20                                                                   // state/hub.log, then .1
)
