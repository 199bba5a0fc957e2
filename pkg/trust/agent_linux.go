package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"postern/pkg/proc"
	"postern/pkg/state"
)

// gatewayName is the program whose parent is an agent.
const gatewayName = "mcp-serve"

// inits are the names of first processes that are no agents: they are above
// everything, and become the parent of what loses its own. In a container the
// first process may well be an agent.
var inits = [...]string{"init", "systemd", "tini", "tini-static", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runit", "runsvdir", "openrc-init"}

// maxAncestors bounds the way up; no process list is as deep.
const maxAncestors = 256

// NotBelowAgent looks through the process list and returns an
// *AgentTerminalError when a process above this one is the parent of a running
// mcp-serve that works with the same directories. hosts names programs that run
// agents and people's terminals alike and are passed over, as is the hub: who
// started that is no agent, and may well be above all terminals. Processes that
// cannot be looked at are no agents of ours: they belong to others, but for those of
// this user that may do more than this one. What runs below a gateway is its
// servers', whoever started it: an agent may have them run it. Without the process
// list it is ErrNoProcessList.
func NotBelowAgent(dirs state.Dirs, hosts []string) error {
	if !slices.Contains(proc.All(), os.Getpid()) {
		return ErrNoProcessList
	}
	return notBelow(dirs, hosts, ancestors(os.Getpid()))
}

// notBelow asks for a process that has these above it.
func notBelow(dirs state.Dirs, hosts []string, above []int) error {
	for _, pid := range above {
		if isGateway(pid) && sameDirs(pid, dirs) {
			return &AgentTerminalError{PID: pid, Name: gatewayName, Served: true}
		}
	}
	for _, pid := range proc.All() {
		if pid == os.Getpid() || !isGateway(pid) || isHub(pid) || !sameDirs(pid, dirs) {
			continue
		}
		parent, ok := clientOf(pid)
		if !ok || !slices.Contains(above, parent) {
			continue
		}
		name := processName(parent)
		if !slices.Contains(hosts, name) && !(parent == 1 && slices.Contains(inits[:], name)) {
			return &AgentTerminalError{PID: parent, Name: name}
		}
	}
	return nil
}

// ancestors are the processes above pid.
func ancestors(pid int) (above []int) {
	for range maxAncestors {
		s, err := proc.Look(pid)
		if err != nil || s.Parent < 1 {
			return above
		}
		pid = s.Parent
		above = append(above, pid)
	}
	return above
}

// clientOf is the program that spawned a gateway: its parent, past the keeper,
// which is an mcp-serve itself.
func clientOf(pid int) (int, bool) {
	for range maxAncestors {
		s, err := proc.Look(pid)
		if err != nil || s.Parent < 1 {
			return 0, false
		}
		if !isGateway(s.Parent) {
			return s.Parent, true
		}
		pid = s.Parent
	}
	return 0, false
}

func isGateway(pid int) bool { return processName(pid) == gatewayName }

// isHub reports whether a gateway is the shared process or its keeper: an agent's
// has flags at most.
func isHub(pid int) bool {
	words := strings.Split(commandLine(pid), "\x00")
	return len(words) > 1 && words[1] == "hub"
}

// processName is the base name of the first word of a process's command line:
// the name the kernel keeps is cut at 15 bytes.
func processName(pid int) string {
	first, _, _ := strings.Cut(commandLine(pid), "\x00")
	if first == "" {
		return ""
	}
	return filepath.Base(first)
}

// commandLine is the words of a process, each with a NUL behind it.
func commandLine(pid int) string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // of one that is gone there are none
	return string(line)
}

// sameDirs reports whether a gateway works with these directories: it was given
// them in its environment, or as --config-dir. Of one of this user that hides its
// environment it is assumed.
func sameDirs(pid int, dirs state.Dirs) bool {
	if hidden(pid) {
		return true
	}
	theirs, err := state.Locate(func(name string) string {
		value, _ := proc.Variable(pid, name)
		return value
	})
	if err != nil {
		return false
	}
	words := strings.Split(commandLine(pid), "\x00")
	for i, word := range words {
		value, given := strings.CutPrefix(word, "--config-dir=")
		if word == "--config-dir" && i+1 < len(words) {
			value, given = words[i+1], true
		}
		if given {
			if !filepath.IsAbs(value) {
				cwd, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
				value = filepath.Join(cwd, value)
			}
			theirs.Config = value
		}
	}
	return real(theirs.Config) == real(dirs.Config)
}

// hidden reports that a process of this user does not let this one read its
// environment: it has capabilities that a sandbox took from this one, say, or its
// program cannot be read.
func hidden(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err == nil {
		f.Close()
		return false
	}
	return errors.Is(err, fs.ErrPermission) && proc.Own(pid)
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}
