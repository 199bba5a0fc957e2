package trust

import "fmt"

// AgentTerminalError refuses to widen anything from below an agent (S3): the
// model behind it could type the command as well as its person.
type AgentTerminalError struct {
	PID  int
	Name string // of the program, as the process list shows it
}

func (e *AgentTerminalError) Error() string {
	return fmt.Sprintf("this terminal belongs to an agent: %s (process %d) runs mcp-serve with these directories", e.Name, e.PID)
}
