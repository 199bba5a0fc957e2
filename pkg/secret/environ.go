package secret

import (
	"slices"
	"strings"
)

// Inherit says which part of an environment a child gets besides what its
// declaration sets.
type Inherit struct {
	// Mode is "safe" (also when empty), "none" or "list".
	Mode string
	// Names are the variables of mode "list", no others.
	Names []string
}

// Inherited returns the part of environ ("NAME=value" each) that a child
// inherits (C32), in environ's order; of a name that occurs twice the last one
// counts. Postern's own variables pass in no mode.
func Inherited(environ []string, inherit Inherit) []string {
	switch inherit.Mode {
	case "none":
		return nil
	case "list":
		return filter(environ, func(name string) bool { return slices.Contains(inherit.Names, name) })
	}
	return filter(environ, isSafe)
}

// ReducedEnvironment returns the part of environ that a hub keeps of the
// environment it was started in. Where there is no hub, this part counts as
// the hub's environment and the rest as the agent's (C30).
func ReducedEnvironment(environ []string) []string { return filter(environ, isReduced) }

// WithLocale returns the hub's environment with language, time zone and terminal
// (LANG, LC_*, TZ, TERM) of the agent's in the place of its own: what a child
// that serves one agent inherits from (C32).
func WithLocale(hub, agent []string) []string {
	out := filter(hub, func(name string) bool { return !isLocale(name) })
	return append(out, filter(agent, isLocale)...)
}

func isLocale(name string) bool {
	return name == "LANG" || name == "TZ" || name == "TERM" || strings.HasPrefix(name, "LC_")
}

// Withheld reports whether a variable reaches no child, inherited or declared:
// it steers postern or the Go runtime of a postern below this one (C32).
func Withheld(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "POSTERN_") || name == "MCPGODEBUG" || name == "GODEBUG"
}

// Public reports whether a variable is one that every program has, so that its
// value in the environment is no secret and may be shown.
func Public(name string) bool {
	switch name {
	case "TERM", "SHELL", "TMPDIR":
		return true
	}
	return isReduced(name)
}

// ChangesCode reports whether a variable can change which code a program runs
// or whom it talks to (C33). Case is ignored: several programs read both, and
// a needless question is the smaller harm.
func ChangesCode(name string) bool {
	name = strings.ToUpper(name)
	switch name {
	case "PATH", "HOME", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE",
		"PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "BASH_ENV", "ENV", "IFS",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS",
		"GCONV_PATH", "DOCKER_HOST", "KUBECONFIG", "NODE_EXTRA_CA_CERTS", "EDITOR", "PAGER", "BROWSER", "TMPDIR":
		return true
	}
	return hasPrefix(name, "LD_", "DYLD_", "GIT_", "LUA_", "NPM_CONFIG_", "UV_", "PIP_", "SSL_CERT_", "XDG_") ||
		strings.HasSuffix(name, "_PROXY")
}

func isSafe(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS":
		return true
	}
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
		return true
	}
	return hasPrefix(name, "LC_", "XDG_")
}

func isReduced(name string) bool {
	switch name {
	case "HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ":
		return true
	}
	return hasPrefix(name, "LC_", "XDG_")
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// filter keeps the variables that keep accepts and that may pass at all.
func filter(environ []string, keep func(name string) bool) []string {
	var out []string
	at := map[string]int{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || Withheld(name) || !keep(name) {
			continue
		}
		if i, dup := at[name]; dup {
			out[i] = entry
			continue
		}
		at[name] = len(out)
		out = append(out, entry)
	}
	return out
}
