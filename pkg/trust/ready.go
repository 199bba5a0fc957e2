package trust

import (
	"errors"

	"postern/pkg/config"
)

// Ready is what keeps one of the user's servers from being started as things
// are: an *UnavailableError, an *ExecutableError or a *SelfError, nil when nothing is known.
// It runs nothing and hashes nothing, so that it can be asked of every server
// at once; names in stored, the entries of `secrets:`, count as found. Of a
// project's server nothing is known here.
func Ready(srv *config.Server, env *Environ, project string, stored map[string]string) error {
	if srv.Scope != config.User {
		return nil
	}
	cheap := *env
	cheap.Secrets = nil
	v, err := newValues(srv, &cheap, project, nil)
	if err != nil {
		return err
	}
	texts := append([]string{srv.Command, srv.CWD}, srv.Args...)
	for _, d := range srv.Env {
		texts = append(texts, d.Value)
	}
	for i, text := range texts {
		texts[i], err = v.expand(text)
		var missing *UnavailableError
		if errors.As(err, &missing) && stored[missing.Name] == "" {
			return err
		}
		if err != nil && i < 2 {
			return nil // where the command is, its secret says
		}
	}
	dir, err := workingDirectory(srv, texts[1], env)
	if err != nil {
		return err
	}
	list, err := pathList(v, env)
	if err != nil {
		return nil
	}
	program, err := find(srv, texts[0], dir, list, project)
	if err == nil && isSelf(program, env.Self) {
		return &SelfError{Server: srv.ID}
	}
	return err
}
