package config

import (
	"os"
	"path/filepath"
	"strings"
)

// The fields of a server that say where something is: command, directory,
// environment file.

func readCommand(r *reader, s *Server, n *node, path string) {
	if v, ok := r.value(s, n, path, MaxCommandBytes, false); ok {
		s.Command = v
		r.checkCommand(s, n.pos, path)
	}
}

// checkCommand applies C10 and C34 as far as they can be judged before values
// are known and without looking an executable up.
func (r *reader) checkCommand(s *Server, at pos, path string) {
	c := s.Command
	switch {
	case strings.TrimSpace(c) == "":
		r.fail(at, path, "is empty")
	case IsShell(c):
		r.fail(at, path, "%q is a shell; name the program that it would start, with its args", c)
	case strings.HasPrefix(c, "~"):
		r.fail(at, path, "~ is not expanded; write ${HOME}%s", strings.TrimPrefix(c, "~"))
	case strings.ContainsAny(c, " \t\n") && !strings.Contains(c, `\`) && !isFile(c):
		r.fail(at, path, "must be one executable; write %s", splitForm(c))
	case s.Scope == User && strings.Contains(c, "/") && !filepath.IsAbs(c) && !strings.HasPrefix(c, "$"):
		r.fail(at, path, "a relative path; write the absolute one, or a bare name that is looked up in path")
	}
}

// isFile reports whether c is an absolute path to a regular file.
func isFile(c string) bool {
	if !filepath.IsAbs(c) {
		return false
	}
	fi, err := os.Stat(c)
	return err == nil && fi.Mode().IsRegular()
}

// splitForm shows how a command line is written as command and args.
func splitForm(c string) string {
	words := strings.Fields(c)
	return "command: " + words[0] + ", args: [" + strings.Join(words[1:], ", ") + "] before any other args"
}

func readCWD(r *reader, s *Server, n *node, path string) {
	v, ok := r.value(s, n, path, MaxCWDBytes, false)
	switch {
	case !ok:
	case v == "":
		r.fail(n.pos, path, "is empty; take the field away")
	case strings.HasPrefix(v, "~"):
		r.fail(n.pos, path, "~ is not expanded; write ${HOME}%s", strings.TrimPrefix(v, "~"))
	case s.Scope == Project && !strings.Contains(v, "$") && !filepath.IsAbs(v) && !filepath.IsLocal(v):
		r.fail(n.pos, path, "leads out of the project")
	default:
		s.CWD = v
	}
}

// readEnvFile takes the path literally: C30 expands nothing here.
func readEnvFile(r *reader, s *Server, n *node, path string) {
	v, ok := r.text(n, path, MaxCWDBytes)
	switch {
	case !ok:
	case v == "":
		r.fail(n.pos, path, "is empty; take the field away")
	case strings.ContainsAny(v, "$~"):
		r.fail(n.pos, path, "is not expanded; write the path as it is, relative to %s", s.Base())
	case s.Scope == Project && !filepath.IsLocal(v):
		r.fail(n.pos, path, "must be a relative path inside the project")
	default:
		s.EnvFile = v
	}
}

// value reads a template of a server. In .mcp.json it also understands what
// other clients write there (C22).
func (r *reader) value(s *Server, n *node, path string, most int, hide bool) (string, bool) {
	if r.foreign && n.kind == kindString {
		return r.foreignValue(s, n, path, most, hide)
	}
	return r.template(n, path, most, hide)
}

// checkServer judges what needs more than one field.
func (r *reader) checkServer(s *Server, m member, path string) {
	if m.value.kind == kindMapping && m.value.get("command") == nil {
		r.fail(m.pos, path, "command is missing")
	}
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		r.fail(m.pos, path, "timeout is longer than max_timeout, so it could never pass")
	}
	if s.Sampling && s.Shared {
		r.fail(m.pos, path, "sampling: true needs shared: false, because nobody could tell whose model is asked")
	}
}
