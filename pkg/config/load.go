package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"postern/pkg/state"
)

// LoadOptions say what Load reads.
type LoadOptions struct {
	Dirs    state.Dirs
	Project string // real root as FindProject returns it; "" = none
}

// Load reads the user's files and the project's. It never fails: whatever is
// wrong is in Diagnostics, and what is wrong is left out, never guessed.
func Load(o LoadOptions) *Config {
	absent := newUserFile()
	l := &loader{sum: sha256.New(), claims: map[string]string{}, c: &Config{
		Policies: absent.policies, Log: absent.log, NamesMax: absent.namesMax,
		Stamps: map[string]state.Stamp{},
	}}
	dir := l.openProject(o.Project)
	l.user(o.Dirs)
	if dir != nil {
		defer dir.Close()
		l.file(dir, filepath.Join(".postern", "mcp.yaml"), false)
		l.file(dir, ".mcp.json", true)
	}
	l.c.Hash = "sha256:" + hex.EncodeToString(l.sum.Sum(nil))
	return l.c
}

type loader struct {
	c      *Config
	sum    hash.Hash
	claims map[string]string
}

// openProject opens the root of the project. One that cannot be opened counts
// as none, so that it costs itself and not the user's servers.
func (l *loader) openProject(root string) *os.Root {
	if root == "" {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		l.c.Diagnostics = append(l.c.Diagnostics, Diagnostic{File: root, Problem: "cannot be opened: " + cause(err)})
		return nil
	}
	l.c.Project = root
	return dir
}

// file reads one of a project's two files.
func (l *loader) file(dir *os.Root, name string, foreign bool) {
	root := l.c.Project
	path := filepath.Join(root, name)
	data, stamp, err := state.ReadInRoot(dir, name, MaxFileBytes)
	r := &reader{file: path, source: realPath(path), scope: Project, foreign: foreign, claims: l.claims}
	var servers []*Server
	if foreign {
		if top := l.open(r, data, stamp, err, parseJSON); top != nil {
			servers = readMCPJSON(r, top, root)
		}
	} else if top := l.open(r, data, stamp, err, parseYAML); top != nil {
		servers = readProject(r, top, root)
	}
	l.c.Diagnostics = append(l.c.Diagnostics, r.diags...)
	if !r.outside {
		l.c.Servers = append(l.c.Servers, servers...)
	}
}

// readProject reads a repository's own form of the file (C20).
func readProject(r *reader, top *node, root string) []*Server {
	var servers []*Server
	table := []field[[]*Server]{
		{"version", anywhere, "", readVersion[[]*Server]},
		{"servers", anywhere, "", func(r *reader, into *[]*Server, n *node, path string) {
			*into = readServers(r, n, path, "", root)
		}},
	}
	for _, f := range userFields() {
		if find(table, f.name) == nil {
			table = append(table, field[[]*Server]{name: f.name, where: userOnly})
		}
	}
	readFields(r, &servers, top, "", table)
	r.needVersion(top)
	return servers
}

// open notes that a file was looked at and parses it; nil when there is
// nothing to read.
func (l *loader) open(r *reader, data []byte, stamp state.Stamp, err error, parse func([]byte) (*node, error)) *node {
	if stamp == (state.Stamp{}) {
		// Refused files keep their stamp too, so that mending one is noticed.
		stamp, _ = state.StampOf(r.file)
	}
	l.c.Stamps[r.file] = stamp
	if errors.Is(err, fs.ErrNotExist) {
		if fi, err := os.Lstat(r.file); err == nil && fi.Mode().Type() == fs.ModeSymlink && stamp == (state.Stamp{}) {
			r.fail(pos{}, "", "is a link to a file that does not exist")
		}
		return nil
	}
	if err != nil {
		r.fail(pos{}, "", "%s", unreadable(err))
		return nil
	}
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], uint64(len(data)))
	l.sum.Write(append([]byte(r.file), 0))
	l.sum.Write(head[:])
	l.sum.Write(data)
	top, err := parse(data)
	var bad *parseError
	if errors.As(err, &bad) {
		r.fail(bad.pos, "", "%s", bad.problem)
	}
	return top
}

// unreadable puts a refusal of package state into the words of a diagnostic.
func unreadable(err error) string {
	var unsafe *state.UnsafeError
	var large *state.TooLargeError
	switch {
	case errors.As(err, &unsafe) && unsafe.Fix != "":
		return fmt.Sprintf("%s %s; run %s", unsafe.Path, unsafe.Why, unsafe.Fix)
	case errors.As(err, &unsafe):
		return fmt.Sprintf("%s %s", unsafe.Path, unsafe.Why)
	case errors.As(err, &large):
		return fmt.Sprintf("larger than %s", formatSize(large.Max))
	}
	return "cannot be read: " + cause(err)
}

// cause is err without the path that is shown beside it anyway.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// realPath follows symlinks as far as the file exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
