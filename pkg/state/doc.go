// Package state knows where postern's own files live and is the only code that
// replaces, appends to or locks one of them.
//
// # Directories
//
// [Locate] names four directories from the environment and creates none:
//
//	config   POSTERN_CONFIG_DIR, else $XDG_CONFIG_HOME/postern, else ~/.config/postern
//	state    POSTERN_STATE_DIR,  else $XDG_STATE_HOME/postern,  else ~/.local/state/postern
//	cache    POSTERN_CACHE_DIR,  else $XDG_CACHE_HOME/postern,  else ~/.cache/postern
//	runtime  POSTERN_RUNTIME_DIR, else $XDG_RUNTIME_DIR/postern, else /run/user/UID/postern
//	         where /run/user/UID is ours, else /tmp/postern-UID
//
// ~ is HOME, and where that is not set, on Linux, the home that /etc/passwd has
// for this user ([Home]).
//
// Directories are 0700 and files 0600; whoever writes narrows what is laxer (C1). The
// runtime directory is not narrowed but refused ([EnsureRuntime]).
//
// # Reading
//
// Every read is bounded, comes from one open descriptor and returns the [Stamp]
// of that very file. A file that is empty counts as absent (C3). With
// [Check].Private a file is read only if nobody but its owner, who is us, can
// change it or put another in its place, and if it lies outside the project of
// the session (C5); otherwise the error is an [UnsafeError] that carries the
// command that mends it. Files of a project are read with [ReadInRoot], through
// a handle that no symlink leaves.
//
// # Writing
//
// [ReplaceFile] writes a temporary file beside the target, syncs it, renames it
// over the target and syncs the directory, so that a reader and a crash see
// either the old bytes or the new ones (C2). [AppendFile] opens for appending,
// [CreateFile] makes a file that was not there.
// [Update] is read, change and replace under a lock (C4). Readers never lock.
//
// # Lock files
//
// A lock is an flock on a file that is never removed, and that holds the
// decimal process id of the last holder and a newline. Where the file system
// has no flock, the lock is the existence of FILE.held, which is created with
// O_EXCL, holds "PID BOOTID\n", and is removed by its holder. One whose process
// is gone is taken over; one of another boot or another machine, which cannot
// be told apart, once it is a minute old.
//
// # Windows
//
// There are no owners and mode bits to judge there, so Private checks only that
// the file lies outside the project, and locks are FILE.held.
package state
