//go:build linux || darwin

package hub

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"postern/pkg/config"
	"postern/pkg/proc"
)

// patience is how long the command may go on after it was told to end: more
// than the 20 s that it gives itself.
const patience = 25 * time.Second

// Keeper is this process once it keeps another. It is used by the goroutine
// that made it, which it ties to its thread: the kernel sends the command its
// signal when that thread ends.
type Keeper struct {
	child    int
	session  bool // the command has a session of its own
	patience time.Duration
	told     int // how often to end
	pipe     *os.File
	exits    chan os.Signal
	signals  chan os.Signal
	below    *below
}

// StartKeeper runs this program once more, below this process. From then on signals
// are the keeper's. Wait must follow.
func StartKeeper(o KeeperOptions) (*Keeper, error) {
	if err := adopt(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	k := &Keeper{session: !o.Terminal, patience: patience, pipe: w, exits: make(chan os.Signal, 1), signals: make(chan os.Signal, 16)}
	k.listen()
	runtime.LockOSThread()
	if err = k.fork(o, r); err != nil {
		k.deaf()
		runtime.UnlockOSThread()
		w.Close()
		return nil, err
	}
	k.below = track(k.child)
	letGo()
	return k, nil
}

// listen takes the signals of this process. What is ignored stays so, as the
// command inherits that.
func (k *Keeper) listen() {
	signal.Notify(k.exits, unix.SIGCHLD)
	wanted := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGCONT}
	if k.session {
		wanted = append(wanted, unix.SIGTSTP)
	}
	for _, s := range wanted {
		if !signal.Ignored(s) {
			signal.Notify(k.signals, s)
		}
	}
}

func (k *Keeper) deaf() {
	signal.Stop(k.exits)
	signal.Stop(k.signals)
}

// fork starts the command with all that this process inherited.
func (k *Keeper) fork(o KeeperOptions, r *os.File) error {
	conn, err := r.SyscallConn()
	if err != nil {
		return err
	}
	ferr := conn.Control(func(fd uintptr) {
		m := mark{keeper: proc.Self(), fd: int(fd), parent: os.Getppid()}
		path := executable()
		k.child, err = syscall.ForkExec(path, o.Args, &syscall.ProcAttr{
			Env: m.in(o.Environ), Files: inherited(int(fd)), Sys: attributes(k.session),
		})
		if err != nil {
			err = &os.PathError{Op: "fork/exec", Path: path, Err: err}
		}
	})
	if ferr != nil {
		return ferr
	}
	return err
}

// inherited lists the descriptors up to fd, each under its own number: fd, and
// below it what this process was started with. Those above are inherited anyway.
func inherited(fd int) []uintptr {
	files := make([]uintptr, fd+1)
	for i := range files {
		flags, err := unix.FcntlInt(uintptr(i), unix.F_GETFD, 0)
		files[i] = uintptr(i)
		if i != fd && (err != nil || flags&unix.FD_CLOEXEC != 0) {
			files[i] = ^uintptr(0)
		}
	}
	return files
}

// letGo gives up our copies of standard input and output, so that their other
// ends see the command's end and not ours.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = replace(null, 0)
	_ = replace(null, 1)
	if null > 2 {
		_ = unix.Close(null)
	}
}

// Wait waits until the command has ended, ends what is left below, and tells how
// it was. A command that was told to end and has not after 25 s is killed; what
// is left then is given TermGrace and KillGrace. A second signal to end, at any
// time, leaves TermGrace out. interrupted says that one came before StartKeeper
// listened.
func (k *Keeper) Wait(interrupted bool) End {
	defer k.deaf()
	defer k.pipe.Close()
	if interrupted && len(k.signals) == 0 { // else it came to both
		k.signals <- unix.SIGTERM
	}
	var overdue <-chan time.Time
	for {
		select {
		case <-k.exits:
			if end, over := k.reap(); over {
				end.Left = k.below.end(k.grace(), k.signals)
				return end
			}
		case s := <-k.signals:
			if k.pass(s) && k.told == 1 {
				overdue = time.After(k.patience)
			}
		case <-overdue:
			_ = unix.Kill(k.child, unix.SIGKILL)
		}
	}
}

// reap waits for the command if it has ended, and for orphans that have: those of
// all others come here too where this is the first process of a container. Signals
// are sent by the same goroutine, so that none can reach a process that got its pid.
func (k *Keeper) reap() (End, bool) {
	var status syscall.WaitStatus
	for {
		got, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR, got > 0 && got != k.child:
			continue
		case err != nil || got != k.child:
			return End{Status: 1}, err != nil // nobody knows how
		case status.Signaled():
			return End{Signal: status.Signal(), Status: 128 + int(status.Signal())}, true
		}
		return End{Status: status.ExitStatus()}, status.Exited()
	}
}

// grace is what processes below have after SIGTERM: nothing when the person could
// not wait for the command either.
func (k *Keeper) grace() time.Duration {
	if k.told > 1 {
		return 0
	}
	return config.TermGrace
}

// pass hands a signal down and tells whether it was one to end. The command may
// be stopped: it is continued, that it can end.
func (k *Keeper) pass(s os.Signal) (end bool) {
	switch s {
	case unix.SIGCONT:
		_ = unix.Kill(k.child, unix.SIGCONT)
	case unix.SIGTSTP:
		_ = unix.Kill(k.child, unix.SIGSTOP)
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case unix.SIGQUIT:
		_ = unix.Kill(k.child, unix.SIGQUIT) // the runtime's own, for when nothing else works
	}
	if !isEnd(s) {
		return false
	}
	k.told++
	_, _ = k.pipe.Write([]byte{1}) // a command that closed it is ending
	_ = unix.Kill(k.child, unix.SIGCONT)
	return true
}

func isEnd(s os.Signal) bool { return s == unix.SIGINT || s == unix.SIGTERM || s == unix.SIGHUP }
