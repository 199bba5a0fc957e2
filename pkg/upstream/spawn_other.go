//go:build !linux && !darwin

package upstream

import (
	"context"
	"os"
)

// child is the started process alone: what it starts itself is not reached here.
type child struct{ process *os.Process }

// spawn starts s by its path.
func spawn(ctx context.Context, s spec) (leader, error) {
	defer closeAll(s.stdio[:]...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := os.StartProcess(s.path, append([]string{s.path}, s.args...), &os.ProcAttr{
		Dir: s.dir, Env: s.env, Files: s.stdio[:],
	})
	if err != nil {
		return nil, err
	}
	return &child{process: p}, nil
}

func (c *child) pid() int { return c.process.Pid }

// await also reaps; os.Process remembers that and signals nothing afterwards.
func (c *child) await() string {
	st, err := c.process.Wait()
	if err != nil {
		return "exit status unknown"
	}
	return st.String()
}

// ended is left to await, which alone may ask the system.
func (c *child) ended() bool { return false }

func (c *child) reap() {}

// signal can only end the process by force; the soft step is the closed stdin.
func (c *child) signal(hard bool) {
	if hard {
		c.process.Kill()
	}
}

func (c *child) empty() bool { return true }
