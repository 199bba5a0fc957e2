package trust

import (
	"fmt"
	"strings"
)

// NotTrustedError refuses a project's server that nobody approved as it is now.
type NotTrustedError struct {
	Server  string
	Status  Status
	Why     []string // what differs, in words; empty when there is nothing to compare
	Project string
}

func (e *NotTrustedError) Error() string {
	var what string
	switch e.Status {
	case Denied:
		what = "was denied for this project"
	case Stale:
		what = "changed since it was approved"
	case Expired:
		what = "was approved for a time that is over"
	default:
		what = "comes from a project and has not been approved"
	}
	return withWhy(fmt.Sprintf("server %s %s", e.Server, what), e.Why)
}

func withWhy(s string, why []string) string {
	if len(why) == 0 {
		return s
	}
	return s + ": " + strings.Join(why, "; ")
}

// UnavailableError says that a declaration cannot be started as things are: a
// value is missing, or a file or directory it names cannot be used.
type UnavailableError struct {
	Server string
	Name   string // the variable that is not set; "" when it is about something else
	Why    string // completes "server X is unavailable: "; set when Name is empty
	Hint   string // what to do; may be empty
}

func (e *UnavailableError) Error() string {
	why := e.Why
	if why == "" {
		why = e.Name + " is not set"
	}
	return fmt.Sprintf("server %s is unavailable: %s", e.Server, why)
}

// ExecutableError says that a command leads to nothing that can be executed.
type ExecutableError struct {
	Server   string
	Command  string   // as expanded
	Searched []string // the directories looked in, with the reason where one was skipped
	Why      string   // completes "command X "
}

func (e *ExecutableError) Error() string {
	s := fmt.Sprintf("server %s: command %q %s", e.Server, e.Command, e.Why)
	if len(e.Searched) > 0 {
		s += " in " + strings.Join(e.Searched, ", ")
	}
	return s
}

// SelfError refuses a server that is postern itself, or that was started below
// too many posterns (C23).
type SelfError struct {
	Server string
	Depth  int // POSTERN_DEPTH of this process when that is the reason, else 0
}

func (e *SelfError) Error() string {
	if e.Depth > 0 {
		return fmt.Sprintf("server %s is not started: this postern already runs below %d others (POSTERN_DEPTH)", e.Server, e.Depth)
	}
	return fmt.Sprintf("server %s is postern itself and is never started", e.Server)
}

// DisabledError refuses a server with `enabled: false`.
type DisabledError struct{ Server string }

func (e *DisabledError) Error() string { return fmt.Sprintf("server %s is disabled", e.Server) }

// ChangedError refuses a server whose declaration is as approved, but whose
// executable or files are not (C51).
type ChangedError struct {
	Server string
	Path   string // the file that differs
	What   string // completes "PATH "
	Dir    string // of PATH, where the command was found; "" unless that is what differs
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("server %s is not what was approved: %s %s", e.Server, e.Path, e.What)
}

// FileError says why trust.json is not believed. Nothing is trusted then, and
// nothing is written over it.
type FileError struct {
	Path string
	Why  string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s is not a valid trust file: %s: nothing is trusted until it is mended or removed", e.Path, e.Why)
}

// FullError refuses a record that would carry trust.json over its bounds (C50).
type FullError struct{ Why string }

func (e *FullError) Error() string {
	return "trust.json is full: " + e.Why + ": revoke records that are no longer needed"
}

// NoRecordError says that there is nothing to revoke.
type NoRecordError struct{ Project, Server string }

func (e *NoRecordError) Error() string {
	return fmt.Sprintf("there is no decision about server %s in %s", e.Server, e.Project)
}
