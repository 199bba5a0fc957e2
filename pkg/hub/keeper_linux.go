package hub

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/proc"
)

// adopt makes this process the parent of all orphans below it.
func adopt() error { return proc.BecomeSubreaper() }

// executable is this very program, whatever stands under its name by now.
func executable() string { return "/proc/self/exe" }

// ownDescriptors lists what this process has open.
const ownDescriptors = "/proc/self/fd"

// takeName gives this process the name that its execution by descriptor hid.
func takeName() {
	if name, _ := os.ReadFile("/proc/self/comm"); string(name) != filepath.Base(executable())+"\n" {
		return
	}
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // for people only
}

func attributes(session bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: session, Pdeathsig: syscall.SIGTERM}
}

// unblock has this thread, and what it starts, block no signals until back is called.
// What is blocked is inherited, and a server that an agent's hub starts for all would
// not hear that it is to end.
func unblock() (back func()) {
	runtime.LockOSThread()
	var none, was unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_SETMASK, &none, &was) != nil {
		was = none // as it is
	}
	return func() {
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil)
		runtime.UnlockOSThread()
	}
}

func replace(from, to int) error { return unix.Dup3(from, to, 0) }

func identify(pid int) proc.ID { return proc.Identify(pid) }

// below are the processes below this one. The kernel keeps that list.
type below struct{}

func track(int) *below { return nil }

func (*below) end(soft time.Duration, hurry <-chan os.Signal) (left int) {
	return finish(descendants, soft, config.KillGrace, hurry)
}

// EndDescendants ends every process below this one and returns how many are
// left. It is for the end of a command, when all servers are stopped: what is
// there then hid from them. With none it returns at once; else it takes EOFGrace
// and KillGrace at most, which leaves the command within R80. Nothing else may
// wait for children meanwhile.
func EndDescendants() (left int) {
	return finish(descendants, config.EOFGrace, config.KillGrace, nil)
}
