/*
Mcp-call makes one tool call from the shell, down the same line as an agent's.

	mcp-call SERVER TOOL [key=value | key:=json | key=@file]…
	mcp-call SERVER TOOL --args JSON        arguments as they are; - reads them from standard input, @FILE from a file
	mcp-call SERVER__TOOL …                 the name that agents see
	mcp-call SERVER                         its tools
	mcp-call SERVER TOOL --help             the tool's parameters

# Arguments

key=value is typed by the tool's schema. Of what the schema allows there the
first of these is taken that the value spells: one of the values it lists, a
number, true or false, null, an object or array written out, text. A number
arrives as it was typed, whatever its size. Where the schema says nothing the
value is text. What it does not allow is refused before anything is sent.

A key given twice makes an array, a.b=1 an object; a name with dots that the
schema has is one name. key:=json is sent as it is, whatever the schema says.
key=@file is the file's content, which must be UTF-8: text where text is taken,
else a value like any other.

# Output

Text blocks are printed as they are, structured content as JSON where there is
no text; what else there is, is named on standard error. -o json prints the
whole result, -o raw the server's whole answer as it came, --get what a gjson
path finds in the result. A result that says isError is printed too, and the
command ends with 5. On a terminal all of it is made harmless first.

# The server

Where a hub is up (see mcp-serve) it makes the call, with the server that all
agents share; nothing is started here. Otherwise, and with --no-hub, the server is
started for this one call. The result is written when it is there; only then is
the server stopped, which takes a few seconds where it does not want to end.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-call", app) }
