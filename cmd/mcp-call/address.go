package main

import (
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
)

// target is what the arguments name, and the arguments of the tool or prompt.
type target struct {
	server, tool string // of a tool; tool is "" where the server alone was named
	method, name string // of a prompt or resource: how it is asked for, its name or URI
	words        []string
}

// String names it in messages.
func (t target) String() string {
	switch t.method {
	case getPrompt:
		return "prompt " + t.name
	case readResource:
		return "resource " + t.name
	}
	return t.server + "/" + t.tool
}

// known is where address looks names up.
type known interface {
	has(server string) bool
	exposed(name string) (server, tool string) // "" for none
}

// viewed are the names of a view.
type viewed struct{ v *call.View }

func (k viewed) has(server string) bool { return k.v.Server(server) != nil }

func (k viewed) exposed(name string) (server, tool string) {
	if t := k.v.Exposed(name); t != nil {
		return t.Server.Declared.ID, t.Def.Name
	}
	return "", ""
}

// address takes server and tool off the arguments. An exact server id wins over
// SERVER__TOOL; of that the longest id does.
func address(k known, args []string) (target, error) {
	first, rest := args[0], args[1:]
	if !k.has(first) {
		if server, tool := k.exposed(first); server != "" {
			return target{server: server, tool: tool, words: rest}, nil
		}
		for end := strings.LastIndex(first, "__"); end > 0; end = strings.LastIndex(first[:end], "__") {
			if tool := first[end+2:]; k.has(first[:end]) && tool != "" {
				return target{server: first[:end], tool: tool, words: rest}, nil
			}
		}
	}
	if len(rest) == 0 {
		return target{server: first}, nil
	}
	if rest[0] == "" {
		return target{}, cmdmain.Usagef("TOOL is empty")
	}
	return target{server: first, tool: rest[0], words: rest[1:]}, nil
}

// command is a command line of this program, to be run as it is, in the same
// place as this one. flags stand as they are.
func (m *caller) command(flags string, words ...string) string {
	line, dashed := "", false
	for _, w := range words {
		line += " " + call.ShellQuoted(w)
		dashed = dashed || strings.HasPrefix(w, "-")
	}
	if flags += m.place(); dashed {
		return m.env.Name + flags + " --" + line
	}
	return m.env.Name + line + flags
}

// helpOf is the command that shows what a tool takes; of what is no tool nothing
// does.
func (m *caller) helpOf(t target) []string {
	if t.method != "" {
		return nil
	}
	return []string{m.command(" --help", t.server, t.tool)}
}

// place repeats the flags that say where this command works.
func (m *caller) place() (flags string) {
	for _, name := range []string{"project", "config-dir"} {
		if value := m.c.String(name); value != "" {
			flags += " --" + name + " " + call.ShellQuoted(value)
		}
	}
	if m.c.Bool("no-project") {
		flags += " --no-project"
	}
	return flags
}
