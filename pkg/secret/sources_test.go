package secret

import (
	"errors"
	"testing"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// C30: the order of the places, and who may be asked for what.
func TestLookup(t *testing.T) {
	everywhere := map[string]string{"A": "x"}
	full := Sources{EnvFile: everywhere, Secrets: NewStore(map[string]string{"A": "cmd:printf secret"}),
		Environment: env(everywhere), Agent: env(everywhere), AgentNames: []string{"A"}}
	without := func(change func(s *Sources)) *Sources {
		s := full
		change(&s)
		return &s
	}
	noFile := func(s *Sources) { s.EnvFile = nil }
	noSecret := func(s *Sources) { noFile(s); s.Secrets = nil }
	onlyAgent := func(s *Sources) { noSecret(s); s.Environment = nil }
	project := func(s *Sources) { noFile(s); s.Project = true }
	for name, tt := range map[string]struct {
		s       *Sources
		from    Origin
		inAgent bool
	}{
		"the env file first":              {&full, FromEnvFile, false},
		"then the secrets":                {without(noFile), FromSecrets, false},
		"then the hub":                    {without(noSecret), FromEnvironment, false},
		"then the agent":                  {without(onlyAgent), FromAgent, false},
		"the agent only by name":          {without(func(s *Sources) { onlyAgent(s); s.AgentNames = nil }), "", true},
		"nobody has it":                   {without(func(s *Sources) { onlyAgent(s); s.Agent = nil }), "", false},
		"a project never has secrets":     {without(func(s *Sources) { project(s); s.Environment, s.Agent = nil, nil }), "", false},
		"a project without a record":      {without(project), "", true},
		"agent_env means nothing there":   {without(func(s *Sources) { project(s); s.Environment = nil }), "", true},
		"a project with a record":         {without(func(s *Sources) { project(s); s.Recorded = []string{"A"} }), FromEnvironment, false},
		"a project's record, agent":       {without(func(s *Sources) { project(s); s.Recorded, s.Environment = []string{"A"}, nil }), FromAgent, false},
		"a project's env file":            {without(func(s *Sources) { s.Project = true }), FromEnvFile, false},
		"Recorded means nothing for user": {without(func(s *Sources) { onlyAgent(s); s.AgentNames, s.Recorded = nil, []string{"A"} }), "", true},
		"the zero Sources":                {&Sources{}, "", false},
	} {
		_, from, err := tt.s.Lookup("A")
		var missing *MissingError
		if from != tt.from || (err == nil) != (tt.from != "") {
			t.Errorf("%s: %q, %v", name, from, err)
		} else if err != nil && (!errors.As(err, &missing) || missing.InAgent != tt.inAgent) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A secret that cannot be read is not "not set": its default must not apply.
func TestLookupOfABrokenSecret(t *testing.T) {
	s := Sources{Secrets: NewStore(map[string]string{"A": "file:/no/such/file"}), Environment: env(map[string]string{"A": "x"})}
	_, _, err := s.Lookup("A")
	var read *ReadError
	if !errors.As(err, &read) || IsMissing(err) {
		t.Errorf("%v", err)
	}
}
