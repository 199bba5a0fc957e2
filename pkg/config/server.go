package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/pkg/secret"
)

// serverFields is every field of a server in mcp.yaml (C20). The fields marked
// anywhere are also what a repository may say, and with the exception of
// `enabled` what its digest covers.
func serverFields() []field[Server] {
	return []field[Server]{
		{"command", anywhere, "Command", readCommand},
		{"args", anywhere, "Args", readArgs},
		{"env", anywhere, "Env", readEnv},
		{"env_file", anywhere, "EnvFile", readEnvFile},
		{"inherit_env", anywhere, "InheritEnv", readInherit},
		{"cwd", anywhere, "CWD", readCWD},
		{"timeout", anywhere, "Timeout", durationInto(func(s *Server) *time.Duration { return &s.Timeout })},
		{"start_timeout", anywhere, "StartTimeout", durationInto(func(s *Server) *time.Duration { return &s.StartTimeout })},
		{"write_tools", anywhere, "WriteTools", toolsInto(func(s *Server) *[]Pattern { return &s.WriteTools })},
		{"execute_tools", anywhere, "ExecuteTools", toolsInto(func(s *Server) *[]Pattern { return &s.ExecuteTools })},
		{"shared", anywhere, "Shared", readShared},
		{"enabled", anywhere, "Enabled", func(r *reader, s *Server, n *node, path string) {
			s.Enabled = r.boolean(n, path, false)
		}},

		{"agent_env", userOnly, "AgentEnv", func(r *reader, s *Server, n *node, path string) {
			s.AgentEnv = list(r, n, path, MaxEnv, r.variable)
		}},
		{"sampling", userOnly, "Sampling", func(r *reader, s *Server, n *node, path string) {
			s.Sampling = r.boolean(n, path, false)
		}},
		{"max_timeout", userOnly, "MaxTimeout", durationInto(func(s *Server) *time.Duration { return &s.MaxTimeout })},
		{"class", userOnly, "Class", func(r *reader, s *Server, n *node, path string) {
			s.Class, _ = choice(r, n, path, ClassRead, ClassExecute, ClassUnknown)
		}},
		{"read_tools", userOnly, "ReadTools", toolsInto(func(s *Server) *[]Pattern { return &s.ReadTools })},
		{"max_concurrency", userOnly, "MaxConcurrency", func(r *reader, s *Server, n *node, path string) {
			s.MaxConcurrency = r.integer(n, path, 1, MaxConcurrency)
		}},
		{"queue", userOnly, "Queue", func(r *reader, s *Server, n *node, path string) {
			s.Queue = r.integer(n, path, 0, MaxQueue)
		}},
		{"max_message_bytes", userOnly, "MaxMessageBytes", func(r *reader, s *Server, n *node, path string) {
			s.MaxMessageBytes = int(r.size(n, path, MinMessageBytes, MaxMessageBytes))
		}},
		{"max_queue_bytes", userOnly, "MaxQueueBytes", func(r *reader, s *Server, n *node, path string) {
			s.MaxQueueBytes = int(r.size(n, path, MinQueueBytes, MaxQueueBytes))
		}},
		{"protocol", userOnly, "Protocol", func(r *reader, s *Server, n *node, path string) {
			s.Protocol, _ = choice(r, n, path, "auto", "legacy", "modern")
		}},
		{"start", userOnly, "Start", func(r *reader, s *Server, n *node, path string) {
			s.Start, _ = choice(r, n, path, "lazy", "eager")
		}},
		{"idle_stop", userOnly, "IdleStop", func(r *reader, s *Server, n *node, path string) {
			s.IdleStop = r.durationOrNever(n, path, MaxIdleStop)
		}},
		{"restart_delay", userOnly, "RestartDelay", func(r *reader, s *Server, n *node, path string) {
			s.RestartDelay = r.span(n, path, MaxRestartDelay)
		}},
		{"breaker", userOnly, "Breaker", func(r *reader, s *Server, n *node, path string) {
			readFields(r, &s.Breaker, n, path, breakerFields())
		}},

		{name: "url", where: anywhere}, {name: "headers", where: anywhere}, {name: "transport", where: anywhere},
		{name: "oauth", where: anywhere},
		{name: "path_args", where: userOnly}, {name: "egress", where: userOnly}, {name: "url_args", where: userOnly},
		{name: "quarantine", where: userOnly},
	}
}

func breakerFields() []field[Breaker] {
	return []field[Breaker]{
		{"failures", userOnly, "Failures", func(r *reader, b *Breaker, n *node, path string) {
			b.Failures = r.integer(n, path, 1, MaxBreakerFailures)
		}},
		{"cooldown", userOnly, "Cooldown", func(r *reader, b *Breaker, n *node, path string) {
			b.Cooldown = r.span(n, path, MaxBreakerCooldown)
		}},
	}
}

// begin is a declaration of which nothing was read yet; nil when its id is
// taken already. A declaration keeps its id even when it turns out to be bad:
// a repository's server must not slip into the place of one that the operator
// mistyped. Queue 0 and idle_stop 0 are choices, so their defaults must stand
// from the beginning; the other defaults come after the digest, which covers
// only what was written.
func (r *reader) begin(id string, m member, path string) *Server {
	s := &Server{ID: id, Original: m.name, Scope: r.scope, Source: r.source, Line: m.pos.line, Enabled: true, Shared: true,
		Queue: DefaultQueue, IdleStop: DefaultIdleStop}
	at, taken := r.claims[id]
	if !taken {
		r.claims[id] = s.At()
		return s
	}
	// A project may declare what the user has already; twice in one hand is a mistake.
	r.add(Diagnostic{Line: m.pos.line, Column: m.pos.column, Field: path, Warning: r.scope == Project && !strings.HasPrefix(at, r.source+":"),
		Problem: fmt.Sprintf("the id %s is taken by %s; this declaration is left out", id, at)})
	return nil
}

// readServer reads one entry of `servers:`; nil when anything is wrong with it
// (C11).
func readServer(r *reader, m member, base, project string) *Server {
	r.server = m.name
	defer func() { r.server = "" }()
	path, before := join("servers", m.name), r.failed
	s := r.begin(m.name, m, path)
	if s == nil {
		return nil
	}
	s.base, s.Project = base, project
	if err := checkID(m.name); err != nil {
		d := Diagnostic{Line: m.pos.line, Column: m.pos.column, Field: path, Problem: err.Error()}
		if mapped := strictID(m.name); checkID(mapped) == nil {
			d.Nearest = mapped
		}
		r.add(d)
	}
	if url := m.value.get("url"); url != nil {
		r.noHTTP(m.value, path)
		return nil
	}
	readFields(r, s, m.value, path, serverFields())
	r.checkServer(s, m, path)
	if r.failed != before {
		return nil
	}
	return finish(r, s, m, path)
}

// noHTTP says why an entry with a url contributes nothing.
func (r *reader) noHTTP(n *node, path string) {
	if n.get("command") != nil {
		r.fail(n.pos, path, "write exactly one of command and url")
		return
	}
	r.fail(n.get("url").pos, join(path, "url"), "HTTP servers are not supported yet")
}

// finish hashes a good declaration, then fills in defaults.
func finish(r *reader, s *Server, m member, path string) *Server {
	digest, err := digestOf(s)
	if err != nil {
		r.fail(m.pos, path, "cannot be hashed: %s", err)
		return nil
	}
	s.Digest = digest
	setDefaults(s)
	return s
}

func setDefaults(s *Server) {
	orElse(&s.MaxTimeout, DefaultMaxTimeout)
	orElse(&s.Timeout, min(DefaultTimeout, s.MaxTimeout))
	start := DefaultStartTimeout
	if s.PackageRunner() {
		start = RunnerStartTimeout
	}
	orElse(&s.StartTimeout, start)
	orElse(&s.MaxConcurrency, DefaultConcurrency)
	orElse(&s.MaxMessageBytes, DefaultMessageBytes)
	orElse(&s.MaxQueueBytes, DefaultQueueBytes)
	orElse(&s.Protocol, "auto")
	orElse(&s.Start, "lazy")
	orElse(&s.RestartDelay, DefaultRestartDelay)
	orElse(&s.Breaker.Failures, DefaultBreakerFailures)
	orElse(&s.Breaker.Cooldown, DefaultBreakerCooldown)
	orElse(&s.InheritEnv.Mode, "safe")
	if s.Scope == Project {
		s.Class = ClassUnknown
	}
	orElse(&s.Class, ClassExecute)
}

func orElse[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

func durationInto(at func(*Server) *time.Duration) func(*reader, *Server, *node, string) {
	return func(r *reader, s *Server, n *node, path string) { *at(s) = r.duration(n, path, MaxTimeout) }
}

func toolsInto(at func(*Server) *[]Pattern) func(*reader, *Server, *node, string) {
	return func(r *reader, s *Server, n *node, path string) { *at(s) = r.patterns(n, path, checkGlob) }
}

func readEnv(r *reader, s *Server, n *node, path string) {
	if !r.want(n, path, kindMapping) {
		return
	}
	if len(n.members) > MaxEnv {
		r.fail(n.pos, path, "more than %d variables", MaxEnv)
		return
	}
	for _, m := range n.members {
		where := join(path, m.name)
		if !r.variableName(m.pos, where, m.name) {
			continue
		}
		if slices.ContainsFunc(s.Env, func(e EnvVar) bool { return e.Name == m.name }) {
			r.fail(m.pos, where, "given twice")
			continue
		}
		if r.scope == User && secret.ChangesCode(m.name) {
			r.warn(m.pos, where, "changes which code the server runs or whom it talks to")
		}
		if v, ok := r.value(s, m.value, where, MaxEnvBytes, true); ok {
			s.Env = append(s.Env, EnvVar{Name: m.name, Value: v})
		}
	}
}

// readShared reads whether sessions share one process. A repository may only
// say that they do not: nobody can ask for more sharing than there is.
func readShared(r *reader, s *Server, n *node, path string) {
	s.Shared = r.boolean(n, path, true)
	if s.Shared && n.kind == kindBool && r.scope == Project {
		r.fail(n.pos, path, "only false may be written here; without the field the server is shared")
	}
}

func readInherit(r *reader, s *Server, n *node, path string) {
	if n.kind == kindList {
		s.InheritEnv = secret.Inherit{Mode: "list", Names: list(r, n, path, MaxEnv, r.variable)}
		return
	}
	if n.kind != kindString {
		r.fail(n.pos, path, "must be safe, none, or a list of names")
		return
	}
	s.InheritEnv.Mode, _ = choice(r, n, path, "safe", "none")
}
