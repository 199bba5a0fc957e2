package hub

import (
	"postern/pkg/secret"
	"postern/pkg/state"
)

// Environment is what a hub that is started on demand gets of environ: HOME, USER,
// LOGNAME, PATH, LANG, LC_*, TZ and XDG_*, and the directories in force, so that
// it is the hub of the same place. Nothing else of an agent's environment reaches
// the hub.
func Environment(environ []string, dirs state.Dirs) []string {
	return append(secret.ReducedEnvironment(environ),
		"POSTERN_CONFIG_DIR="+dirs.Config, "POSTERN_STATE_DIR="+dirs.State,
		"POSTERN_CACHE_DIR="+dirs.Cache, "POSTERN_RUNTIME_DIR="+dirs.Runtime)
}

// Executable is the program to start as the hub: on Linux the very image of this
// process, whatever stands under its name by now, so that the hub is of the build
// that it is looked for by.
func Executable() string { return executable() }
