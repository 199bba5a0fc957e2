/*
Mcp-log shows the call log: one row for every call that agents and people made
through postern, whatever became of it.

	mcp-log [FILTER…] [--since T] [--until T] [-n N] [-r | -f]
	mcp-log verify [--repair]
	mcp-log prune
	mcp-log path

A FILTER is NAME=VALUE or text~REGEX; of several all must hold. Rows come oldest first, as a
table on a terminal and elsewhere as JSON lines, byte for byte as they were
written. Lines of the log that are no rows are counted on standard error.

What was refused since yesterday:

	mcp-log outcome=denied --since yesterday

The ten slowest-looking calls of one server, newest first:

	mcp-log upstream=github latency=2s.. -n 10 -r

What happens now, as a table that grows:

	mcp-log -f -o table

Whether rows are missing, damaged or out of order:

	mcp-log verify

Calls by tool, counted with other programs:

	mcp-log --since 1d | jq -r .tool | sort | uniq -c | sort -rn
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-log", app) }
