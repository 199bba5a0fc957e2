//go:build unix

package state

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// replace needs every option it gives: by itself renameio puts the temporary
// file into TMPDIR and keeps or derives a mode instead of setting one.
func replace(target string, data []byte) error {
	f, err := renameio.NewPendingFile(target,
		renameio.WithTempDir(filepath.Dir(target)), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return err
	}
	defer f.Cleanup() // nothing to do after the rename
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
