package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/state"
)

// values expands one declaration and remembers where each name came from.
type values struct {
	srv     *config.Server
	sources *secret.Sources
	origins map[string]secret.Origin
	learned *secret.Redactor // may be nil
	owner   string           // of what its agent gives
	agents  bool             // the text that was expanded last has something of the agent's
}

// newValues prepares the places a server's names come from (C30). project is
// the session's; recorded are the names an approval shows, which matter for a
// project's server only.
func newValues(srv *config.Server, env *Environ, project string, recorded []string) (*values, error) {
	file, err := readEnvFile(srv, project)
	if err != nil {
		return nil, err
	}
	s := &secret.Sources{
		EnvFile: file, Environment: variables(env.Hub), Agent: variables(env.Agent),
		AgentNames: srv.AgentEnv, Recorded: recorded, Project: srv.Scope != config.User,
	}
	if !s.Project {
		s.Secrets = env.Secrets
	}
	v := &values{srv: srv, sources: s, origins: map[string]secret.Origin{}, learned: env.Redactor, owner: env.Session}
	for name, value := range file {
		v.learn(name, value, secret.FromEnvFile, false)
	}
	return v, nil
}

// learn makes a value known as one that must not be shown (S5). What every
// program has in its environment is not. What has something of an agent's in it is
// known for its session's sake.
func (v *values) learn(name, value string, from secret.Origin, agents bool) {
	everywhere := from == secret.FromEnvironment || from == secret.FromAgent
	if v.learned == nil || everywhere && secret.Public(name) {
		return
	}
	v.learned.AddFor(v.ownerIf(agents), !everywhere || secret.CredentialName(name), value)
}

func (v *values) ownerIf(agents bool) string {
	if agents {
		return v.owner
	}
	return ""
}

// Learn tells env.Redactor the values of one of the user's servers that can be
// had without running anything, so that they are known before it starts. What
// cannot be had, and entries of `secrets:`, are left to Check.
func Learn(srv *config.Server, env *Environ, project string) {
	cheap := *env
	cheap.Secrets = nil
	v, err := newValues(srv, &cheap, project, nil)
	if err != nil || srv.Scope != config.User {
		return
	}
	texts := append([]string{srv.Command, srv.CWD}, srv.Args...)
	for i, text := range texts {
		texts[i], _ = v.expand(text)
	}
	v.learnArguments(texts)
	_ = v.inherited(env)
	for _, d := range srv.Env {
		_, _ = v.declared(d)
	}
}

// learnArguments makes what stands under secret names on a command line known.
func (v *values) learnArguments(args []string) {
	if v.learned != nil {
		some := slices.Contains(slices.Collect(maps.Values(v.origins)), secret.FromAgent)
		v.learned.AddFor(v.ownerIf(some), true, secret.SecretArguments(args)...)
	}
}

// variables looks names up in environ; of a name that is there twice the last
// one counts, as it does for Inherited.
func variables(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(value, "=") {
				return value[1:], true
			}
		}
		return "", false
	}
}

// readEnvFile reads the server's env_file: inside the project by its handle, or
// under the demands of C5 for the user's own.
func readEnvFile(srv *config.Server, project string) (map[string]string, error) {
	if srv.EnvFile == "" {
		return nil, nil
	}
	data, err := envFileBytes(srv, project)
	if err == nil {
		var file map[string]string
		if file, err = secret.ParseEnvFile(data); err == nil {
			return file, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it does not exist or is empty")
	}
	return nil, &UnavailableError{Server: srv.ID, Why: fmt.Sprintf("env_file %s cannot be used: %v", srv.EnvFile, err)}
}

func envFileBytes(srv *config.Server, project string) ([]byte, error) {
	path := absolute(srv.Base(), srv.EnvFile)
	if srv.Scope == config.User {
		data, _, err := state.ReadFile(path, state.Check{Max: config.MaxEnvFile, Private: true, Project: project})
		return data, err
	}
	rel, ok := within(srv.Project, path)
	if !ok {
		return nil, errors.New("it lies outside the project")
	}
	root, err := os.OpenRoot(srv.Project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, _, err := state.ReadInRoot(root, rel, config.MaxEnvFile)
	return data, err
}

// expand returns text with its references replaced.
func (v *values) expand(text string) (string, error) {
	t, err := secret.ParseTemplate(text)
	if err != nil {
		return "", &UnavailableError{Server: v.srv.ID, Why: err.Error()}
	}
	var defaulted []string
	v.agents = false
	out, err := t.Expand(func(name string) (string, error) {
		value, from, err := v.sources.Lookup(name)
		switch {
		case err == nil:
			agents := from == secret.FromAgent
			v.learn(name, value, from, agents)
			v.origins[name], v.agents = from, v.agents || agents
		case secret.IsMissing(err):
			defaulted = append(defaulted, name)
		}
		return value, err
	})
	if err != nil {
		return "", v.unavailable(err)
	}
	for _, name := range defaulted {
		v.origins[name] = secret.FromDefault
	}
	return out, nil
}

func (v *values) expandAll(texts []string) ([]string, error) {
	out := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = v.expand(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unavailable words a failed lookup, with the place where the value belongs.
func (v *values) unavailable(err error) error {
	var missing *secret.MissingError
	if !errors.As(err, &missing) {
		return &UnavailableError{Server: v.srv.ID, Why: err.Error()}
	}
	e := &UnavailableError{Server: v.srv.ID, Name: missing.Name}
	project := v.srv.Scope != config.User
	switch {
	case project && missing.InAgent:
		e.Hint = "mcp-trust allow " + v.srv.ID
	case missing.InAgent:
		e.Hint = fmt.Sprintf("your shell has it: add agent_env: [%s] to server %s at %s", missing.Name, v.srv.ID, v.srv.At())
	case project:
		e.Hint = fmt.Sprintf("export %s before the agent starts, or put it into the server's env_file", missing.Name)
	case slices.Contains(v.srv.AgentEnv, missing.Name):
		e.Hint = fmt.Sprintf("start the agent anew with %s in its environment, or put it into the env_file of server %s or into secrets: of mcp.yaml", missing.Name, v.srv.ID)
	default:
		e.Hint = fmt.Sprintf("put %[1]s into the env_file of server %[2]s or into secrets: of mcp.yaml, or have each agent give its own: agent_env: [%[1]s]", missing.Name, v.srv.ID)
	}
	return e
}

// environment makes the child's whole environment (C32): the declared variables
// over the inherited part. expanded holds the part that depends on values.
func (v *values) environment(env *Environ) (all, expanded []string, err error) {
	set := v.inherited(env)
	own := map[string]string{}
	if v.srv.InheritEnv.Mode == "list" {
		v.fromAgent(env, set, own)
	}
	for _, d := range v.srv.Env {
		if secret.Withheld(d.Name) {
			return nil, nil, &UnavailableError{Server: v.srv.ID, Why: "env may not set " + d.Name}
		}
		if own[d.Name], err = v.declared(d); err != nil {
			return nil, nil, err
		}
	}
	maps.Copy(set, own)
	return entries(set), entries(own), nil
}

// declared is the value of a declared variable.
func (v *values) declared(d config.EnvVar) (string, error) {
	value, err := v.expand(d.Value)
	if err == nil {
		v.learn(d.Name, value, secret.FromEnvironment, v.agents)
	}
	return value, err
}

// inherited is what the child inherits: of the hub's environment, and language,
// time zone and terminal of the agent's for a server of one session. What is
// listed by name is inherited for its value, which may be a secret.
func (v *values) inherited(env *Environ) map[string]string {
	set := map[string]string{}
	from := env.Hub
	if !v.srv.Shared && env.Agent != nil {
		from = secret.WithLocale(env.Hub, env.Agent)
	}
	for _, entry := range secret.Inherited(from, v.srv.InheritEnv) {
		name, value, _ := strings.Cut(entry, "=")
		set[name] = value
		if v.srv.InheritEnv.Mode == "list" {
			v.learn(name, value, secret.FromEnvironment, false)
		}
	}
	return set
}

// fromAgent adds listed variables that the hub lacks and the agent may give.
func (v *values) fromAgent(env *Environ, set, own map[string]string) {
	allowed := v.sources.AgentNames
	if v.sources.Project {
		allowed = v.sources.Recorded
	}
	for _, entry := range secret.Inherited(env.Agent, v.srv.InheritEnv) {
		name, value, _ := strings.Cut(entry, "=")
		if _, have := set[name]; !have && slices.Contains(allowed, name) {
			set[name], own[name] = value, value
			v.learn(name, value, secret.FromAgent, true)
			v.origins[name] = secret.FromAgent
		}
	}
}

func entries(set map[string]string) []string {
	out := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, name+"="+set[name])
	}
	return out
}

// referenced lists the names that a declaration refers to or inherits by name.
func referenced(srv *config.Server) []string {
	texts := append([]string{srv.Command, srv.CWD}, srv.Args...)
	for _, e := range srv.Env {
		texts = append(texts, e.Value)
	}
	var names []string
	for _, text := range texts {
		if t, err := secret.ParseTemplate(text); err == nil {
			names = append(names, t.Names()...)
		}
	}
	if srv.InheritEnv.Mode == "list" {
		names = append(names, srv.InheritEnv.Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// codeVariables lists the variables a declaration sets or inherits by name
// that change what code runs (C33).
func codeVariables(srv *config.Server) []string {
	var names []string
	for _, e := range srv.Env {
		names = append(names, e.Name)
	}
	if srv.InheritEnv.Mode == "list" {
		names = append(names, srv.InheritEnv.Names...)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !secret.ChangesCode(n) })
	slices.Sort(names)
	return slices.Compact(names)
}

// absolute is path as seen from base.
func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// within returns path relative to root when it lies in it by its text.
func within(root, path string) (string, bool) {
	rel, err := filepath.Rel(root, path)
	return rel, err == nil && root != "" && filepath.IsLocal(rel)
}
