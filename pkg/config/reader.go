package config

import (
	"fmt"
	"strconv"
	"strings"
)

// reader collects what is wrong with one file while its parts are read.
type reader struct {
	file   string // as shown in diagnostics
	source string // real path, shown as the place of a rule
	scope  Scope

	foreign bool              // the file is .mcp.json (C22)
	claims  map[string]string // id → place of the declaration that has it, over all files (C13)
	server  string            // the server that is being read, "" = none
	diags   []Diagnostic
	failed  int  // errors so far, to see whether a part was good
	outside bool // an error that belongs to no server: the file does not count
}

func (r *reader) fail(at pos, field, format string, args ...any) {
	r.add(Diagnostic{Line: at.line, Column: at.column, Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (r *reader) warn(at pos, field, format string, args ...any) {
	r.add(Diagnostic{Line: at.line, Column: at.column, Field: field, Problem: fmt.Sprintf(format, args...), Warning: true})
}

func (r *reader) add(d Diagnostic) {
	d.File, d.Server = r.file, r.server
	if !d.Warning {
		r.failed++
		r.outside = r.outside || r.server == ""
	}
	switch {
	case len(r.diags) < MaxDiagnostics:
		r.diags = append(r.diags, d)
	case len(r.diags) == MaxDiagnostics:
		r.diags = append(r.diags, Diagnostic{File: r.file, Problem: "more is wrong than is shown here"})
	}
}

// place is "file:line" of a position, as rules and patterns show it.
func (r *reader) place(at pos) string { return r.source + ":" + strconv.Itoa(at.line) }

// allowed is whose file may hold a field (C20). The zero value is undecided and
// fails a test.
type allowed int

const (
	userOnly allowed = iota + 1
	anywhere         // a repository's file too; then the field is in the digest
)

// field is one line of a table of fields.
type field[T any] struct {
	name  string
	where allowed
	into  string // the member of T that it fills, for the test of C20
	// read fills *T. nil: the field has a meaning in the format and none in
	// this version, and is refused by name (C14).
	read func(r *reader, dst *T, n *node, path string)
}

// readFields reads the mapping n by a table. Unknown, repeated and forbidden
// fields are named; known ones are read even so, to find all mistakes at once.
func readFields[T any](r *reader, dst *T, n *node, path string, table []field[T]) {
	if !r.want(n, path, kindMapping) {
		return
	}
	seen := map[string]bool{}
	for _, m := range n.members {
		where := join(path, m.name)
		if seen[m.name] {
			r.fail(m.pos, where, "given twice")
			continue
		}
		seen[m.name] = true
		f := find(table, m.name)
		switch {
		case f == nil:
			r.unknown(m, where, names(table, r.scope))
		case f.where == userOnly && r.scope == Project:
			r.fail(m.pos, where, "only allowed in the user's configuration; use mcp-trust")
		case f.read == nil:
			r.fail(m.pos, where, "%s is not supported yet", m.name)
		default:
			f.read(r, dst, m.value, where)
		}
	}
}

func (r *reader) unknown(m member, where string, known []string) {
	r.add(Diagnostic{Line: m.pos.line, Column: m.pos.column, Field: where, Problem: "unknown field", Nearest: nearest(m.name, known)})
}

func find[T any](table []field[T], name string) *field[T] {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// names are the fields that may be written in a file of this scope.
func names[T any](table []field[T], scope Scope) []string {
	var out []string
	for _, f := range table {
		if f.read != nil && (scope == User || f.where == anywhere) {
			out = append(out, f.name)
		}
	}
	return out
}

// join makes a dotted path; a name that is not plain is quoted.
func join(path, name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == '.' || c == ':' || c == 0x7f }) {
		name = fmt.Sprintf("%.64q", name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
