package call

import "strings"

// ShellQuoted is s as one word of a POSIX shell. Remedies are run as printed,
// and a folder's name must not be a command in them.
func ShellQuoted(s string) string {
	if s != "" && s[0] != '-' && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// special tells a character that may mean something to a shell.
func special(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return false
	}
	return !strings.ContainsRune("/._-@+:,%=", r)
}
