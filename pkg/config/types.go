package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"postern/pkg/secret"
	"postern/pkg/state"
)

// Scope says whose file declares a server.
type Scope string

// The scopes. User is the operator's own file and trusted by authorship;
// Project is a repository's file, which starts nothing without a record.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Class says how far the hints of a server's tools are believed (R51).
type Class string

// The classes. A project's server is ClassUnknown here; its trust record says
// what it is.
const (
	ClassRead    Class = "read"
	ClassExecute Class = "execute"
	ClassUnknown Class = "unknown"
)

// Tier is what a tool may do, in rising order.
type Tier string

// The tiers.
const (
	TierRead    Tier = "read"
	TierWrite   Tier = "write"
	TierExecute Tier = "execute"
	TierAdmin   Tier = "admin"
)

// Pattern is one pattern as written, checked by CheckPattern.
type Pattern struct {
	Text string
	At   string // "file:line", shown as the rule that decided
}

// EnvVar is one declared variable; Value is not expanded.
type EnvVar struct{ Name, Value string }

// Server is one declaration, checked and with defaults filled in. Command,
// Args, Env and CWD are templates (package secret), not expanded; EnvFile and
// the names are literal. Values reached through a Config are shared: nobody
// changes them.
type Server struct {
	ID       string // by our rule for ids; unique in a Config
	Original string // as written; differs from ID only in .mcp.json (C22)
	Scope    Scope
	Source   string // real path of the declaring file
	Project  string // real root of the project; "" in scope user
	Line     int    // of the declaration in Source

	Command    string
	Args       []string
	Env        []EnvVar // in file order, names distinct
	EnvFile    string   // "" = none; relative to Base
	AgentEnv   []string
	InheritEnv secret.Inherit
	CWD        string // "" = not declared; relative to Base

	Timeout, MaxTimeout, StartTimeout time.Duration // each > 0 and ≤ MaxTimeout

	Class                               Class
	ReadTools, WriteTools, ExecuteTools []Pattern // on the server's own tool names

	MaxConcurrency, Queue          int
	MaxMessageBytes, MaxQueueBytes int
	Protocol                       string // auto, legacy, modern
	Enabled                        bool

	Shared   bool // one process for all sessions; false: each has its own, in its agent's directory
	Sampling bool // the server may ask its agent's model; only where Shared is false

	Start        string        // lazy, eager
	IdleStop     time.Duration // without a call; 0 = never stopped for that
	RestartDelay time.Duration // before the first restart after a death; > 0
	Breaker      Breaker

	Digest      string // "sha256:…" (C40), set for every server of a Config
	Unavailable string // why no value can ever be found for it (C22); "" = fine

	base string
}

// Breaker says when calls to a server fail at once instead of being tried:
// after so many failures in a row, and until Cooldown is over. Both are > 0.
type Breaker struct {
	Failures int
	Cooldown time.Duration
}

// At is "file:line" of the declaration.
func (s *Server) At() string { return s.Source + ":" + strconv.Itoa(s.Line) }

// CommandLine is command and arguments as declared, joined by blanks: what
// exec: patterns match (R53).
func (s *Server) CommandLine() string {
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// Base is the directory that relative paths of the declaration count from: the
// project's root, or the configuration directory of the user's file.
func (s *Server) Base() string {
	switch {
	case s.Scope == Project:
		return s.Project
	case s.base != "":
		return s.base
	}
	return filepath.Dir(s.Source)
}

// Policy is one entry of `policies:`.
type Policy struct {
	At               string    // "file:line", the rule when the whole policy decides
	Servers          []Pattern // on server ids; none = no server
	Tools, Deny, Ask []Pattern // R53; no Tools = all of the servers
	Allow            []Tier    // never empty: [read] when not written

	Exposure            string // auto, full, lazy
	MaxDescriptionChars int    // characters of a tool's description in a list; 0 = never trimmed
	MaxResultBytes      int    // bytes of one result; 0 = never cut
}

// Defaults is what a caller gets who proves no identity.
type Defaults struct {
	Policy     string // an existing name
	TrustLevel int    // 0 to 3
}

// Log says how the call log is kept.
type Log struct {
	Args    string // redacted, hash or none
	Days    int    // that rows are kept; 0 = nobody knows, since the files are refused: all are
	MaxFile int64  // bytes
}

// Hub says how the shared process is kept.
type Hub struct {
	IdleExit time.Duration // without a session; 0 = it stays
}

// Config is everything that was declared for one user and at most one project
// at one moment. It is never changed after Load and safe for concurrent use.
type Config struct {
	// Servers are the user's, mcp.yaml's before those of the drop-ins, in file
	// order, then the project's; disabled ones
	// are included. A server that lost its id to another (C13) is named in
	// Diagnostics only.
	Servers  []*Server
	Policies map[string]*Policy
	Defaults *Defaults // nil when absent
	Log      Log
	NamesMax int      // bytes of an exposed name
	Path     []string // where bare commands are looked up; empty = PATH
	// TerminalHosts are names of programs that run agents and terminals alike: a
	// terminal below one of them is a person's (S3).
	TerminalHosts []string
	Hub           Hub
	Secrets       map[string]string // entries of `secrets:`, for secret.NewStore

	Project     string // real root; "" = none, or one that could not be opened
	Diagnostics []Diagnostic
	// Refused means that the user's files count as absent because something in
	// one of them outside a server is wrong or it cannot be read safely: no policy and
	// no default is in force, and only what needs none may be answered (C11).
	Refused bool

	Hash   string                 // "sha256:…" over all bytes read
	Stamps map[string]state.Stamp // every file and folder looked at, absent ones too

	userFiles map[string]string
}

// UserFile returns the file of the user's, mcp.yaml or a drop-in, that has a
// declaration of the server id, be it a bad one; "" when none has.
func (c *Config) UserFile(id string) string { return c.userFiles[id] }

// Server returns the server with this id, nil when there is none.
func (c *Config) Server(id string) *Server {
	for _, s := range c.Servers {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Current reports whether no file that Load looked at has changed since.
func (c *Config) Current() bool {
	for path, stamp := range c.Stamps {
		// A file that cannot be looked at has the zero stamp, then and now.
		if now, _ := state.StampOf(path); now != stamp {
			return false
		}
	}
	return true
}
