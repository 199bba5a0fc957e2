package trust

import (
	"errors"
	"fmt"
)

// ErrNoProcessList refuses where nothing tells whether this is below an agent: no
// /proc, or that of another pid namespace, as after a chroot.
var ErrNoProcessList = errors.New("nothing tells whether this terminal belongs to an agent: /proc does not list the processes of this pid namespace")

// AgentTerminalError refuses to widen anything from below an agent (S3): the
// model behind it could type the command as well as its person.
type AgentTerminalError struct {
	PID  int
	Name string // of the program, as the process list shows it
	// Served says that the process is no agent but a gateway: one of its servers, which
	// agents use, has run this.
	Served bool
}

func (e *AgentTerminalError) Error() string {
	if e.Served {
		return fmt.Sprintf("this was started by a server that agents use: %s (process %d) runs it", e.Name, e.PID)
	}
	return fmt.Sprintf("this terminal belongs to an agent: %s (process %d) runs mcp-serve with these directories", e.Name, e.PID)
}
