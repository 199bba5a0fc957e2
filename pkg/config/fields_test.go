package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func typeName(v any) string { return reflect.TypeOf(v).String() }

func exported(v any) []string {
	var out []string
	for f := range reflect.TypeOf(v).Fields() {
		if f.IsExported() {
			out = append(out, f.Name)
		}
	}
	return out
}

// C20: a field of a server or policy is in the table, with a decision whose
// file may hold it, or is bookkeeping that no file says.
func TestEveryFieldIsDecided(t *testing.T) {
	bookkeeping := map[string][]string{
		"Server": {"ID", "Original", "Scope", "Source", "Project", "Line", "Digest", "Unavailable"},
		"Policy": {"At"},
		"Log":    {},
	}
	check := func(name string, goFields []string, into map[string]bool) {
		for _, f := range goFields {
			if listed := slices.Contains(bookkeeping[name], f); listed == into[f] {
				t.Errorf("%s.%s: in the table of fields %v, bookkeeping %v", name, f, into[f], listed)
			}
		}
	}
	check("Server", exported(Server{}), decided(t, serverFields()))
	check("Policy", exported(Policy{}), decided(t, policyFields()))
	check("Log", exported(Log{}), decided(t, logFields()))
	check("Breaker", exported(Breaker{}), decided(t, breakerFields()))
	decided(t, userFields())
	decided(t, foreignFields())
}

func decided[T any](t *testing.T, table []field[T]) map[string]bool {
	into := map[string]bool{}
	seen := map[string]bool{}
	for _, f := range table {
		if f.where != userOnly && f.where != anywhere || seen[f.name] {
			t.Errorf("%s: undecided or twice in the table", f.name)
		}
		seen[f.name] = true
		if f.read != nil {
			into[f.into] = true
		}
	}
	return into
}

// C20's first list, as far as it is supported, is what the digest covers.
func TestProjectFieldsAreInTheDigest(t *testing.T) {
	values := map[string]string{"command": "other", "args": "[z]", "env": "{Z: z}", "env_file": "z", "inherit_env": "none", "cwd": "z",
		"timeout": "7s", "start_timeout": "7s", "write_tools": "[z]", "execute_tools": "[z]", "shared": "false"}
	const base = head + "servers:\n  s:\n    command: x\n"
	before := digests(t, base, Project)["s"]
	for _, f := range serverFields() {
		if f.where != anywhere || f.read == nil || f.name == "enabled" {
			continue
		}
		text := base + "    " + f.name + ": " + values[f.name] + "\n"
		if f.name == "command" {
			text = strings.Replace(base, "command: x", "command: other", 1)
		}
		if values[f.name] == "" || digests(t, text, Project)["s"] == before {
			t.Errorf("%s is not in the digest", f.name)
		}
	}
}
