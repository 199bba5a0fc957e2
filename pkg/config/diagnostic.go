package config

import (
	"fmt"
	"strings"
)

// Diagnostic is one thing that is wrong, or, as a Warning, doubtful in a
// configuration file. It never holds a value that may be secret.
type Diagnostic struct {
	File         string
	Line, Column int    // from 1; 0 = the file as a whole
	Server       string // id as written, when it concerns one server
	Field        string // dotted path from the top, "" = none
	Problem      string // what is wrong and what to do
	Nearest      string // the valid spelling that was probably meant
	Warning      bool   // nothing is left out because of it
}

// String is `file:line:column: field: what is wrong (did you mean "x"?)`.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Column)
	}
	b.WriteString(": ")
	if d.Field != "" {
		b.WriteString(d.Field + ": ")
	}
	b.WriteString(d.Problem)
	if d.Nearest != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", d.Nearest)
	}
	return b.String()
}

// Error makes a Diagnostic an error, for commands that end with one.
func (d Diagnostic) Error() string { return d.String() }
