package mcptest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// NoRaceSleep is the GORACE setting with which a process of a race-enabled test
// binary ends at once.
const NoRaceSleep = "atexit_sleep_ms=0"

// ServerFolder is a folder with a fake server that is a file of its own, for a
// script's PATH: the one that testscript makes is a link to the very file that
// the command under test is, and postern does not start itself (C23). The test
// binary has to know Commands.
func ServerFolder(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(executable())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Name), data, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Own makes dir, if it is not there, and all below it the user's alone, whatever
// the umask is (C5).
func Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&0o700)
	})
}
