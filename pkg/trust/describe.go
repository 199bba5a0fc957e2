package trust

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// Description is what a person decides about: what a project's server would run
// here and now, and what is known of it.
type Description struct {
	Server *config.Server
	Status Status
	Why    []string // what differs from the record, when Status is Stale
	Record *Record  // the decision in force; nil when there is none

	Executable    *Executable // nil when the command leads to nothing
	Dir           string      // real path of the working directory
	Variables     []Variable  // every name it refers to or inherits by name
	CodeVariables []string    // those it sets although they change what code runs (C33)
	Files         []FileRecord
	Trees         []TreeRecord // folders that Cover added
	NotCovered    []string     // what an approval would not hold, in words
	Problem       error        // why it could not be started as it is; nil = nothing known

	expanded string
}

// Variable is one name, and where its value would come from. The value itself
// is nowhere in a Description.
type Variable struct {
	Name   string
	Origin secret.Origin // "" when nothing has it
}

// Describe looks at srv, a project's server, as Check would if it were approved,
// and starts nothing. A Trusted status means that executable and files are as
// approved, too.
func Describe(r *Records, srv *config.Server, env *Environ) Description {
	status, rec := r.Status(srv)
	d := Description{Server: srv, Status: status, Record: rec, CodeVariables: codeVariables(srv)}
	if d.Problem = d.look(r, env); d.Problem == nil && srv.Unavailable != "" {
		d.Problem = &UnavailableError{Server: srv.ID, Why: srv.Unavailable}
	}
	return d
}

func (d *Description) look(r *Records, env *Environ) error {
	srv := d.Server
	names := referenced(srv)
	v, err := newValues(srv, env, r.project, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, from, err := v.sources.Lookup(name)
		if err != nil {
			from = ""
		}
		d.Variables = append(d.Variables, Variable{Name: name, Origin: from})
	}
	p, err := newPlan(v, env, r.project)
	if err != nil {
		return err
	}
	d.Dir, d.expanded = p.dir, p.expanded
	if err := d.hash(r.hashes, p); err != nil {
		return err
	}
	d.NotCovered = notCovered(srv, p)
	d.differences(r.hashes, p)
	if isSelf(p.program, env.Self) {
		return &SelfError{Server: srv.ID}
	}
	return nil
}

func (d *Description) hash(h *hashes, p *plan) error {
	sum, err := h.sum(p.program.source())
	if err != nil {
		return &ExecutableError{Server: d.Server.ID, Command: p.command, Why: "cannot be read: " + err.Error()}
	}
	d.Executable = &Executable{Path: p.program.path, SHA256: sum, RootOwned: p.program.rootOwned}
	for _, path := range p.files {
		sum, err := h.sum(projectFile(d.Server.Project, path))
		if err != nil {
			return &UnavailableError{Server: d.Server.ID, Why: fmt.Sprintf("%s cannot be read: %v", path, err)}
		}
		d.Files = append(d.Files, FileRecord{Path: path, SHA256: sum})
	}
	return nil
}

// differences says what a stale record and the present have not in common, and
// makes a record stale that holds the declaration but not what it leads to.
func (d *Description) differences(h *hashes, p *plan) {
	if d.Record == nil || d.Record.Decision != allow || d.Status != Trusted && d.Status != Stale {
		return
	}
	if d.Record.Digest != d.Server.Digest {
		d.Why = append(d.Why, "the declaration changed")
	}
	rec := d.Record
	if p.expanded != rec.Expanded {
		d.Why = append(d.Why, "command, arguments or directory are others")
	}
	for _, name := range d.CodeVariables {
		if !slices.Contains(rec.Env, name) {
			d.Why = append(d.Why, name+", which changes what code runs, was not allowed")
		}
	}
	for _, v := range d.Variables {
		if !slices.Contains(rec.Env, v.Name) && !slices.Contains(d.CodeVariables, v.Name) {
			d.Why = append(d.Why, "it uses "+v.Name+", which was not shown")
		}
	}
	for _, err := range []error{
		compareProgram(h, d.Server, rec.Executable, p.program),
		compareFiles(h, d.Server, rec.Files, p.files),
		compareTrees(h, d.Server, rec.Trees),
	} {
		if c, ok := err.(*ChangedError); ok {
			d.Why = append(d.Why, c.Path+" "+c.What)
		}
	}
	if len(d.Why) > 0 {
		d.Status = Stale
	}
}

// notCovered says in words what an approval of p does not hold (C51).
func notCovered(srv *config.Server, p *plan) []string {
	var out []string
	if srv.PackageRunner() {
		out = append(out, "what "+filepath.Base(p.program.path)+" downloads and runs")
	}
	if p.program.rootOwned {
		out = append(out, p.program.path+" belongs to root: held by its path, not by its content")
	}
	if !p.program.binary {
		out = append(out, "the interpreter of "+p.program.path)
	}
	out = append(out, "files that the program loads by itself")
	return append(out, p.outside...)
}

// CodeVariablesError refuses an approval that does not name the variables by
// which the declaration changes what code runs (C33).
type CodeVariablesError struct {
	Server string
	Names  []string
}

func (e *CodeVariablesError) Error() string {
	return fmt.Sprintf("server %s sets %s, which can change what code runs", e.Server, strings.Join(e.Names, ", "))
}

// UnusedVariableError refuses to record a name the declaration does not have.
type UnusedVariableError struct{ Server, Name string }

func (e *UnusedVariableError) Error() string {
	return fmt.Sprintf("server %s neither sets nor inherits %s", e.Server, e.Name)
}

// Approval makes the decision "allow" about what d describes, for Allow to write.
// env names the code-changing variables that the person allowed. It fails with
// d.Problem, *CodeVariablesError or *UnusedVariableError.
func (d *Description) Approval(class config.Class, env []string, note string) (Record, error) {
	if d.Problem != nil {
		return Record{}, d.Problem
	}
	for _, name := range env {
		if !slices.Contains(d.CodeVariables, name) && !slices.ContainsFunc(d.Variables, func(v Variable) bool { return v.Name == name }) {
			return Record{}, &UnusedVariableError{Server: d.Server.ID, Name: name}
		}
	}
	var names, missing []string
	for _, name := range d.CodeVariables {
		if !slices.Contains(env, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Record{}, &CodeVariablesError{Server: d.Server.ID, Names: missing}
	}
	for _, v := range d.Variables {
		names = append(names, v.Name)
	}
	names = append(names, d.CodeVariables...)
	slices.Sort(names)
	return Record{
		Project: d.Server.Project, Source: d.Server.Source, Server: d.Server.ID, Digest: d.Server.Digest,
		Decision: allow, Class: class, Env: slices.Compact(names), Executable: d.Executable, Files: d.Files, Trees: d.Trees,
		Expanded: d.expanded, At: time.Now().UTC().Truncate(time.Second), Note: note,
	}, nil
}
