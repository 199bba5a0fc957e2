package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata" // scripts set TZ; the machine may have no zones

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/cmdmain/cmdtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-log": main})
}

// TestScripts runs the real binary on the log that each script brings along.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(e *testscript.Env) error {
		e.Setenv("POSTERN_STATE_DIR", filepath.Join(e.WorkDir, "state"))
		e.Setenv("POSTERN_CONFIG_DIR", filepath.Join(e.WorkDir, "config"))
		e.Setenv("POSTERN_CACHE_DIR", filepath.Join(e.WorkDir, "cache"))
		e.Setenv("TZ", "UTC")
		for i, name := range []string{"TODAY", "YESTERDAY", "BEFORE"} {
			e.Setenv(name, time.Now().UTC().AddDate(0, 0, -i).Format(time.DateOnly))
		}
		// Whatever the umask is: a log that others can write is refused.
		return filepath.WalkDir(e.WorkDir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()])
		})
	}})
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-log", app) }
