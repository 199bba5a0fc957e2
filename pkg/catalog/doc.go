// Package catalog owns what a server offers: the recorded lists of its tools,
// prompts, resources and resource templates, the names under which tools are
// exposed, which template a URI belongs to, and the files that remember all that
// between processes.
//
// A catalog is knowledge and never permission. It may say that a tool exists;
// whether its server may start and whether the tool may be called is asked of
// packages trust and policy each time. A catalog that is wrong in any way is a
// catalog that is not there.
//
// Tool definitions stay the bytes the server sent. Three things are changed when
// one is shown: the name, a description that is longer than the policy wants it
// (R63), and an input schema that several clients would answer by dropping the
// whole list (C72). Tool.Shown makes the changes by splice; nothing is decoded
// and written again. Of prompts, resources and templates the name or the URI is
// changed alike, and nothing else.
//
// Search ranks the tools of several catalogs by the words of a query (R65). How
// it does so is nobody else's business: an Index is made of a catalog, and
// Search is given the names of those tools only that its caller may see.
//
// # The file of a catalog, version 1
//
// cache/catalogs/SHA.json, where SHA is the hexadecimal sha256 of project,
// scope, declaring file and id, joined by NUL (C70). One JSON object of at most
// config.MaxCatalogBytes:
//
//	v                   1; any other number is another format
//	identity            project, scope, source, server, digest, cwd of the
//	                    declaration that was asked
//	at                  when, RFC 3339 in UTC
//	ttl_ms              what the server asked for; 0 = nothing
//	server_info         as sent; null = not sent
//	protocol, era       negotiated revision; legacy or modern
//	capabilities        as sent; null = not sent
//	instructions        text
//	truncated           whether the lists went on
//	tools, prompts, resources, resource_templates
//	                    definitions as sent, in the server's order
//	refused             [{name, why}]: items left out of the lists
//	noise               lines on its stdout that were no JSON-RPC; left out for 0
//
// All other members are always written. A reader ignores members it does not know,
// wants all those above exactly once, and treats everything else (not JSON, too
// large, another version or identity, a date in the future, an item that would
// have been refused) as a missing file (C71). testdata/v1.json is such a file.
//
// # The file of a failed discovery, version 1
//
// cache/catalogs/SHA.failed: {"v":1,"identity":{…},"at":"…","why":"…"}, and
// "slow":true where it had not failed yet when nobody waited any longer. It
// counts for config.FailedDiscovery after at, and goes when a catalog is
// written. testdata/v1.failed is one.
package catalog
