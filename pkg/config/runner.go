package config

import (
	"slices"
	"strings"
)

// PackageRunner reports whether the command fetches the program that it runs
// (npx, uvx, docker, …), so that a first start takes long and what runs is
// not what lies on this disk.
func (s *Server) PackageRunner() bool {
	first := ""
	if i := slices.IndexFunc(s.Args, func(a string) bool { return !strings.HasPrefix(a, "-") }); i >= 0 {
		first = s.Args[i]
	}
	switch baseName(s.Command) {
	case "npx", "bunx", "pnpx", "uvx", "pipx", "docker", "podman", "nerdctl", "dnx":
		return true
	case "npm":
		return first == "exec" || first == "x"
	case "pnpm", "yarn":
		return first == "dlx"
	case "bun":
		return first == "x"
	case "uv":
		return first == "tool" || first == "run" || first == "x"
	case "nix":
		return first == "run" || first == "shell"
	}
	return false
}

// IsShell reports whether a command, before or after expansion, is a shell by
// its base name. A shell would make the arguments a program of their own, so
// none is started for a declaration (C10).
func IsShell(command string) bool {
	switch baseName(command) {
	case "sh", "bash", "zsh", "fish", "dash", "ksh", "csh", "tcsh", "cmd", "powershell", "pwsh":
		return true
	}
	return false
}

// baseName is the last element of a path of any system, in lower case and
// without a Windows ending.
func baseName(command string) string {
	base := command[strings.LastIndexAny(command, `/\`)+1:]
	base = strings.ToLower(base)
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1", ".com"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}
