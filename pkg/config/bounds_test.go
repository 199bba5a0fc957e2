package config

import (
	"fmt"
	"strings"
	"testing"
)

// repeated is n items made by item, joined by commas.
func repeated(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ", ")
}

func policyWith(field string) string { return "policies: {p: {" + field + "}}" }

func same(text string) func(int) string { return func(int) string { return text } }

// C12: each bound holds what it says and refuses one more.
func TestBoundsOfAServer(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("A%d", i) }
	for what, field := range map[string]func(n int) string{
		"args":        func(n int) string { return "args: [" + repeated(n, same("a")) + "]" },
		"env":         func(n int) string { return "env: {" + repeated(n, func(i int) string { return name(i) + ": x" }) + "}" },
		"agent_env":   func(n int) string { return "agent_env: [" + repeated(n, name) + "]" },
		"inherit_env": func(n int) string { return "inherit_env: [" + repeated(n, name) + "]" },
	} {
		expect(t, what, oneServer("command: x\n"+field(64)), oneServer("command: x\n"+field(65)))
	}
	for what, tt := range map[string]struct {
		most int
		text func(s string) string
	}{
		"an argument":  {MaxArgBytes, func(s string) string { return "command: x\nargs: [" + s + "]" }},
		"a variable":   {MaxEnvBytes, func(s string) string { return "command: x\nenv: {A: " + s + "}" }},
		"a directory":  {MaxCWDBytes, func(s string) string { return "command: x\ncwd: " + s }},
		"a file":       {MaxCWDBytes, func(s string) string { return "command: x\nenv_file: " + s }},
		"a command":    {MaxCommandBytes, func(s string) string { return "command: " + s }},
		"a pattern":    {MaxPatternBytes, func(s string) string { return "command: x\nread_tools: [" + s + "]" }},
		"the patterns": {MaxPatterns, func(s string) string { return "command: x\nread_tools: [" + repeated(len(s), same("a")) + "]" }},
	} {
		text := strings.Repeat("a", tt.most)
		expect(t, what, oneServer(tt.text(text)), oneServer(tt.text(text+"a")))
	}
	for what, tt := range map[string][2]string{
		"timeout":                {"timeout: 15m", "timeout: 15m1ns"},
		"max_timeout":            {"max_timeout: 15m", "max_timeout: 901s"},
		"start_timeout":          {"start_timeout: 900000ms", "start_timeout: 1h"},
		"max_concurrency":        {"max_concurrency: 256", "max_concurrency: 257"},
		"queue":                  {"queue: 4096", "queue: 4097"},
		"queue below":            {"queue: 0", "queue: -1"},
		"max_message_bytes":      {"max_message_bytes: 64MiB", "max_message_bytes: 67108865"},
		"max_message_bytes less": {"max_message_bytes: 4KiB", "max_message_bytes: 4095"},
		"max_queue_bytes":        {"max_queue_bytes: 64MiB", "max_queue_bytes: 65MiB"},
		"max_queue_bytes less":   {"max_queue_bytes: 4KiB", "max_queue_bytes: 3KiB"},
		"idle_stop":              {"idle_stop: 24h", "idle_stop: 24h1ns"},
		"idle_stop never":        {"idle_stop: 0s", "idle_stop: -1s"},
		"restart_delay":          {"restart_delay: 1m", "restart_delay: 61s"},
		"restart_delay less":     {"restart_delay: 1ns", "restart_delay: 0s"},
		"breaker.failures":       {"breaker: {failures: 1000}", "breaker: {failures: 1001}"},
		"breaker.failures less":  {"breaker: {failures: 1}", "breaker: {failures: 0}"},
		"breaker.cooldown":       {"breaker: {cooldown: 1h}", "breaker: {cooldown: 3601s}"},
	} {
		expect(t, what, oneServer("command: x\n"+tt[0]), oneServer("command: x\n"+tt[1]))
	}
	id := strings.Repeat("a", MaxIDBytes)
	expect(t, "an id", head+"servers: {"+id+": {command: x}}\n", head+"servers: {"+id+"a: {command: x}}\n")
}

// expect wants one server from good and none from bad, with one reason.
func expect(t *testing.T, what, good, bad string) {
	t.Helper()
	if c := loadUser(t, good); len(c.Servers) != 1 || len(c.Diagnostics) > 0 {
		t.Errorf("%s at its bound: %v", what, problems(c))
	}
	if c := loadUser(t, bad); len(c.Servers) != 0 || len(c.Diagnostics) != 1 || c.Refused {
		t.Errorf("%s beyond its bound: %d servers, %v", what, len(c.Servers), problems(c))
	}
}

// C12: the same for what belongs to no server; there one more refuses the file.
func TestBoundsOfTheRest(t *testing.T) {
	name := strings.Repeat("p", MaxNameBytes)
	policy := func(text string) string { return "policies: {p: {" + text + "}}" }
	for what, tt := range map[string][2]string{
		"policies": {
			"policies: {" + repeated(MaxPolicies, func(i int) string { return fmt.Sprintf("p%d: {}", i) }) + "}",
			"policies: {" + repeated(MaxPolicies+1, func(i int) string { return fmt.Sprintf("p%d: {}", i) }) + "}"},
		"secrets": {
			"secrets: {" + repeated(MaxSecrets, func(i int) string { return fmt.Sprintf("S%d: cmd:x", i) }) + "}",
			"secrets: {" + repeated(MaxSecrets+1, func(i int) string { return fmt.Sprintf("S%d: cmd:x", i) }) + "}"},
		"path": {
			"path: [" + repeated(MaxPathEntries, same("/a")) + "]",
			"path: [" + repeated(MaxPathEntries+1, same("/a")) + "]"},
		"a policy's name": {"policies: {" + name + ": {}}", "policies: {" + name + "p: {}}"},
		"deny": {
			policy("deny: [" + repeated(MaxPatterns, same("a/b")) + "]"),
			policy("deny: [" + repeated(MaxPatterns+1, same("a/b")) + "]")},
		"allow":             {policy("allow: [read, write, execute, admin]"), policy("allow: [read, read, read, read, read]")},
		"names.max":         {"names: {max: 64}", "names: {max: 65}"},
		"description":       {policyWith("max_description_chars: 65536"), policyWith("max_description_chars: 65537")},
		"description never": {policyWith("max_description_chars: 0"), policyWith("max_description_chars: -1")},
		"result":            {policyWith("max_result_bytes: 64MiB"), policyWith("max_result_bytes: 65MiB")},
		"result less":       {policyWith("max_result_bytes: 1KiB"), policyWith("max_result_bytes: 1023")},
		"result never":      {policyWith("max_result_bytes: 0"), policyWith("max_result_bytes: -1")},
		"names.max below":   {"names: {max: 32}", "names: {max: 31}"},
		"log.days":          {"log: {days: 3650}", "log: {days: 3651}"},
		"log.days below":    {"log: {days: 1}", "log: {days: 0}"},
		"log.max_file":      {"log: {max_file: 1GiB}", "log: {max_file: 1025MiB}"},
		"log.max_file less": {"log: {max_file: 1MiB}", "log: {max_file: 1023KiB}"},
	} {
		if c := loadUser(t, head+tt[0]+"\n"); c.Refused || len(c.Diagnostics) > 0 {
			t.Errorf("%s at its bound: %v", what, problems(c))
		}
		if c := loadUser(t, head+tt[1]+"\n"); !c.Refused || len(c.Diagnostics) != 1 {
			t.Errorf("%s beyond its bound: %v", what, problems(c))
		}
	}
	if c := loadUser(t, policed+"#"+strings.Repeat("x", MaxFileBytes-len(policed)-1)); c.Refused {
		t.Errorf("a file at its bound: %v", problems(c))
	}
}
