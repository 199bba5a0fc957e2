package config

import (
	"bytes"
	"os"
	"path/filepath"

	"postern/pkg/state"
)

// Declared reports whether anything is written in a file that Load would read: of
// the user's, and of the project's, where project is not "". It reads nothing, so
// that it costs next to nothing where there is nothing (R76). What cannot be looked
// at counts as written: whoever reads it says what is wrong.
func Declared(dirs state.Dirs, project string) bool {
	if written(filepath.Join(dirs.Config, "mcp.yaml")) {
		return true
	}
	entries, _ := os.ReadDir(filepath.Join(dirs.Config, "mcp.d"))
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".yaml" && e.Name()[0] != '.' && written(filepath.Join(dirs.Config, "mcp.d", e.Name())) {
			return true
		}
	}
	return project != "" && (written(filepath.Join(project, ".postern", "mcp.yaml")) || written(filepath.Join(project, ".mcp.json")))
}

func written(path string) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return !os.IsNotExist(err)
	}
	if fi.Size() > blankBytes || !fi.Mode().IsRegular() {
		return fi.Size() > 0
	}
	text, err := os.ReadFile(path)
	return err != nil || len(bytes.TrimSpace(text)) > 0
}

// blankBytes is how long a file may be that has nothing but blanks in it.
const blankBytes = 64
