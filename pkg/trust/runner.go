package trust

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"postern/pkg/config"
)

// Unpinned reports whether a declaration lets a package runner choose the
// version of what it fetches, so that tomorrow's start may run other code than
// today's. pinned is the whole command with the place for the version shown.
func Unpinned(srv *config.Server) (pinned string, unpinned bool) {
	base := srv.Command[strings.LastIndexAny(srv.Command, `/\`)+1:]
	base = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(base), ".exe"), ".cmd")
	r, start := runnerOf(base, srv.Args)
	if r == nil {
		return "", false
	}
	i, prefix := r.find(srv.Args, start)
	if i < 0 {
		return "", false
	}
	spec := srv.Args[i][len(prefix):]
	if r.fixed(spec) {
		return "", false
	}
	args := slices.Clone(srv.Args)
	args[i] = prefix + r.fix(spec)
	return strings.Join(append([]string{srv.Command}, args...), " "), true
}

// runner is how one family of package runners names what it fetches.
type runner struct {
	specFlags []string               // flags whose value is the package
	valued    func(flag string) bool // other flags that take the next argument
	fixed     func(spec string) bool
	fix       func(spec string) string
}

// runnerOf returns the runner and the index of its first own argument.
func runnerOf(base string, args []string) (*runner, int) {
	sub := func(words ...string) bool {
		return len(args) >= len(words) && slices.Equal(args[:len(words)], words)
	}
	npm := &runner{specFlags: []string{"-p", "--package"}, valued: oneOf("-c", "--call", "--registry", "--prefix", "--cache", "-w", "--workspace"),
		fixed: npmFixed, fix: func(s string) string { return npmName(s) + "@VERSION" }}
	python := &runner{specFlags: []string{"--from", "--spec"}, valued: oneOf("-p", "--python", "--with", "--index-url", "--extra-index-url", "--directory", "--project", "--cache-dir"),
		fixed: pythonFixed, fix: func(s string) string { name, _, _ := strings.Cut(s, "@"); return name + "==VERSION" }}
	image := &runner{valued: takesValue, fixed: imageFixed, fix: func(s string) string { return imageName(s) + "@sha256:DIGEST" }}
	switch {
	case base == "npx" || base == "bunx" || base == "pnpx":
		return npm, 0
	case base == "npm" && (sub("exec") || sub("x")), base == "bun" && sub("x"), (base == "pnpm" || base == "yarn") && sub("dlx"):
		return npm, 1
	case base == "uvx":
		return python, 0
	case base == "uv" && sub("tool", "run"):
		return python, 2
	case base == "pipx" && sub("run"):
		return python, 1
	case (base == "docker" || base == "podman" || base == "nerdctl") && sub("run"):
		return image, 1
	case (base == "docker" || base == "podman" || base == "nerdctl") && sub("container", "run"):
		return image, 2
	case base == "go" && sub("run"), base == "deno" && sub("run"):
		return &runner{valued: func(string) bool { return false }, fixed: remoteFixed, fix: func(s string) string { return npmName(s) + "@VERSION" }}, 1
	}
	return nil, 0
}

// find returns the index of the argument that names the package, and what
// stands in it before the name; -1 when there is none.
func (r *runner) find(args []string, start int) (index int, prefix string) {
	for i := start; i < len(args); i++ {
		arg := args[i]
		flag, _, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--" && i+1 < len(args):
			return i + 1, ""
		case !strings.HasPrefix(arg, "-"):
			return i, ""
		case slices.Contains(r.specFlags, flag) && joined:
			return i, flag + "="
		case slices.Contains(r.specFlags, flag):
			if i+1 < len(args) {
				return i + 1, ""
			}
		case !joined && r.valued(flag):
			i++
		}
	}
	return -1, ""
}

func oneOf(flags ...string) func(string) bool {
	return func(flag string) bool { return slices.Contains(flags, flag) }
}

// takesValue knows the flags of `docker run` that stand alone; all others take
// the next argument.
func takesValue(flag string) bool {
	switch flag {
	case "--rm", "--init", "--interactive", "--tty", "--detach", "--privileged", "--read-only", "--publish-all",
		"--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--quiet", "--disable-content-trust":
		return false
	}
	if strings.HasPrefix(flag, "--") {
		return true
	}
	return len(flag) == 2 && !strings.Contains("itdPq", flag[1:])
}

// Made when first asked for, not at each start.
var (
	exactVersion  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+.][0-9A-Za-z.+-]+)?$`) })
	pythonVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(==|@)v?\d[0-9A-Za-z.!+-]*$`) })
	commitHash    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{40}`) })
)

// local tells a path from the name of a package.
func local(spec string) bool {
	return strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "file:")
}

// npmName is a spec without its version; the @ of a scope stays.
func npmName(spec string) string {
	if i := strings.LastIndex(spec, "@"); i > 0 {
		return spec[:i]
	}
	return spec
}

func npmFixed(spec string) bool {
	version := strings.TrimPrefix(spec[len(npmName(spec)):], "@")
	return local(spec) || exactVersion().MatchString(version) || strings.ContainsAny(spec, "#") && commitHash().MatchString(spec)
}

func pythonFixed(spec string) bool {
	return local(spec) || pythonVersion().MatchString(spec) || commitHash().MatchString(spec)
}

// remoteFixed is for runners that mostly run local code: only what is fetched
// by name needs a version.
func remoteFixed(spec string) bool {
	remote := strings.HasPrefix(spec, "npm:") || strings.HasPrefix(spec, "jsr:") || strings.Contains(spec, "://")
	versioned := strings.Contains(path.Base(spec), "@")
	return !remote && !versioned || npmFixed(spec)
}

func imageName(spec string) string {
	name, _, _ := strings.Cut(spec, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		return name[:i]
	}
	return name
}

func imageFixed(spec string) bool {
	if _, digest, ok := strings.Cut(spec, "@"); ok {
		return strings.HasPrefix(digest, digestPrefix) && isSHA(digest[len(digestPrefix):])
	}
	tag := strings.TrimPrefix(spec[len(imageName(spec)):], ":")
	return tag != "" && tag != "latest"
}
