package secret

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of an environment file.
const (
	maxEnvFile  = 64 << 10 // bytes; a file of names and values is never larger
	maxEnvNames = 256      // variables; four times what one server may declare
)

// EnvFileError is a line of an environment file that is not understood. It
// never holds the line's text, which may be a secret.
type EnvFileError struct {
	Line int // from 1; 0 = the file as a whole
	Why  string
}

func (e *EnvFileError) Error() string {
	if e.Line == 0 {
		return e.Why
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Why)
}

// ParseEnvFile reads an environment file by the form of the package doc. Its
// error is always an *EnvFileError; there is no partial result.
func ParseEnvFile(data []byte) (map[string]string, error) {
	if len(data) > maxEnvFile {
		return nil, &EnvFileError{Why: fmt.Sprintf("more than %d bytes", maxEnvFile)}
	}
	vars := map[string]string{}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for i, line := range strings.Split(string(data), "\n") {
		name, value, why := envLine(strings.TrimSpace(line))
		switch _, dup := vars[name]; {
		case why != "":
		case name == "":
			continue
		case dup:
			why = name + " is given twice"
		case len(vars) == maxEnvNames:
			why = fmt.Sprintf("more than %d variables", maxEnvNames)
		}
		if why != "" {
			return nil, &EnvFileError{Line: i + 1, Why: why}
		}
		vars[name] = value
	}
	return vars, nil
}

// envLine reads one trimmed line; name is empty when the line says nothing.
func envLine(line string) (name, value, why string) {
	if line == "" || line[0] == '#' {
		return "", "", ""
	}
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return "", "", "not valid UTF-8 text"
	}
	if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimSpace(rest)
	}
	name, value, ok := strings.Cut(line, "=")
	if name = strings.TrimRight(name, " \t"); !ok || !ValidName(name) {
		return "", "", "expected NAME=value"
	}
	value, why = envValue(strings.TrimSpace(value))
	return name, value, why
}

func envValue(s string) (value, why string) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return unquotedValue(s), ""
	}
	var rest string
	if s[0] == '\'' {
		end := strings.IndexByte(s[1:], '\'')
		if end < 0 {
			return "", "the quote is not closed"
		}
		value, rest = s[1:end+1], s[end+2:]
	} else if value, rest, why = doubleQuoted(s[1:]); why != "" {
		return "", why
	}
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
		return "", "text after the closing quote"
	}
	return value, ""
}

// unquotedValue drops a comment, which begins with # behind a blank.
func unquotedValue(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimRight(s[:i], " \t")
		}
	}
	return s
}

// doubleQuoted reads up to the closing quote; s begins behind the opening one.
func doubleQuoted(s string) (value, rest, why string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], ""
		case '\\':
			i++
			if i == len(s) {
				return "", "", "the quote is not closed"
			}
			at := strings.IndexByte(`\"nrt$`, s[i])
			if at < 0 {
				return "", "", `unknown escape; \\ \" \n \r \t \$ are known, or use single quotes`
			}
			b.WriteByte("\\\"\n\r\t$"[at])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", "the quote is not closed"
}
