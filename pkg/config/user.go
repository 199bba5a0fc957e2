package config

import (
	"path/filepath"
	"slices"
	"strings"

	"postern/pkg/secret"
)

// userFile is what the user's files say together.
type userFile struct {
	servers  []*Server
	policies map[string]*Policy
	defaults *Defaults
	log      Log
	namesMax int
	path     []string
	secrets  map[string]string

	terminalHosts []string
	hub           Hub

	files []readFile
	given map[string]string // what may be there once → where it is
}

// readFile is one of the user's files; top is nil when there was nothing in it.
type readFile struct {
	r   *reader
	top *node
}

func newUserFile() *userFile {
	return &userFile{
		policies: map[string]*Policy{}, log: Log{Args: "redacted", Days: DefaultLogDays, MaxFile: DefaultLogFile},
		namesMax: DefaultNameMax, hub: Hub{IdleExit: HubIdleExit}, given: map[string]string{},
	}
}

// userFields is every field at the top of the user's file.
func userFields() []field[userFile] {
	return []field[userFile]{
		{"version", userOnly, "", readVersion[userFile]},
		{"servers", userOnly, "servers", func(r *reader, u *userFile, n *node, path string) {
			u.servers = append(u.servers, readServers(r, n, path, filepath.Dir(r.file), "")...)
		}},
		{"secrets", userOnly, "secrets", readSecrets},
		{"policies", userOnly, "policies", readPolicies},
		{"defaults", userOnly, "defaults", single(readDefaults)},
		{"path", userOnly, "path", single(func(r *reader, u *userFile, n *node, path string) {
			u.path = list(r, n, path, MaxPathEntries, r.directory)
		})},
		{"log", userOnly, "log", single(func(r *reader, u *userFile, n *node, path string) {
			readFields(r, &u.log, n, path, logFields())
		})},
		{"names", userOnly, "namesMax", single(func(r *reader, u *userFile, n *node, path string) {
			readFields(r, u, n, path, []field[userFile]{{"max", userOnly, "namesMax", func(r *reader, u *userFile, n *node, path string) {
				u.namesMax = r.integer(n, path, MinNameMax, MaxNameMax)
			}}})
		})},
		{name: "callers", where: userOnly}, {name: "workspace", where: userOnly},
		{"sessions", userOnly, "terminalHosts", single(func(r *reader, u *userFile, n *node, path string) {
			readFields(r, u, n, path, []field[userFile]{
				{"terminal_hosts", userOnly, "terminalHosts", func(r *reader, u *userFile, n *node, path string) {
					u.terminalHosts = list(r, n, path, MaxTerminalHosts, r.processName)
				}},
				{name: "allow_with", where: userOnly},
			})
		})},
		{name: "network", where: userOnly}, {name: "listen", where: userOnly},
		{"hub", userOnly, "hub", single(func(r *reader, u *userFile, n *node, path string) {
			readFields(r, &u.hub, n, path, hubFields())
		})},
		{name: "skill_paths", where: userOnly}, {name: "prompt_paths", where: userOnly}, {name: "strict_pins", where: userOnly},
	}
}

func logFields() []field[Log] {
	return []field[Log]{
		{"args", userOnly, "Args", func(r *reader, l *Log, n *node, path string) {
			l.Args, _ = choice(r, n, path, "redacted", "hash", "none")
		}},
		{"days", userOnly, "Days", func(r *reader, l *Log, n *node, path string) { l.Days = r.integer(n, path, 1, MaxLogDays) }},
		{"max_file", userOnly, "MaxFile", func(r *reader, l *Log, n *node, path string) {
			l.MaxFile = r.size(n, path, MinLogFile, MaxLogFile)
		}},
		{name: "export", where: userOnly},
	}
}

func hubFields() []field[Hub] {
	return []field[Hub]{
		{"idle_exit", userOnly, "IdleExit", func(r *reader, h *Hub, n *node, path string) {
			h.IdleExit = r.durationOrNever(n, path, MaxHubIdleExit)
		}},
	}
}

// read takes one file in. Whether it counts is the reader's to say.
func (u *userFile) read(r *reader, top *node) {
	u.files = append(u.files, readFile{r, top})
	if top != nil {
		readFields(r, u, top, "", userFields())
		r.needVersion(top)
	}
}

// finish judges what needs all files.
func (u *userFile) finish() {
	outside := slices.ContainsFunc(u.files, func(f readFile) bool { return f.r.outside })
	for _, f := range u.files {
		at := f.top.get("defaults").get("policy")
		if at != nil && !outside && u.policies[u.defaults.Policy] == nil {
			f.r.add(Diagnostic{Line: at.pos.line, Column: at.pos.column, Field: "defaults.policy", Problem: "there is no policy of this name",
				Nearest: nearest(u.defaults.Policy, keys(u.policies))})
		}
		u.doubtArgs(f)
	}
}

// once reports whether name under field is there for the first time in all of
// the user's files, and says so when it is not.
func (u *userFile) once(r *reader, at pos, field, name string) bool {
	key := field + "\x00" + name
	if first, given := u.given[key]; given {
		r.fail(at, join(field, name), "given twice; the first is %s", first)
		return false
	}
	u.given[key] = r.place(at)
	return true
}

// single is a field that only one of the user's files may have.
func single(read func(*reader, *userFile, *node, string)) func(*reader, *userFile, *node, string) {
	return func(r *reader, u *userFile, n *node, path string) {
		if u.once(r, n.pos, "", path) {
			read(r, u, n, path)
		}
	}
}

// readVersion accepts the one version there is; the field fills nothing.
func readVersion[T any](r *reader, _ *T, n *node, path string) {
	if n.kind != kindNumber || n.text != "1" {
		r.fail(n.pos, path, "must be 1; another version needs another postern")
	}
}

func (r *reader) needVersion(top *node) {
	if top.kind == kindMapping && top.get("version") == nil {
		r.fail(top.pos, "version", "is missing; write version: 1 at the top")
	}
}

// readServers reads a mapping of ids; a bad entry costs itself only (C11).
func readServers(r *reader, n *node, path, base, project string) []*Server {
	if n.kind == kindNull || !r.want(n, path, kindMapping) {
		return nil
	}
	var servers []*Server
	for _, m := range r.capped(n.members, path) {
		if s := readServer(r, m, base, project); s != nil {
			servers = append(servers, s)
		}
	}
	return servers
}

// capped cuts the entries off that are too many, and says so.
func (r *reader) capped(entries []member, path string) []member {
	if len(entries) <= MaxServers {
		return entries
	}
	extra := entries[MaxServers]
	r.server = extra.name
	r.fail(extra.pos, path, "more than %d servers; this one and those behind it are left out", MaxServers)
	r.server = ""
	return entries[:MaxServers]
}

func readSecrets(r *reader, u *userFile, n *node, path string) {
	if !r.want(n, path, kindMapping) {
		return
	}
	if len(u.secrets)+len(n.members) > MaxSecrets {
		r.fail(n.pos, path, "more than %d entries", MaxSecrets)
		return
	}
	if u.secrets == nil {
		u.secrets = map[string]string{}
	}
	for _, m := range n.members {
		where := join(path, m.name)
		if !u.once(r, m.pos, path, m.name) {
			continue
		}
		text, ok := r.text(m.value, where, MaxArgBytes)
		if !r.variableName(m.pos, where, m.name) || !ok {
			continue
		}
		if err := secret.CheckEntry(text); err != nil {
			r.fail(m.value.pos, where, "%s", err)
		}
		u.secrets[m.name] = text
	}
}

// directory reads an entry of `path:`.
func (r *reader) directory(n *node, path string) (string, bool) {
	s, ok := r.text(n, path, MaxCWDBytes)
	if ok && (!filepath.IsAbs(s) || strings.ContainsRune(s, filepath.ListSeparator)) {
		r.fail(n.pos, path, "must be one absolute directory")
		return "", false
	}
	return s, ok
}

// processName is the name of a program as the system's process list shows it.
func (r *reader) processName(n *node, path string) (string, bool) {
	s, ok := r.text(n, path, MaxProcessName)
	if ok && (s == "" || strings.ContainsRune(s, '/')) {
		r.fail(n.pos, path, "must be the name of a program, without a folder")
		return "", false
	}
	return s, ok
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
