package upstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"postern/pkg/proc"
)

// orphansEvery is how often orphans of a live group that have ended are waited
// for, where this process adopts them.
const orphansEvery = 30 * time.Second

// order is one exec. The spawner closes its descriptors, since whoever ordered it
// may have given up long before.
type order struct {
	spec  spec
	exec  int           // what to execute, -1 = by path
	reply chan started  // unbuffered
	gone  chan struct{} // closed when nobody takes the reply any more
}

type started struct {
	pid int
	err error
}

// spawner starts the one thread of this process that forks. It is a constant of
// the process rather than state: the kernel sends a child its parent-death
// signal when the forking *thread* ends, so that thread must never end, and no
// other may fork.
var spawner = sync.OnceValue(func() chan<- order {
	orders := make(chan order)
	go func() { // ends with the process
		runtime.LockOSThread()
		// What this process itself inherited open, no server shall inherit. Where
		// the kernel cannot do that (before 5.11), it is as everywhere.
		_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
		for o := range orders {
			o.serve()
		}
	}()
	return orders
})

func (o order) serve() {
	pid, err := o.forkExec()
	o.close()
	select {
	case o.reply <- started{pid, err}:
	case <-o.gone:
		if err == nil {
			unix.Kill(-pid, unix.SIGKILL)
			go func() { // ends once the killed child is reaped
				for {
					if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
						return
					}
				}
			}()
		}
	}
}

func (o order) close() {
	closeAll(o.spec.stdio[:]...)
	if o.exec >= 0 {
		unix.Close(o.exec)
	}
}

// spawn has the spawner start s. A child that comes to life after ctx ended is
// killed by the spawner.
func spawn(ctx context.Context, s spec) (leader, error) {
	o := order{spec: s, exec: -1, reply: make(chan started), gone: make(chan struct{})}
	if s.file != nil {
		fd, err := execFD(s.file, s.stdio)
		if err != nil {
			o.close()
			return nil, err
		}
		o.exec = fd
	}
	select {
	case spawner() <- o:
	case <-ctx.Done():
		o.close()
		return nil, context.Cause(ctx)
	}
	select {
	case r := <-o.reply:
		if r.err != nil {
			return nil, r.err
		}
		return newChild(r.pid, s.mark), nil
	case <-ctx.Done():
		close(o.gone)
		return nil, context.Cause(ctx)
	}
}

func (o order) forkExec() (int, error) {
	fds := make([]uintptr, len(o.spec.stdio))
	for i, f := range o.spec.stdio {
		fds[i] = f.Fd()
	}
	path := o.spec.path
	if o.exec >= 0 {
		path = "/proc/self/fd/" + strconv.Itoa(o.exec)
	}
	pid, err := syscall.ForkExec(path, append([]string{o.spec.path}, o.spec.args...), &syscall.ProcAttr{
		Dir: o.spec.dir, Env: o.spec.env, Files: fds,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil && o.exec >= 0 && unix.Access("/proc/self/fd", unix.F_OK) != nil {
		err = errNoProc // and nothing of the program's
	}
	return pid, err
}

// errNoProc is why what was hashed cannot be executed as just that.
var errNoProc = errors.New("/proc is not mounted, through which the very file that was approved is executed")

// execFD duplicates f well above stdio: the forked child moves descriptors to
// just above those before it execs, and must not hit this one.
func execFD(f *os.File, stdio [3]*os.File) (fd int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	least := int(max(stdio[0].Fd(), stdio[1].Fd(), stdio[2].Fd())) + 16
	cerr := conn.Control(func(old uintptr) {
		fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, least)
	})
	if cerr != nil {
		return 0, cerr
	}
	return fd, err
}

// child is the leader of a session and group of its own.
type child struct {
	id    int
	start uint64 // in clock ticks since boot: no descendant is older
	mark  string
	seen  map[int]uint64 // pid and start of every stray ever found
}

func newChild(pid int, mark string) *child {
	c := &child{id: pid, mark: mark, seen: map[int]uint64{}}
	if st, err := proc.Look(pid); err == nil {
		c.start = st.Start
	}
	return c
}

func (c *child) pid() int { return c.id }

// await sees the leader's exit and leaves it a zombie, which keeps its ids from
// being given to anyone else.
func (c *child) await() string {
	fd, err := unix.PidfdOpen(c.id, 0)
	if err == nil {
		defer unix.Close(fd)
		c.adopt(fd)
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.id, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "exit status unknown"
		}
		return exitText(&info)
	}
}

func (c *child) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	pid, _ := childInfo(&info)
	return err == unix.ECHILD || err == nil && pid == c.id
}

// adopt returns when the leader has exited, and until then waits now and then
// for those of its group that ended as our own children.
func (c *child) adopt(pidfd int) {
	poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, int(orphansEvery/time.Millisecond))
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
		for n == 0 && c.reapOrphan() {
		}
	}
}

// reapOrphan waits for one ended member of the group that is our child.
func (c *child) reapOrphan() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PGID, c.id, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	pid, _ := childInfo(&info)
	if err != nil || pid == 0 || pid == c.id {
		return false
	}
	_, err = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return err == nil
}

func (c *child) reap() {
	for {
		if _, err := syscall.Wait4(c.id, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}

// childInfo reads pid and status out of a siginfo of SIGCHLD. They stand in a
// union that is aligned like a pointer, after three words of 32 bits.
func childInfo(info *unix.Siginfo) (pid, status int) {
	const union = (12 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	raw := (*[unsafe.Sizeof(unix.Siginfo{})]byte)(unsafe.Pointer(info))
	word := func(at uintptr) int { return int(int32(binary.NativeEndian.Uint32(raw[at:]))) }
	return word(union), word(union + 8)
}

func exitText(info *unix.Siginfo) string {
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_DUMPED
	_, status := childInfo(info)
	switch info.Code {
	case exited:
		return fmt.Sprintf("exit status %d", status)
	case dumped:
		return fmt.Sprintf("signal: %s (core dumped)", syscall.Signal(status))
	}
	return fmt.Sprintf("signal: %s", syscall.Signal(status))
}
