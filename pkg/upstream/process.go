package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"postern/pkg/trust"
)

// MarkName is the variable by which a descendant of ours is known; its value
// begins with the proc.ID of its owner.
const MarkName = "POSTERN_INSTANCE"

// group is the child with everything it started. Its methods are called by one
// goroutine at a time.
type group interface {
	// signal asks (soft) or forces (hard) everything that is left to end.
	signal(hard bool)
	// empty is whether nothing is alive but, perhaps, the leader.
	empty() bool
}

// process is a spawned child: our ends of its pipes, and its group.
type process struct {
	pid                   int
	stdin, stdout, stderr *os.File
	group                 group
	ended                 func() bool   // see leader
	exited                chan struct{} // closed once the leader was seen to exit
	exit                  string        // how; written before exited is closed
	release               chan struct{} // closed when the group is signalled no more
	reaped                chan struct{} // closed once the leader was waited for
}

// spec is what the platform's spawn needs. stdio are the child's ends, which
// spawn closes; file stays the caller's.
type spec struct {
	path  string
	file  *os.File
	args  []string
	env   []string
	dir   string
	mark  string
	stdio [3]*os.File
}

// leader is what the platform's spawn gives back.
type leader interface {
	group
	pid() int
	// await blocks until the leader has exited, without reaping it, and says how.
	await() string
	// ended asks, without waiting, whether the leader has exited. It is asked
	// before await returned only, and may always say no.
	ended() bool
	// reap waits for a leader that has exited. Its ids may be reused after that.
	reap()
}

// start spawns l. ctx bounds the spawn only. The watcher goroutine that it
// starts ends when the leader has exited and release is closed.
func start(ctx context.Context, l trust.Launch, mark string) (*process, error) {
	if err := checkDir(l.Dir); err != nil {
		return nil, err
	}
	p := &process{
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
	}
	s := spec{path: l.Path, file: l.File, args: l.Args, env: childEnv(l.Env, mark), dir: l.Dir, mark: mark}
	if err := p.pipes(&s.stdio); err != nil {
		closeAll(s.stdio[:]...)
		p.closePipes()
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	child, err := spawn(ctx, s)
	if err != nil {
		p.closePipes()
		return nil, spawnError(l.Path, err)
	}
	p.pid, p.group, p.ended = child.pid(), child, child.ended
	go p.watch(child) // ends when the leader exited and release is closed
	return p, nil
}

func (p *process) watch(l leader) {
	p.exit = l.await()
	close(p.exited)
	<-p.release
	l.reap()
	close(p.reaped)
}

func (p *process) pipes(child *[3]*os.File) (err error) {
	if child[0], p.stdin, err = os.Pipe(); err != nil {
		return err
	}
	if p.stdout, child[1], err = os.Pipe(); err != nil {
		return err
	}
	p.stderr, child[2], err = os.Pipe()
	return err
}

func (p *process) closePipes() { closeAll(p.stdin, p.stdout, p.stderr) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// childEnv is env with our mark, and no other's.
func childEnv(env []string, mark string) []string {
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, MarkName+"=") {
			out = append(out, e)
		}
	}
	if mark != "" {
		out = append(out, MarkName+"="+mark)
	}
	return out
}

// checkDir looks at the working directory again, since what was declared may
// have been replaced by now: it must still be a directory under its own name.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("working directory %s is not a directory", dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		return fmt.Errorf("working directory %s leads elsewhere now", dir)
	}
	return nil
}

// spawnError says what is wrong with the executable, in the user's words.
func spawnError(path string, err error) error {
	why := err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "no such file"
		if _, serr := os.Stat(path); serr == nil {
			why = "the interpreter or loader it names does not exist"
		}
	case errors.Is(err, fs.ErrPermission):
		why = "permission denied"
		if fi, serr := os.Stat(path); serr == nil && fi.IsDir() {
			why = "is a directory"
		} else if serr == nil && fi.Mode()&0o111 == 0 {
			why = "is not executable"
		}
	case errors.Is(err, syscall.EAGAIN):
		why = "the limit of processes is reached"
	case errors.Is(err, syscall.ENOEXEC):
		why = "is no executable format; a script needs a first line such as #!/usr/bin/env node"
	}
	return fmt.Errorf("starting %s: %s", path, why)
}
