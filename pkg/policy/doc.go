// Package policy answers one question: may this subject use this tool, resource or prompt? It
// starts nothing, reads nothing and keeps nothing; Decide is a pure function of
// its two arguments, so that listing, calling and explaining cannot disagree
// (R54).
//
// # The table
//
// The first line that applies gives the verdict and names its rule (R50):
//
//	1  a deny pattern matches                          deny, denied_by
//	5  server not in servers, or tools misses it       deny, not_permitted
//	6  tier not in allow, or above the level           deny, not_permitted
//	7  an ask pattern matches, or class is unknown     ask
//	8  otherwise                                       allow
//
// The gateway's own tools have the server id gateway, which line 5 lets pass;
// patterns see them as gateway/NAME, and where there is no policy at all the
// level alone decides about them (R52).
//
// Lines 2, 3 and 4 of R50 speak of callers with a token; nobody proves an
// identity yet. With several policies (R52) a line applies as soon as it
// applies to one of them: a further policy can only take away.
//
// # Patterns
//
// Everything is matched on whole strings, with * for any run and ? for one
// character (R53). A pattern is one of
//
//	SERVER/TOOL       split at the first slash, part by part, original names
//	SERVER__TOOL      on the joined original names; deny and ask also try the
//	                  name the agent sees
//	exec:GLOB         the declared command and arguments, joined by spaces
//
//	resource:SERVER/URI   on the server's own URIs and templates
//	prompt:SERVER/NAME    on what the server calls its prompts
//
// The first two are about tools, and about methods that nothing here knows; exec:
// is about everything its server has. So resources and prompts of the servers
// that `servers` names may be read, unless `tools` holds an entry on their kind
// and none of its entries matches, or deny or ask have one that does (R53).
// What a server may read in a resource's URI counts beside its text: percent
// codes, dot segments, empty segments, backslashes, the case of scheme and host,
// query and fragment. deny and ask hold for whatever may be meant, and tools
// chooses a URI only with all places that it may lead to, or as it is written.
// A rule for server db never catches db_prod: no pattern is a prefix match
// unless it ends in a star.
package policy
