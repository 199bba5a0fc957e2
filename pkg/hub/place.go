package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"postern/pkg/state"
)

// Place is where the hub of one set of directories and one build is found: the
// files in the runtime directory that it owns. The zero Place is none.
type Place struct {
	Dirs   state.Dirs // whose hub it is
	Socket string     // what it listens on; 0600
}

// PlaceOf makes the runtime directory where it is absent, judges it (C1, C5) and
// names the files in it: by the real paths of the configuration, state and cache
// directories, and by the build, which Build tells. The error is an
// *state.UnsafeError, a *PathError, or what the system says.
func PlaceOf(dirs state.Dirs, build string) (Place, error) {
	if err := state.EnsureRuntime(dirs.Runtime); err != nil {
		return Place{}, err
	}
	return NamePlace(dirs, build)
}

// NamePlace is PlaceOf without a look at the runtime directory: nothing is made,
// and nothing there is to be believed. The error is a *PathError.
func NamePlace(dirs state.Dirs, build string) (Place, error) {
	name := family(dirs) + short(build)
	p := Place{Dirs: dirs, Socket: filepath.Join(dirs.Runtime, name+socketSuffix)}
	if len(p.Socket) > maxSocketPath {
		return Place{}, &PathError{Path: p.Socket, Max: maxSocketPath}
	}
	return p, nil
}

// Outside is an *state.UnsafeError when the runtime directory lies inside a
// project, whose programs could put another socket there (C5).
func (p Place) Outside(project string) error { return state.CheckRuntime(p.Dirs.Runtime, project) }

// socketSuffix ends the name of a socket on which sessions are taken, retiredSuffix
// that of a hub that takes none any more.
const socketSuffix, retiredSuffix = ".sock", ".old"

// beside is a file of the hub beside its socket.
func (p Place) beside(end string) string { return strings.TrimSuffix(p.Socket, socketSuffix) + end }

// lockFile is what the hub locks as long as it takes sessions, and startFile what
// whoever starts it locks meanwhile. They are never removed.
func (p Place) lockFile() string  { return p.beside(".lock") }
func (p Place) startFile() string { return p.beside(".start") }

// stopFile tells when a person stopped the hub of this place last.
func (p Place) stopFile() string { return p.beside(".stopped") }

// markStopped leaves that file. Without it only those learn of the stop that are told.
func (p Place) markStopped() {
	_ = os.WriteFile(p.stopFile(), []byte("stopped\n"), 0o600)
}

// StoppedSince reports whether a person stopped a hub of this place after t: a bridge
// that had one then starts no other, even if that hub could not tell it.
func (p Place) StoppedSince(t time.Time) bool {
	fi, err := os.Lstat(p.stopFile())
	return err == nil && fi.ModTime().After(t)
}

// ErrStopped is for BridgeOptions.Reach: a person stopped the hub, and there is to be
// no other (StoppedSince).
var ErrStopped = errors.New("the hub was stopped by a person")

// family is what the names of all hubs of these directories begin with.
func family(dirs state.Dirs) string {
	return "hub-" + short(strings.Join([]string{real(dirs.Config), real(dirs.State), real(dirs.Cache)}, "\x00")) + "-"
}

// real is the real path of a directory; of what does not exist yet, the real path
// of what does, so that it stays the same when it is made.
func real(dir string) string {
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return filepath.Join(real(filepath.Dir(dir)), filepath.Base(dir))
	}
	if err != nil {
		return dir
	}
	return resolved
}

// short is 8 hexadecimal digits of a text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// PathError says that the path of the socket is longer than the system takes.
type PathError struct {
	Path string
	Max  int // bytes
}

// Error names the path, the limit, and what to do.
func (e *PathError) Error() string {
	return fmt.Sprintf("the socket %s has a path of %d bytes, and the system takes %d: set POSTERN_RUNTIME_DIR to a shorter one",
		e.Path, len(e.Path), e.Max)
}

// NoHubError says that nobody listens.
type NoHubError struct {
	Socket string // where; a pattern when any hub would do
}

// Error names the socket.
func (e *NoHubError) Error() string { return "no hub listens on " + e.Socket }
