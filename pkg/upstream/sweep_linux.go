package upstream

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat is what /proc/PID/stat tells about a process.
type stat struct {
	pid, parent, group int
	state              byte
	start              uint64
}

func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' }

// signal reaches the group by its id, which is ours as long as the leader is not
// reaped, and strays one by one.
func (c *child) signal(hard bool) {
	sig := unix.SIGTERM
	if hard {
		sig = unix.SIGKILL
	}
	unix.Kill(-c.id, sig)
	_, strays := c.look()
	for _, s := range strays {
		signalStray(s, sig)
	}
}

// signalStray signals exactly the process that was looked at, or none.
func signalStray(s stat, sig unix.Signal) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readStat(s.pid); ok && now.start == s.start {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// empty looks twice, as a process may fork behind the first look's back.
func (c *child) empty() bool {
	for range 2 {
		if members, strays := c.look(); members > 0 || len(strays) > 0 {
			return false
		}
	}
	return true
}

// look counts the members of the group that are left but the leader, lists the
// living strays, and reaps what ended and is our child.
func (c *child) look() (members int, strays []stat) {
	self := os.Getpid()
	for _, pid := range pids() {
		if pid == c.id || pid == self {
			continue
		}
		s, ok := readStat(pid)
		if !ok || s.start < c.start {
			continue
		}
		seen, known := c.seen[pid]
		known = known && seen == s.start
		switch {
		case s.ended():
			if s.parent == self && (s.group == c.id || known) && !reaped(pid) {
				members++
			}
		case s.group == c.id:
			members++
		case known || c.carriesMark(pid):
			c.seen[pid] = s.start
			strays = append(strays, s)
		}
	}
	return members, strays
}

// reaped waits for an ended child. One whose other threads are still ending
// looks like a zombie and cannot be waited for yet.
func reaped(pid int) bool {
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err == syscall.ECHILD
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// carriesMark is whether the process was started with our mark in its
// environment. One we may not look at is not ours.
func (c *child) carriesMark(pid int) bool {
	if c.mark == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := markName + "=" + c.mark
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == want {
			return true
		}
	}
	return false
}

func readStat(pid int) (stat, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, string(raw))
}

// parseStat reads the fields after the command name, which may itself hold
// blanks and parentheses: only the last one ends it.
func parseStat(pid int, raw string) (stat, bool) {
	f := strings.Fields(raw[strings.LastIndexByte(raw, ')')+1:])
	if len(f) < 20 {
		return stat{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	group, err2 := strconv.Atoi(f[2])
	start, err3 := strconv.ParseUint(f[19], 10, 64)
	ok := err1 == nil && err2 == nil && err3 == nil
	return stat{pid: pid, parent: parent, group: group, state: f[0][0], start: start}, ok
}
