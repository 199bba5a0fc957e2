/*
Mcp-call makes one tool call from the shell, down the same line as an agent's.

	mcp-call SERVER TOOL [key=value | key:=json | key=@file]…
	mcp-call SERVER TOOL --args JSON        arguments as they are; - reads them from standard input, @FILE from a file
	mcp-call SERVER__TOOL …                 the name that agents see
	mcp-call SERVER                         its tools
	mcp-call SERVER TOOL --help             the tool's parameters

A value is typed by the tool's schema; a key given twice makes an array, a.b=1
an object. Text blocks are printed as they are, structured content as JSON
where there is no text; -o json prints the whole result, -o raw the server's
whole answer as it came. --get takes a gjson path into the result.
*/
package main

import "postern/pkg/cmdmain"

func main() { cmdmain.Main("mcp-call", app) }
