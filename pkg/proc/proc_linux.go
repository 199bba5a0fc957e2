package proc

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stat is what /proc/PID/stat tells of a process.
type Stat struct {
	ID
	Parent, Group int
	State         byte
}

// Ended tells a process that nobody has waited for yet: it runs no more.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Self is this process.
func Self() ID { return Identify(os.Getpid()) }

// Identify is the process that has this pid now. Where /proc tells nothing of it, or
// of another pid namespace, in which somebody else has that pid, it has no start.
func Identify(pid int) ID {
	s, err := Look(pid)
	if err != nil || !shown() {
		return ID{PID: pid}
	}
	return s.ID
}

// shown is whether /proc is that of our pid namespace.
func shown() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// Look tells of the process that has this pid now.
func Look(pid int) (Stat, error) {
	var room [1024]byte
	raw, err := read(pid, "stat", room[:0])
	if err != nil {
		return Stat{}, err
	}
	s, ok := parseStat(pid, string(raw))
	if !ok {
		return Stat{}, errors.New("/proc/" + strconv.Itoa(pid) + "/stat cannot be read")
	}
	return s, nil
}

// read appends a file of /proc/PID to room. It asks the kernel itself: package os
// makes twice as many calls, and there may be a thousand processes.
func read(pid int, name string, room []byte) ([]byte, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		if len(room) == cap(room) {
			room = slices.Grow(room, cap(room))
		}
		n, err := unix.Read(fd, room[len(room):cap(room)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return room, err
		}
		room = room[:len(room)+n]
	}
}

// parseStat reads the fields after the command name, which may itself hold
// blanks and parentheses: only the last one ends it.
func parseStat(pid int, raw string) (Stat, bool) {
	f := strings.Fields(raw[strings.LastIndexByte(raw, ')')+1:])
	if len(f) < 20 || len(f[0]) != 1 || f[0] < "A" || f[0] > "z" {
		return Stat{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	group, err2 := strconv.Atoi(f[2])
	start, err3 := strconv.ParseUint(f[19], 10, 64)
	ok := err1 == nil && err2 == nil && err3 == nil
	return Stat{ID: ID{pid, start}, Parent: parent, Group: group, State: f[0][0]}, ok
}

// Gone is true when it is certain that the process has ended: a failed look, for
// want of descriptors say, is no certainty, nor is what /proc does not show: it may
// hide the process, or not be there at all. A stopped process is not gone.
func (id ID) Gone() bool {
	s, err := Look(id.PID)
	if err != nil {
		return (err == unix.ENOENT || err == unix.ESRCH) && unix.Kill(id.PID, 0) == unix.ESRCH
	}
	return s.Ended() || id.Start != 0 && s.Start != id.Start
}

// All lists the pids of all processes that can be seen. It lists none when
// /proc shows another pid namespace than ours: its numbers would mean others
// when they are signalled.
func All() []int {
	if !shown() {
		return nil
	}
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

// Below lists the descendants of a process, those that ended and were not waited
// for included. What forks meanwhile may be missing: ask again.
func Below(ancestor int) (found []Stat) {
	children := map[int][]Stat{}
	for _, pid := range All() {
		if s, err := Look(pid); err == nil {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	found = children[ancestor]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	return found
}

// Signal signals exactly the process that was looked at, or none. It needs a
// kernel with pidfds (5.3).
func (id ID) Signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, err := Look(id.PID); err == nil && now.Start == id.Start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it may have ended meanwhile
	}
}

// Reaped waits for an ended child of ours and tells whether it is no child any
// more. One whose other threads are still ending looks like a zombie and cannot
// be waited for yet.
func Reaped(pid int) bool {
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err == syscall.ECHILD
}

// Variable is the value of one variable in the environment that a process was
// started with; one that may not be looked at has none.
func Variable(pid int, name string) (string, bool) {
	var room [8192]byte
	raw, err := read(pid, "environ", room[:0])
	if err != nil {
		return "", false
	}
	for rest := string(raw); rest != ""; {
		entry, after, _ := strings.Cut(rest, "\x00")
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
		rest = after
	}
	return "", false
}

// Own is whether all user ids of a process are this user's.
func Own(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(raw), "\nUid:")
	line, _, _ := strings.Cut(after, "\n")
	ids := strings.Fields(line)
	uid := strconv.Itoa(os.Geteuid())
	return len(ids) == 4 && !slices.ContainsFunc(ids, func(id string) bool { return id != uid })
}

// BecomeSubreaper makes this process the parent of its descendants' orphans, so
// that none of them is lost to init. Whoever starts others calls it before.
func BecomeSubreaper() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}
