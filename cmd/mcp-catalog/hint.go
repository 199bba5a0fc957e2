package main

import (
	"fmt"
	"strings"

	"postern/pkg/call"
)

// allowCommand is how a project's server is approved.
func allowCommand(s *call.Server) string {
	return fmt.Sprintf("mcp-trust allow %s --project %s", s.Declared.ID, quoted(s.Declared.Project))
}

// quoted is a path as a POSIX shell reads it back.
func quoted(path string) string {
	if path != "" && strings.IndexFunc(path, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == '_' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
