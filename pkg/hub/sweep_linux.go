package hub

import (
	"context"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/proc"
	"postern/pkg/upstream"
)

// Sweep ends the processes that carry the mark of an owner that is gone: those
// of this user, in this pid namespace, and not this process or what it runs
// below. It returns how many it found and how many of them are left. Without any
// it only looks; else it takes TermGrace and KillGrace at most, or until ctx ends.
func Sweep(ctx context.Context) (found, left int) {
	spared := append(ancestors(), os.Getpid())
	seen := map[proc.ID]bool{}
	left = finish(func() (living []proc.Stat, none bool) {
		if ctx.Err() != nil {
			return nil, true
		}
		living = abandoned(spared)
		for _, s := range living {
			seen[s.ID] = true
		}
		return living, len(living) == 0
	}, config.TermGrace, config.KillGrace, nil)
	return len(seen), left
}

// abandoned lists the marked processes whose owner is gone.
func abandoned(spared []int) (found []proc.Stat) {
	gone := map[proc.ID]bool{}
	for _, pid := range proc.All() {
		if slices.Contains(spared, pid) || !ours(pid) {
			continue
		}
		owner, marked := ownerOf(pid)
		if !marked {
			continue
		}
		if _, known := gone[owner]; !known {
			gone[owner] = owner.Gone()
		}
		if gone[owner] {
			found = append(found, confirmed(pid, owner)...)
		}
	}
	return found
}

// ownerOf is the owner in the mark of a process.
func ownerOf(pid int) (proc.ID, bool) {
	text, marked := proc.Variable(pid, upstream.MarkName)
	owner, name, ok := proc.ParseID(text)
	return owner, marked && ok && name != "" && owner.Start != 0
}

// confirmed is the process with this pid if it is ours to end. What was read is
// of one process only if the same one was there before and after.
func confirmed(pid int, owner proc.ID) []proc.Stat {
	before, err := proc.Look(pid)
	if err != nil || before.Ended() || !proc.Own(pid) || !sameWorld(pid) {
		return nil
	}
	if again, marked := ownerOf(pid); !marked || again != owner {
		return nil
	}
	now, err := proc.Look(pid)
	if err != nil || now.ID != before.ID {
		return nil
	}
	return []proc.Stat{now}
}

// ours is whether a process seems to run as this user. It is the cheap question:
// what hides from others belongs to root here.
func ours(pid int) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && int(st.Uid) == os.Geteuid()
}

// sameWorld is whether pids and times mean to a process what they mean to us: the
// mark of a server in a container names an owner that we do not see.
func sameWorld(pid int) bool {
	for _, kind := range []string{"pid", "time"} {
		own, err1 := os.Readlink("/proc/self/ns/" + kind)
		other, err2 := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		if own != other || err1 == nil && err2 != nil {
			return false
		}
	}
	return true
}

// ancestors are the processes that this one runs below.
func ancestors() (pids []int) {
	for pid := os.Getppid(); pid > 0 && !slices.Contains(pids, pid); {
		pids = append(pids, pid)
		s, err := proc.Look(pid)
		if err != nil {
			break
		}
		pid = s.Parent
	}
	return pids
}
