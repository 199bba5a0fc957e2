// Package pkg holds no code. Its tests hold the rules that concern the whole
// module: which package may import which and why, how long files and functions
// may get, what must be documented and what must not occur.
//
// postern was founded on four documents: one on trust and servers on stdio, one
// that decides for a gateway in front of all servers, one on its administration,
// and one on tools for a workspace. What they ask for, as far as it is built and in
// the words of postern's own design, is listed below with the tests that fail when
// it is broken. A path that ends in .txtar is a script, which its package runs.
//
// # Trust and stdio
//
//	a project's server without an approval that fits is named with its remedy, never started | pkg TestProjectIsInert, pkg/gateway TestUntrustedServersAreNamedOnly, pkg/call TestChangedDeclarationIsStale
//	a record is of one declaration at one real path, not of a copy or a folder around it     | pkg/trust TestRecordHoldsForItsPathOnly, cmd/mcp-trust/testdata/decide.txtar
//	the digest covers all that says what runs, and a change of it ends the approval          | pkg/config TestWhatTheDigestCovers, pkg/trust TestChangeAfterApproval, pkg/trust TestStaleSaysWhy
//	a digest is the same in every build and in both forms of file                            | pkg/config TestDigestsAreFixed, pkg/config TestDigestOfBothForms
//	the user's own servers are trusted without a record                                      | pkg/trust TestUserServer
//	a project cannot say of itself what class it is                                          | pkg/config TestProjectFile
//	the class in the record decides what its tools may do                                    | pkg/call TestClassOfTheRecord
//	a trust file that cannot be believed trusts nothing and is not written over              | pkg/trust TestUnbelievableFileTrustsNothing
//	a shell is no server, by any name and in a variable too                                  | pkg/config TestOneMistakeInAServer, pkg/trust TestNothingLeadsOutOfTheProject
//	directory, command and files of a project stay inside it, through links too              | pkg/trust TestNothingLeadsOutOfTheProject
//	of two servers of one id the user's counts and the other is named                        | pkg/config TestPrecedence
//	bytes become lines, one message each, however they are cut                               | pkg/wire TestReader
//	a line too long is refused at once, newline or not, in bounded memory                    | pkg/wire TestReaderRefusesAtOnce, pkg/wire TestReaderMemoryIsBounded
//	text that is not UTF-8 is an error of the protocol, never repaired                       | pkg/wire TestParseRefuses, pkg/upstream TestBrokenAnswers
//	a server is started and shakes hands in either era; a revision nobody speaks is refused  | pkg/upstream TestProcess, pkg/upstream TestHandshake, pkg/upstream TestHandshakeRefused
//	its tools are listed to the end or to the bound, and a cut list says so                  | pkg/upstream TestList, pkg/upstream TestListBounds
//	a call takes arguments and result through unchanged                                      | pkg/upstream TestDoKeepsBytes
//	a client is one process for one life; after its end there is another client              | pkg/pool TestEndedServerIsStartedAnew
//	a server that stops reading fails with overload                                          | pkg/upstream TestOverload, pkg TestFaultServerDoesNotRead
//	once the leader has exited its whole group is ended, deaf to SIGTERM or not              | pkg/upstream TestTeardownOfEverything, pkg/upstream TestLeaderExits
//	what survives SIGKILL is reported as group-survived-sigkill and not waited for           | pkg/upstream TestLadder
//	without a recorded list a server is missing; a call starts it, a search does not         | pkg/gateway TestMissingListStartsNothing
//	a recorded list answers lists, searches and descriptions without a start                 | pkg/gateway TestRecordedListStartsNothing, pkg/gateway TestSearchStartsNothing
//	a record that is damaged, of another declaration or of the future is none                | pkg/catalog TestBadFileIsAMiss, pkg/catalog TestForeignIdentity, pkg/catalog TestFreshness
//	a refresh of one server starts that server and records what it lists                     | pkg/call TestRefresh, pkg/call TestControlRefresh
//	a recorded list permits nothing: trust and the live definition decide                    | pkg TestRevokeHoldsForOpenSessions, pkg/call TestChangedDeclarationIsStale, pkg/call TestLiveDefinitionIsDecidedAgain
//	names are id__tool, and a name belongs to the longest id it begins with                  | pkg/catalog TestExposed, pkg/call TestOwner
//	a server that no session uses any more is ended                                          | pkg/pool TestEndOfSessionEndsTheWant, pkg TestUnshared
//	structured content without text reaches the model                                        | pkg/gateway/testdata/results.txtar
//	a result over 16 KiB, or the policy's bound, is cut for the model and kept to read on    | pkg/config TestPoliciesAndTheRest, pkg/gateway/testdata/results.txtar
//	a result that breaks the protocol, isError in quotes say, is a failed call               | pkg/call TestMalformedResults
//	numbers keep every digit                                                                 | pkg/gateway TestMB137NumbersKeepTheirDigits
//
// # Gateway decision
//
//	many agents with one server are one process of it, counted in the list of processes     | pkg TestHubTwelveAgentsEightServers
//	a server outside the policy is in no list and no search, its calls not_permitted        | pkg/gateway TestDeniedToolsAreHiddenByEveryPath, pkg/call TestRefusalsStartNothing
//	what is listed and what can be called are the same                                      | pkg/call TestListedIsCallable
//	a tool without readOnlyHint, and in no read_tools, is refused to who may only read      | pkg/policy TestTierOf, pkg/call TestClassOfTheRecord, pkg/call TestRefusalsStartNothing
//	a server killed in a call costs its callers an upstream_error, stays listed, comes back | pkg TestHubServerKilled, pkg/call TestServerDiesInTheMiddle, pkg/call TestRestartWithoutACall
//	after five timeouts in a row the next call is circuit_open and is not sent              | pkg/pool TestTimeoutsOpenTheBreaker, pkg/call TestCircuitOpen
//	after the cooldown one call is tried                                                    | pkg/pool TestOneProbe
//	what a tool itself calls an error is no failure of its server                           | pkg/pool TestMB158ToolErrors
//	two sessions of an unshared server are two processes, each in its agent's directory     | pkg TestUnshared, pkg TestHubUnshared
//	each call is one row                                                                    | pkg TestHubTwelveAgentsEightServers, pkg/gateway TestRowsOfOwnTools
//	what a client calls itself is only claimed in the row                                   | pkg/call TestRow
//	a secret among the arguments is not in the row                                          | pkg/call TestRowsAreRedacted, pkg TestPlantedSecrets
//	read from the process, no agent's environment holds a server's credential               | pkg TestHubEnvironments
//	lazy exposure lists three tools of its own and takes a small part of the context        | pkg/gateway TestMB136ManyTools, pkg/gateway TestLazyContext
//	a call through call_tool is judged like a direct one, and its row names the real tool   | pkg/gateway TestDeniedToolsAreHiddenByEveryPath, pkg/gateway TestRowsOfOwnTools
//	a server of 2024-11-05 serves an agent of 2026-07-28                                    | pkg TestOldServerNewAgent
//	answers and progress of sessions with the same ids go each to its own                   | pkg TestCrowd
//	a cancellation reaches the server, and the call gets no answer                          | pkg/gateway TestCancel
//	a question goes to the session whose call is under way; without one it is refused       | pkg/pool TestQuestionsFindTheirSession
//	sessions share one subscription of a resource, and each hears of it                     | pkg/pool TestSubscriptionsAreCounted
//
// # Administration
//
//	where nothing is declared nothing runs                                                  | pkg TestHubNothingDeclared
//	all sessions have one connection to a server                                            | pkg/gateway TestFiveSessions
//	references are expanded wherever a declaration may have them                            | pkg/trust TestExpandedEverywhere
//	a server is switched off and on in its entry, and off it is started by nothing          | cmd/mcp-catalog/testdata/script/enable.txtar, pkg/call TestControlStart
//	a dead server is found and started again, without a call or by one                      | pkg/pool TestRestart, pkg/pool TestUnnoticedDeath, pkg/pool TestEndedServerIsStartedAnew
//	looking after servers sends them nothing                                                | pkg/pool TestReconcileSendsNothing
//	an agent is given no tool that starts, stops or approves                                | pkg/gateway TestWhoDecidesExposure
//	the inventory has all that is declared, tells what may be edited, holds no values       | cmd/mcp-catalog/testdata/script/servers.txtar, cmd/mcp-catalog/testdata/script/enable.txtar
//	a killed server stays down until it is started, which connects at once; no file changes | pkg/pool TestKillBrake, pkg/call TestControlKillAndStart, cmd/mcp-serve/testdata/script/control.txtar
//	a declaration is checked before it is saved, and keeps variables not given anew         | cmd/mcp-catalog/testdata/script/add.txtar
//	a removed server is stopped                                                             | cmd/mcp-catalog/testdata/hub/hub.txtar, cmd/mcp-catalog/testdata/script/rm.txtar
//	a candidate is tried without being saved, and is always ended                           | pkg/call TestTryLeavesNoTrace, cmd/mcp-catalog/testdata/script/test.txtar
//	a server named alone lists its tools with their schemas                                 | cmd/mcp-call/testdata/script/list.txtar
//	refused arguments bring the tool's schema back                                          | pkg/call TestSchemaComesBackWithToolErrors, pkg/call TestSchemaComesBackWithInvalidParams
//
// # Workspace tools
//
//	initialize is answered on stdio, one of an unknown revision with our newest legacy one | pkg/gateway/testdata/handshake.txtar, cmd/mcp-serve/testdata/script/session.txtar
//	the gateway is reached on a unix socket                                                | pkg/hub TestPlainSession
//	who connects as another user is not heard                                              | pkg/hub TestPeerOfAnotherUser, pkg/hub TestHubHearsItsOwnUser
//	calls walk one line of steps; the first refusal ends it, has a row and runs nothing    | pkg/call TestLineIsAsDrawn, pkg/call TestRefusalsStartNothing
//	the policy is asked, and nothing is allowed that no policy allows                      | pkg/policy TestTable, pkg/policy TestNothingAllowsNothing, cmd/mcp-serve/testdata/script/session.txtar
//	an executable or file that is not the approved one is refused until it is approved     | pkg/call TestSupplyChain, pkg TestProjectIsInert
package pkg
