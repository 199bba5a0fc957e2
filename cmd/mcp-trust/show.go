package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/trust"
)

// shown is how many characters of one argument are shown.
const shown = 400

// describe says what a server would run, without values that it is given: only
// what is declared and what was found is shown (S2, S5).
func (p *place) describe(env *cmdmain.Env, srv *config.Server) trust.Description {
	d := trust.Describe(p.records, srv, p.environ)
	for _, texts := range [][]string{d.Why, d.NotCovered} {
		for i, text := range texts {
			texts[i] = env.Clean(text)
		}
	}
	return d
}

// arguments are the declared ones, but for credentials that were written into
// them. Whatever could be more than one is shown: a repository must not be able
// to hide what it would run behind the look of a secret.
func arguments(s *config.Server) []string {
	args := slices.Clone(s.Args)
	for i, arg := range args {
		if strings.Contains(arg, "://") || strings.Trim(arg, tokenBytes) == "" {
			var noValues *secret.Redactor
			args[i] = noValues.Text(arg)
		}
	}
	return args
}

// tokenBytes are what a flag and its credential are written with. No path is.
const tokenBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+="

// describe writes what allow decides about, one thing a line. All of it is
// foreign text and passes Printable, on a pipe too: an argument must not be able
// to look like a line of its own.
func describe(w io.Writer, d *trust.Description) error {
	s := d.Server
	var b strings.Builder
	fmt.Fprintf(&b, "%s, declared at %s\n", cmdmain.Printable(s.Original), cmdmain.Printable(s.At()))
	line := func(label, format string, args ...any) {
		text := cmdmain.Printable(fmt.Sprintf(format, args...))
		fmt.Fprintf(&b, "  %-12s %s\n", label, cmdmain.Cut(text, shown))
	}
	line("status", "%s", d.Status)
	for _, why := range d.Why {
		line("changed", "%s", why)
	}
	if flags := before(d); flags != "" {
		line("before", "%s", flags)
	}
	line("digest", "%s", s.Digest)
	line("command", "%s", command(d))
	if d.Executable != nil {
		line("", "sha256 %s", d.Executable.SHA256)
	}
	for _, arg := range arguments(s) {
		line("argument", "%s", arg)
	}
	where(line, d)
	variables(line, d)
	for _, f := range d.Files {
		line("file", "%s sha256 %s", f.Path, f.SHA256)
	}
	for _, t := range d.Trees {
		line("folder", "%s, %d files, sha256 %s", t.Path, t.Count, t.SHA256)
	}
	for _, text := range d.NotCovered {
		line("not covered", "%s", text)
	}
	for _, text := range lookalikes(s) {
		line("beware", "%s", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// before is with which flags the approval was given that this one replaces: without
// them it would be a lesser one.
func before(d *trust.Description) string {
	if d.Record == nil || d.Status != trust.Trusted && d.Status != trust.Stale && d.Status != trust.Expired {
		return ""
	}
	var flags []string
	if c := d.Record.Class; c != "" && c != config.ClassUnknown {
		flags = append(flags, "--class "+string(c))
	}
	for _, t := range d.Record.Trees {
		flags = append(flags, "--tree "+call.ShellQuoted(t.Path))
	}
	return strings.Join(flags, " ")
}

// where says in which directory the server runs, and for how many. One that runs
// in its agents' directories was looked at from the project's root.
func where(line func(string, string, ...any), d *trust.Description) {
	if d.Dir != "" && !agentDir(d.Server) {
		line("directory", "%s", d.Dir)
	}
	if d.Server.Shared {
		return
	}
	line("processes", "one for each session, which ends with it (shared: false)")
	if agentDir(d.Server) {
		line("directory", "that of its agent inside %s; relative arguments were looked up from there", d.Server.Project)
	}
}

// agentDir reports whether a server runs where its agent does.
func agentDir(s *config.Server) bool { return !s.Shared && s.CWD == "" }

func variables(line func(string, string, ...any), d *trust.Description) {
	for _, v := range d.Variables {
		line("variable", "%s, %s", v.Name, origin(v.Origin))
	}
	for _, e := range d.Server.Env {
		if secret.ChangesCode(e.Name) {
			line("sets", "%s=%s, which can change what code runs", e.Name, e.Value)
		} else {
			line("sets", "%s", e.Name)
		}
	}
}

// command is the executable as it was found, or what is declared.
func command(d *trust.Description) string {
	if d.Executable != nil {
		return d.Executable.Path
	}
	return d.Server.Command
}

func origin(from secret.Origin) string {
	switch from {
	case "":
		return "not set here"
	case secret.FromEnvFile:
		return "from its env_file"
	case secret.FromAgent:
		return "from the environment of the agent"
	default:
		return "from the environment"
	}
}

// lookalikes points out letters that are no ASCII, since some look like it.
func lookalikes(s *config.Server) []string {
	var out []string
	for _, part := range []struct{ name, text string }{{"its id", s.Original}, {"its command", s.Command}} {
		for _, r := range part.text {
			if r > '~' {
				out = append(out, fmt.Sprintf("%s holds %q (U+%04X)", part.name, r, r))
				break
			}
		}
	}
	return out
}
