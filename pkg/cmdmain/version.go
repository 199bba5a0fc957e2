package cmdmain

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version is set by the linker in releases: -X postern/pkg/cmdmain.version=…
var version string

// revisions are the protocol revisions that postern speaks, towards servers
// and towards agents, newest first.
const revisions = "2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05"

// Version is the version of this build: set by the linker, else what the
// module system knows, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func writeVersion(w io.Writer, name string) error {
	_, err := fmt.Fprintf(w, "%s %s\ncommit %s\n%s %s/%s\nprotocol %s\n",
		name, Version(), commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, revisions)
	return err
}

// commit is the revision the build recorded; local changes are said.
func commit() string {
	revision, modified := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " with local changes"
			}
		}
	}
	return revision + modified
}
