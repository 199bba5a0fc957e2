package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// foreignFields is every field of a server in .mcp.json that is acted on
// (C22). Anything else is named once and left alone.
func foreignFields() []field[Server] {
	return []field[Server]{
		{"command", anywhere, "Command", readCommand},
		{"args", anywhere, "Args", readArgs},
		{"env", anywhere, "Env", readEnv},
		{"cwd", anywhere, "CWD", readCWD},
		{"disabled", anywhere, "Enabled", func(r *reader, s *Server, n *node, path string) {
			s.Enabled = !r.boolean(n, path, true)
		}},
		{"timeout", anywhere, "Timeout", readMilliseconds},
		{"type", anywhere, "", func(r *reader, _ *Server, n *node, path string) {
			if t, ok := choice(r, n, path, "stdio", "http", "streamable-http", "sse"); ok && t != "stdio" {
				r.fail(n.pos, path, "HTTP servers are not supported yet")
			}
		}},
		{name: "url", where: anywhere}, {name: "headers", where: anywhere},
	}
}

// readMCPJSON reads the servers of a .mcp.json.
func readMCPJSON(r *reader, top *node, project string) []*Server {
	if !r.want(top, "", kindMapping) {
		return nil
	}
	var servers []*Server
	ignored, seen := map[string]bool{}, map[string]bool{}
	for _, m := range top.members {
		switch {
		case m.name != "mcpServers" && m.name != "servers":
			r.ignore(m, m.name, []string{"mcpServers", "servers"}, ignored)
		case seen[m.name]:
			r.fail(m.pos, m.name, "given twice")
		case m.value.kind == kindNull:
		case r.want(m.value, m.name, kindMapping):
			for _, entry := range r.capped(m.value.members, m.name) {
				if s := readForeign(r, entry, m.name, project, ignored); s != nil {
					servers = append(servers, s)
				}
			}
		}
		seen[m.name] = true
	}
	return servers
}

// ignore names a key that means nothing to us, once a file.
func (r *reader) ignore(m member, path string, known []string, named map[string]bool) {
	if named[m.name] {
		return
	}
	named[m.name] = true
	r.add(Diagnostic{Line: m.pos.line, Column: m.pos.column, Field: path, Problem: "not used by postern",
		Nearest: nearest(m.name, known), Warning: true})
}

func readForeign(r *reader, m member, top, project string, ignored map[string]bool) *Server {
	r.server = m.name
	defer func() { r.server = "" }()
	path, before := join(top, m.name), r.failed
	s := r.begin(mapID(m.name), m, path)
	if s == nil {
		return nil
	}
	s.Project = project
	if !r.want(m.value, path, kindMapping) {
		return nil
	}
	known := &node{kind: kindMapping, pos: m.value.pos}
	table := foreignFields()
	for _, f := range m.value.members {
		switch {
		case find(table, f.name) == nil:
			r.ignore(f, join(path, f.name), names(table, Project), ignored)
		case f.value.kind != kindNull: // null is how some clients write "absent"
			known.members = append(known.members, f)
		}
	}
	if url := known.get("url"); url != nil {
		if off := known.get("disabled"); off != nil && off.kind == kindBool && off.text == "true" {
			r.warn(url.pos, join(path, "url"), "HTTP servers are not supported yet") // nobody misses it
			return nil
		}
		r.noHTTP(known, path)
		return nil
	}
	readFields(r, s, known, path, table)
	m.value = known
	r.checkServer(s, m, path)
	if r.failed != before {
		return nil
	}
	return finish(r, s, m, path)
}

// readMilliseconds reads a timeout of .mcp.json. Too long a one counts as the
// longest, because other clients allow any; a unit mistake shows as a warning.
func readMilliseconds(r *reader, s *Server, n *node, path string) {
	if n.kind == kindString {
		r.fail(n.pos, path, "must be a number of milliseconds, without quotes")
		return
	}
	if !r.want(n, path, kindNumber) {
		return
	}
	ms, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err != nil && !math.IsInf(ms, 1), ms < 1, ms != math.Trunc(ms):
		r.fail(n.pos, path, "must be a whole number of milliseconds above 0")
	case ms > float64(MaxTimeout.Milliseconds()):
		r.warn(n.pos, path, "this file counts in milliseconds; more than %s counts as that", MaxTimeout)
		s.Timeout = MaxTimeout
	default:
		s.Timeout = time.Duration(ms) * time.Millisecond
		r.doubtShort(n.pos, path, s.Timeout)
	}
}

// foreignValue reads a value with the references of other clients: ${env:NAME}
// is ${NAME}; ${input:…}, which some write without braces, would be asked of a
// person by an editor, so that the server can be listed and never started.
func (r *reader) foreignValue(s *Server, n *node, path string, most int, hide bool) (string, bool) {
	var b strings.Builder
	for rest := n.text; rest != ""; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		switch {
		case strings.HasPrefix(rest, "$$"):
			b.WriteString("$$")
			rest = rest[2:]
		case strings.HasPrefix(rest, "${env:"):
			b.WriteString("${")
			rest = rest[len("${env:"):]
		case strings.HasPrefix(rest, "${input:"), strings.HasPrefix(rest, "$input:"):
			s.Unavailable = "an editor asks a person for " + inputOf(rest) + "; declare the server in your own configuration instead"
			return r.text(n, path, most)
		default:
			b.WriteByte('$')
			rest = rest[1:]
		}
	}
	plain := *n
	plain.text = b.String()
	return r.template(&plain, path, most, hide)
}

// inputOf is the ${input:NAME} that s begins with, its name up to 64 bytes and
// to the first that no name has: what follows may be anything.
func inputOf(s string) string {
	_, name, _ := strings.Cut(s, ":")
	end := strings.IndexFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.'
	})
	if end < 0 {
		end = len(name)
	}
	return "${input:" + name[:min(end, 64)] + "}"
}
