package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Check decides whether srv may be started now, and is the only way to an
// Approved. It reads files and looks names up, in env.Secrets as well, but
// starts nothing on behalf of a project and reaches no network.
//
// Its errors, in the order in which things are looked at: *DisabledError;
// *NotTrustedError by the record's status; *SelfError for the depth;
// *UnavailableError for a value, file or directory that is missing;
// *ExecutableError; *SelfError; and for a project's server *NotTrustedError
// (Stale) when its values expand to something else than what was approved, and
// *ChangedError when its executable or a covered file differs.
func Check(r *Records, srv *config.Server, env *Environ) (*Approved, error) {
	rec, err := mayStart(r, srv, env)
	if err != nil {
		return nil, err
	}
	var recorded []string
	if rec != nil {
		recorded = rec.Env
	}
	v, err := newValues(srv, env, r.project, recorded)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(v, env, r.project)
	if err != nil {
		return nil, err
	}
	if isSelf(p.program, env.Self) {
		return nil, &SelfError{Server: srv.ID}
	}
	if rec != nil {
		if err := compare(r.hashes, srv, rec, p); err != nil {
			return nil, err
		}
	}
	all, expanded, err := v.environment(env)
	if err != nil {
		return nil, err
	}
	p.env = append(all, fmt.Sprintf("POSTERN_DEPTH=%d", env.Depth+1))
	a := &Approved{server: srv, record: rec, plan: p, hashes: r.hashes}
	if !srv.Shared {
		a.session = env.Session
	}
	a.key = key(srv, rec, p, expanded, a.session)
	return a, nil
}

// mayStart is the part of Check that needs no value: it gives the record that
// trusts srv, nil for the user's own.
func mayStart(r *Records, srv *config.Server, env *Environ) (*Record, error) {
	if !srv.Enabled {
		return nil, &DisabledError{Server: srv.ID}
	}
	status, rec := r.Status(srv)
	switch {
	case status != Trusted:
		return nil, &NotTrustedError{Server: srv.ID, Status: status, Project: srv.Project}
	case env.Depth >= config.MaxPosternDepth:
		return nil, &SelfError{Server: srv.ID, Depth: env.Depth}
	case srv.Unavailable != "":
		return nil, &UnavailableError{Server: srv.ID, Why: srv.Unavailable}
	case !srv.Shared && env.Session == "":
		return nil, &UnavailableError{Server: srv.ID, Why: "it is not shared, and no session asks for it"}
	}
	return rec, nil
}

// key is the digest of R20. It covers p.dir as well, since a cwd may be a link, and
// what was approved: with a new approval of changed code the old one does not run on.
func key(srv *config.Server, rec *Record, p *plan, env []string, session string) string {
	return sha([][]string{
		{string(srv.Scope), srv.Project, srv.ID, srv.Digest, p.program.path, p.command, p.cwd, p.dir, session},
		p.args, env, rec.code(),
	})
}

// code is the content that was approved, nothing for a server of the user's own.
func (r *Record) code() (sums []string) {
	if r == nil {
		return nil
	}
	if r.Executable != nil && !r.Executable.RootOwned {
		sums = append(sums, r.Executable.SHA256)
	}
	for _, f := range r.Files {
		sums = append(sums, f.Path, f.SHA256)
	}
	for _, t := range r.Trees {
		sums = append(sums, t.Path, t.SHA256)
	}
	return sums
}

// compare holds a plan against the record of its server.
func compare(h *hashes, srv *config.Server, rec *Record, p *plan) error {
	stale := func(why string) error {
		return &NotTrustedError{Server: srv.ID, Status: Stale, Project: srv.Project, Why: []string{why}}
	}
	for _, name := range codeVariables(srv) {
		if !slices.Contains(rec.Env, name) {
			return stale(name + ", which changes what code runs, was not allowed")
		}
	}
	if p.expanded != rec.Expanded {
		return stale("its command, arguments or directory expand to other values")
	}
	if err := compareProgram(h, srv, rec.Executable, p.program); err != nil {
		return err
	}
	if err := compareFiles(h, srv, rec.Files, p.files); err != nil {
		return err
	}
	return compareTrees(h, srv, rec.Trees)
}

// compareProgram applies C51: by path alone where root holds the file, else by
// path and digest.
func compareProgram(h *hashes, srv *config.Server, want *Executable, p *program) error {
	if p.path != want.Path {
		e := &ChangedError{Server: srv.ID, Path: p.path, What: "is found instead of " + want.Path}
		if p.searched {
			e.Dir = filepath.Dir(p.path)
		}
		return e
	}
	if want.RootOwned && p.rootOwned {
		return nil
	}
	sum, err := h.sum(p.source())
	return changed(srv, p.path, want.SHA256, sum, err)
}

// compareFiles holds the covered files against the record: the same ones, with
// the same content.
func compareFiles(h *hashes, srv *config.Server, want []FileRecord, files []string) error {
	for _, f := range want {
		sum, err := h.sum(projectFile(srv.Project, f.Path))
		if err := changed(srv, f.Path, f.SHA256, sum, err); err != nil {
			return err
		}
	}
	return onlyApproved(srv, want, files)
}

// onlyApproved refuses files that the record does not hold.
func onlyApproved(srv *config.Server, want []FileRecord, files []string) error {
	for _, path := range files {
		if !slices.ContainsFunc(want, func(f FileRecord) bool { return f.Path == path }) {
			return &ChangedError{Server: srv.ID, Path: path, What: "was not there when it was approved"}
		}
	}
	return nil
}

func changed(srv *config.Server, path, want, got string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ChangedError{Server: srv.ID, Path: path, What: "is gone"}
	case err != nil:
		return &ChangedError{Server: srv.ID, Path: path, What: "cannot be read: " + err.Error()}
	case !strings.EqualFold(want, got):
		return &ChangedError{Server: srv.ID, Path: path, What: "has changed"}
	}
	return nil
}

// Verify looks again whether executable and files are as approved: a stat for
// each while nothing changed. Its error is a *ChangedError. The user's own
// servers are not held to anything and always pass.
func (a *Approved) Verify() error {
	if a.record == nil {
		return nil
	}
	if err := a.verifyProgram(); err != nil {
		return err
	}
	if err := compareFiles(a.hashes, a.server, a.record.Files, nil); err != nil {
		return err
	}
	return compareTrees(a.hashes, a.server, a.record.Trees)
}

// verifyProgram is compareProgram for the file that is at the path now. A file
// of root has no digest to compare, so it is looked at only when its stamp is
// another.
func (a *Approved) verifyProgram() error {
	want, p := a.record.Executable, a.plan.program
	if want.RootOwned && p.rootOwned {
		if stamp, err := state.StampOf(p.path); err == nil && stamp == p.stamp {
			return nil
		}
		now, err := inspect(p.path)
		if err != nil {
			return &ChangedError{Server: a.server.ID, Path: p.path, What: err.Error()}
		}
		p = now
	}
	return compareProgram(a.hashes, a.server, want, p)
}

// verifyArguments finds what the arguments name now and was not approved.
func (a *Approved) verifyArguments() error {
	if a.record == nil {
		return nil
	}
	now := plan{args: a.plan.args, dir: a.plan.dir}
	if err := now.cover(a.server); err != nil {
		return err
	}
	return onlyApproved(a.server, a.record.Files, now.files)
}

var errNotApproved = errors.New("this server was not approved")

// Launch gives what to execute, after one more Verify and one more look at what
// the arguments name: a file may have come since Check. A binary that the record
// holds by digest comes as the open descriptor whose content was compared;
// the caller closes File. Errors: *ChangedError, *UnavailableError, or what kept
// the executable from being opened.
func (a *Approved) Launch() (Launch, error) {
	if a == nil || a.plan == nil {
		return Launch{}, errNotApproved
	}
	if err := a.Verify(); err != nil {
		return Launch{}, err
	}
	if err := a.verifyArguments(); err != nil {
		return Launch{}, err
	}
	p := a.plan
	l := Launch{Path: p.program.path, Args: slices.Clone(p.args), Env: slices.Clone(p.env), Dir: p.dir}
	if a.record == nil || a.record.Executable.RootOwned || !p.program.binary {
		return l, nil
	}
	f, sum, err := a.hashes.opened(p.program.source())
	if err := changed(a.server, p.program.path, a.record.Executable.SHA256, sum, err); err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return Launch{}, err
	}
	l.File = f
	return l, nil
}
