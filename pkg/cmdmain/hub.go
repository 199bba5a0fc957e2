package cmdmain

import (
	"fmt"
	"path/filepath"
	"time"

	"postern/pkg/call"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/state"
)

// Build names this build for the hub's place: see hub.Build.
func Build() string { return hub.Build(version) }

// HubHost is Host for the shared process: all of its environment is its own, and
// no agent's.
func (e *Env) HubHost(dirs state.Dirs, log config.Log, say func(string)) (*call.Host, error) {
	return e.host(dirs, log, call.HostOptions{Own: true, Warn: say})
}

// HubLog is standard error and state/hub.log at once, for a process whose standard
// error may lead nowhere. close ends the file; what comes later is only said.
func (e *Env) HubLog(dirs state.Dirs) (say func(string), close func()) {
	keep, done, err := e.openHubLog(dirs)
	if err != nil {
		e.Sayf("nothing is kept in hub.log: %v", err)
	}
	return func(text string) {
		e.Sayf("%s", text)
		keep(text)
	}, done
}

// openHubLog opens state/hub.log, to which keep adds a line; with an error keep does
// nothing.
func (e *Env) openHubLog(dirs state.Dirs) (keep func(text string), done func(), err error) {
	log, err := state.OpenRolling(filepath.Join(dirs.State, "hub.log"), config.HubLogBytes)
	return func(text string) {
		_ = log.Append(fmt.Appendf(nil, "%s %s %s\n", time.Now().UTC().Format(time.RFC3339), e.Name, Printable(e.Clean(text))))
	}, log.Close, err
}
