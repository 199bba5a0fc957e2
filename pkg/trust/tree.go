package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// TreeRecord is a folder of the project that an approval covers whole: what an
// interpreter may load beside the file that is named.
type TreeRecord struct {
	// Path is relative to the project's root, with slashes; "." is all of it.
	Path string `json:"path"`
	// Count is how many files and links lie below it.
	Count int `json:"count"`
	// SHA256 is the hex digest over the sorted names, kinds and contents of all
	// of them. A link counts with its target, not with what is there.
	SHA256 string `json:"sha256"`
}

// TreeError says why a folder cannot be covered.
type TreeError struct{ Path, Why string }

func (e *TreeError) Error() string {
	return fmt.Sprintf("folder %s cannot be covered: %s", e.Path, e.Why)
}

// trees remembers the digests of folders for a moment, since looking at
// thousands of files is too much for every call.
type trees struct {
	mu    sync.Mutex
	known map[string]treeSeen
}

type treeSeen struct {
	at   time.Time
	tree TreeRecord
	err  error
}

// tree returns the folder's record, at most config.TreeCheckEvery old.
func (h *hashes) tree(project, rel string) (TreeRecord, error) {
	if h == nil {
		return readTree(nil, project, rel)
	}
	key := filepath.Join(project, rel)
	h.trees.mu.Lock()
	defer h.trees.mu.Unlock()
	if seen, ok := h.trees.known[key]; ok && time.Since(seen.at) < config.TreeCheckEvery {
		return seen.tree, seen.err
	}
	t, err := readTree(h, project, rel)
	if h.trees.known == nil || len(h.trees.known) >= config.MaxTrees*config.MaxServers {
		h.trees.known = map[string]treeSeen{}
	}
	h.trees.known[key] = treeSeen{time.Now(), t, err}
	return t, err
}

// readTree digests the folder rel of the project, by the project's handle.
func readTree(h *hashes, project, rel string) (TreeRecord, error) {
	rel = path.Clean(filepath.ToSlash(rel))
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return TreeRecord{}, &TreeError{rel, "it lies outside the project"}
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return TreeRecord{}, err
	}
	defer root.Close()
	w := &treeWalk{h: h, project: project, root: root}
	if fi, err := root.Lstat(filepath.FromSlash(rel)); err != nil || !fi.IsDir() {
		return TreeRecord{}, &TreeError{rel, "it is not a folder"}
	}
	if err := fs.WalkDir(root.FS(), rel, w.visit); err != nil {
		return TreeRecord{}, err
	}
	slices.Sort(w.lines)
	sum := sha256.Sum256([]byte(strings.Join(w.lines, "")))
	return TreeRecord{Path: rel, Count: len(w.lines), SHA256: hex.EncodeToString(sum[:])}, nil
}

type treeWalk struct {
	h       *hashes
	project string
	root    *os.Root
	lines   []string // "kind path NUL digest-or-target LF" a file
	bytes   int64
}

func (w *treeWalk) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	var kind, content string
	switch {
	case d.IsDir():
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		kind = "link"
		content, err = w.root.Readlink(filepath.FromSlash(name))
	case d.Type().IsRegular():
		kind = "file"
		content, err = w.file(name, d)
	default:
		return &TreeError{name, "it is neither a file, a link nor a folder"}
	}
	if err != nil {
		return err
	}
	if len(w.lines) == config.MaxTreeFiles {
		return &TreeError{name, fmt.Sprintf("there are more than %d files", config.MaxTreeFiles)}
	}
	w.lines = append(w.lines, kind+" "+name+"\x00"+content+"\n")
	return nil
}

func (w *treeWalk) file(name string, d fs.DirEntry) (string, error) {
	fi, err := d.Info()
	if err != nil {
		return "", err
	}
	if w.bytes += fi.Size(); w.bytes > config.MaxTreeBytes {
		return "", &TreeError{name, fmt.Sprintf("there are more than %d bytes", config.MaxTreeBytes)}
	}
	sum, err := w.h.sum(projectFile(w.project, name))
	var large *state.TooLargeError
	if errors.As(err, &large) {
		return "", &TreeError{name, "it grew while it was read"}
	}
	return sum, err
}

// compareTrees holds the covered folders against the record.
func compareTrees(h *hashes, srv *config.Server, want []TreeRecord) error {
	for _, t := range want {
		got, err := h.tree(srv.Project, t.Path)
		switch {
		case err != nil:
			return &ChangedError{Server: srv.ID, Path: t.Path, What: "cannot be read: " + err.Error()}
		case got != t:
			return &ChangedError{Server: srv.ID, Path: t.Path, What: "has changed"}
		}
	}
	return nil
}

// Cover adds folders of the project, relative to its root, to what an approval
// of d holds. Errors: *TreeError, and what reading them gives.
func (d *Description) Cover(folders []string) error {
	if len(folders) > config.MaxTrees {
		return &TreeError{folders[config.MaxTrees], fmt.Sprintf("more than %d folders", config.MaxTrees)}
	}
	for _, folder := range folders {
		t, err := readTree(nil, d.Server.Project, folder)
		if err != nil {
			return err
		}
		d.Trees = append(d.Trees, t)
	}
	return nil
}
