package state

import "fmt"

// UnsafeError says that a file or directory exists but is not to be believed or
// written (C5): it belongs to someone else, others can change it, it is not a
// regular file, or it lies inside the session's project.
type UnsafeError struct {
	Path string // what was looked at
	Why  string // completes "PATH …"
	Fix  string // the shell command that mends it; "" when no single command does
}

func (e *UnsafeError) Error() string {
	if e.Fix == "" {
		return e.Path + " " + e.Why
	}
	return fmt.Sprintf("%s %s: run %s", e.Path, e.Why, e.Fix)
}

// TooLargeError says that a file holds more than the bytes its reader accepts.
type TooLargeError struct {
	Path string
	Max  int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.Path, e.Max)
}

// LockedError says that another process kept a lock for longer than the wait.
type LockedError struct {
	Path string
	PID  int // the holder as it wrote itself down; 0 when that cannot be read
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return e.Path + " is locked by another process: try again when it has ended"
	}
	return fmt.Sprintf("%s is locked by process %d: try again when it has ended", e.Path, e.PID)
}
