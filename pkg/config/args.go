package config

import (
	"fmt"
	"slices"
	"strings"

	"postern/pkg/secret"
)

func readArgs(r *reader, s *Server, n *node, path string) {
	s.Args = list(r, n, path, MaxArgs, func(n *node, path string) (string, bool) {
		return r.value(s, n, path, MaxArgBytes, false)
	})
	if len(s.Args) != len(n.items) {
		return // one is wrong, so the declaration is
	}
	for i := range s.Args {
		if secretArgument(s.Args, i) {
			r.doubtArgument(n, path, i)
		}
	}
}

// doubtArgument says that an argument holds a secret: arguments are no place
// for one, since every program of this machine can read them (C31).
func (r *reader) doubtArgument(n *node, path string, i int) {
	r.warn(n.items[i].pos, fmt.Sprintf("%s[%d]", path, i), "holds a secret that every program on this machine can see; use env if the server can")
}

// secretArgument reports whether an argument is by its names a secret: the
// value of a flag or an assignment that is called like one, or a reference to a
// variable that is.
func secretArgument(args []string, i int) bool {
	name, value, assigned := strings.Cut(args[i], "=")
	if assigned && value != "" && secret.SecretName(strings.TrimLeft(name, "-")) {
		return true
	}
	if i > 0 && !strings.HasPrefix(args[i], "-") && strings.HasPrefix(args[i-1], "-") && secret.SecretName(strings.TrimLeft(args[i-1], "-")) {
		return true
	}
	t, _ := secret.ParseTemplate(args[i])
	return slices.ContainsFunc(t.Names(), secret.SecretName)
}

// doubtArgs looks in the arguments of one file's servers for values of
// `secrets:`, which may stand in another file and have any name.
func (u *userFile) doubtArgs(f readFile) {
	for _, s := range u.servers {
		if s.Source != f.r.source {
			continue
		}
		args := f.top.get("servers").get(s.ID).get("args")
		for i, a := range s.Args {
			t, _ := secret.ParseTemplate(a)
			if !secretArgument(s.Args, i) && slices.ContainsFunc(t.Names(), func(name string) bool { return u.secrets[name] != "" }) {
				f.r.server = s.ID
				f.r.doubtArgument(args, join("servers", s.ID)+".args", i)
				f.r.server = ""
			}
		}
	}
}
