package trust

import (
	"os"
	"time"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// Status says what the records hold about a declaration (C52).
type Status string

// The states of a declaration. Only Trusted may start.
const (
	Untrusted Status = "untrusted" // nobody decided
	Denied    Status = "denied"    // refused, whatever the declaration says
	Stale     Status = "stale"     // approved, and changed since
	Expired   Status = "expired"   // approved for a time that is over
	Trusted   Status = "trusted"
)

// The two decisions a record can hold.
const (
	allow = "allow"
	deny  = "deny"
)

// Executable is the program of an approved server.
type Executable struct {
	// Path is absolute, as it was found (symlinks in it are kept).
	Path string `json:"path"`
	// SHA256 is the hex digest of its content.
	SHA256 string `json:"sha256"`
	// RootOwned tells that it belongs to root and the user cannot write it. Then
	// it is held by path alone, and a new digest is shown, not refused (C51).
	RootOwned bool `json:"root_owned"`
}

// FileRecord is a file of the project that an approval covers.
type FileRecord struct {
	// Path is relative to the project's root, with slashes.
	Path string `json:"path"`
	// SHA256 is the hex digest of its content.
	SHA256 string `json:"sha256"`
}

// Record is one decision about one server of one project. The package doc
// describes its fields.
type Record struct {
	Project    string       `json:"project"`
	Source     string       `json:"source"`
	Server     string       `json:"server"`
	Digest     string       `json:"digest"`
	Decision   string       `json:"decision"`
	Class      config.Class `json:"class,omitempty"`
	Env        []string     `json:"env,omitempty"`
	Executable *Executable  `json:"executable,omitempty"`
	Files      []FileRecord `json:"files,omitempty"`
	Trees      []TreeRecord `json:"trees,omitempty"`
	Expanded   string       `json:"expanded,omitempty"`
	At         time.Time    `json:"at"`
	Expires    *time.Time   `json:"expires"`
	Note       string       `json:"note,omitempty"`
}

// Environ is what values and commands are looked up in. It is not changed
// while a Check runs.
type Environ struct {
	// Hub and Agent are environments, "NAME=value" each: the hub's own, and that
	// of the agent or command that asks (C30).
	Hub, Agent []string
	// Secrets answers `secrets:` for the user's servers; nil has none.
	Secrets *secret.Store
	// Path lists the directories of `path:`; empty means the hub's PATH.
	Path []string
	// Session and Dir belong to the agent's session: its id and its working
	// directory, absolute. Only servers that are not shared look at them (R20):
	// they run there unless they declare a cwd, and never serve another session, so
	// that Check gives none of them to an empty Session.
	// An empty Dir means the directory that a shared server would have.
	Session, Dir string
	// Self are the real paths of postern's own binaries (C23).
	Self []string
	// Depth is this process's POSTERN_DEPTH, 0 when there is none.
	Depth int
	// Redactor learns every value that a server is given, before anything else
	// is done with it; nil tells nobody.
	Redactor *secret.Redactor
}

// Launch is what to execute. The child's argument vector is Path followed by
// Args.
type Launch struct {
	// Path is the absolute path of the executable.
	Path string
	// File is the opened executable when it is a binary that can be started by
	// descriptor. Nil means to execute Path. Whoever got the Launch closes it.
	File *os.File
	// Args are the arguments after argv[0], Env the child's whole environment.
	Args, Env []string
	// Dir is the real path of the working directory.
	Dir string
}

// Approved is a server that may be started. Only Check makes one; the zero
// value launches nothing. It is immutable and safe for concurrent use.
type Approved struct {
	server *config.Server
	record *Record // nil for the user's own servers
	plan   *plan
	hashes *hashes
	key    string

	session string // "" = shared
}

// Server is the declaration that was judged.
func (a *Approved) Server() *config.Server { return a.server }

// Class is how far the server is trusted to tell the truth about its tools: the
// record's word for a project's server, the declaration's for the user's own.
func (a *Approved) Class() config.Class {
	if a.record != nil {
		return a.record.Class
	}
	return a.server.Class
}

// Key tells instances apart (R20): 64 hex digits over scope, project, id,
// digest, expanded values, executable, what was approved of a project's code, and
// the session of a server that is not shared. Equal keys may share one process.
func (a *Approved) Key() string { return a.key }

// Session is the only session that the server may serve; "" when it is shared.
func (a *Approved) Session() string { return a.session }

// SecretOrigins says where the value of each name came from. The caller does
// not change it.
func (a *Approved) SecretOrigins() map[string]secret.Origin { return a.plan.origins }
