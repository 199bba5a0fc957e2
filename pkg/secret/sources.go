package secret

import "slices"

// Origin says which place gave a name its value (C31).
type Origin string

// The places, in the order in which they are asked. FromDefault is for callers
// of Template.Expand that report a default as an origin too; Lookup never
// returns it.
const (
	FromEnvFile     Origin = "env_file"
	FromSecrets     Origin = "secrets"
	FromEnvironment Origin = "environment"
	FromAgent       Origin = "agent"
	FromDefault     Origin = "default"
)

// Sources are the places one server's names are looked up in (C30). The zero
// Sources knows no name. Fields are not changed after the first Lookup; then
// it is safe for concurrent use.
type Sources struct {
	// EnvFile is the server's own file, as ParseEnvFile read it.
	EnvFile map[string]string
	// Secrets are the entries of `secrets:`; ignored when Project is set.
	Secrets *Store
	// Environment is the hub's own environment, Agent that of the agent; nil
	// is an empty one.
	Environment, Agent func(name string) (string, bool)
	// AgentNames are the names of agent_env: the agent is asked for no other.
	// Ignored when Project is set.
	AgentNames []string
	// Recorded are the names that the approval of a project's server shows.
	Recorded []string
	// Project restricts Environment and Agent to the Recorded names.
	Project bool
}

// Lookup returns the value of name and where it came from. Without a value its
// error is a *MissingError; a secret that could not be read is a *ReadError.
// A variable that is set to nothing counts as set.
func (s *Sources) Lookup(name string) (value string, from Origin, err error) {
	if v, ok := s.EnvFile[name]; ok {
		return v, FromEnvFile, nil
	}
	if !s.Project && s.Secrets != nil {
		v, ok, err := s.Secrets.Value(name)
		if err != nil {
			return "", "", err
		}
		if ok {
			return v, FromSecrets, nil
		}
	}
	recorded := s.Project && slices.Contains(s.Recorded, name)
	if v, ok := ask(s.Environment, name); ok {
		if !s.Project || recorded {
			return v, FromEnvironment, nil
		}
		return "", "", &MissingError{Name: name, InAgent: true}
	}
	v, ok := ask(s.Agent, name)
	if ok && (recorded || !s.Project && slices.Contains(s.AgentNames, name)) {
		return v, FromAgent, nil
	}
	return "", "", &MissingError{Name: name, InAgent: ok}
}

func ask(getenv func(string) (string, bool), name string) (string, bool) {
	if getenv == nil {
		return "", false
	}
	return getenv(name)
}
