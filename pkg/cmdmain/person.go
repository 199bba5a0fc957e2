package cmdmain

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/state"
	"postern/pkg/trust"
)

// Person refuses a verb that widens what may run where an agent could have
// typed it (S3): with an agent's token in the environment, below a program that
// runs mcp-serve with these directories, or where nothing tells whether it is. The refusal is a row of the call
// log: verb is what was tried, server the id it was about.
func (e *Env) Person(dirs state.Dirs, verb, server string) error {
	why := e.agentAbove(dirs)
	if why == nil {
		return nil
	}
	e.logRefusal(dirs, verb, server, why)
	hint := "run this in a terminal of your own"
	if errors.Is(why, trust.ErrNoProcessList) {
		hint = "have /proc mounted here: mount -t proc proc /proc"
	}
	var above *trust.AgentTerminalError
	if errors.As(why, &above) && !above.Served {
		hint += fmt.Sprintf("; if %s hosts your terminals too, name it under sessions.terminal_hosts in mcp.yaml", Printable(above.Name))
	}
	return &Error{Err: why, Word: "agent_terminal", Exit: Denied, Hints: []string{hint}}
}

func (e *Env) agentAbove(dirs state.Dirs) error {
	for _, name := range []string{"POSTERN_TOKEN", "POSTERN_TOKEN_FILE"} {
		if e.Getenv(name) != "" {
			return fmt.Errorf("this terminal belongs to an agent: %s is set", name)
		}
	}
	return trust.NotBelowAgent(dirs, config.Load(config.LoadOptions{Dirs: dirs}).TerminalHosts)
}

// logRefusal writes the row, as far as it can be written: the refusal stands
// without it.
func (e *Env) logRefusal(dirs state.Dirs, verb, server string, why error) {
	c := config.Load(config.LoadOptions{Dirs: dirs})
	w, err := calllog.Open(filepath.Join(dirs.State, "calls"), calllog.Options{Days: c.Log.Days, MaxFile: c.Log.MaxFile})
	if err != nil {
		e.Sayf("the refusal is not logged: %v", err)
		return
	}
	w.AppendWait(calllog.Row{TS: time.Now().UTC(), Upstream: server, Tool: e.Name + " " + verb, Via: "control",
		Outcome: calllog.Denied, Step: "identify", Word: "agent_terminal", Reason: why.Error(), ConfigHash: c.Hash}, config.RefusalLogWait)
	if err := w.Close(config.LogFlush); err != nil {
		e.Sayf("the refusal is not logged: %v", err)
	}
}
