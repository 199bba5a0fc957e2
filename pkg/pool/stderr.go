package pool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"postern/pkg/config"
)

// Each key has a file of what its processes wrote to standard error, and a key of
// one session, or of one value, does not come again.

// tidyStderr removes the files that are old, and the oldest of too many, but not
// those of the keys that are known. Other pools may use the folder: what they still
// write to is not old.
func (p *Pool) tidyStderr(now time.Time) {
	entries, err := os.ReadDir(p.o.StderrDir)
	if err != nil {
		return // tomorrow
	}
	known := p.stderrLogs()
	var files []os.FileInfo
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".1")
		fi, err := e.Info()
		if err == nil && fi.Mode().IsRegular() && strings.HasSuffix(name, ".log") && strings.Contains(name, "@") && !known[name] {
			files = append(files, fi)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for n, fi := range files {
		if n >= config.StderrFiles || now.Sub(fi.ModTime()) > config.StderrLife {
			_ = os.Remove(filepath.Join(p.o.StderrDir, fi.Name())) // what stays is tried again
		}
	}
}

// stderrLogs is the names of the files of all keys there are.
func (p *Pool) stderrLogs() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make(map[string]bool, len(p.berths))
	for _, b := range p.berths {
		names[filepath.Base(p.StderrLog(b.server().ID, b.key))] = true
	}
	return names
}

// tidyDaily has the folder tidied with the first server and each day. It waits for
// nothing, and is for the steward alone.
func (p *Pool) tidyDaily(now time.Time) {
	if p.o.StderrDir == "" || now.Sub(p.tidied) < config.StderrTidy || !p.attend() {
		return
	}
	p.tidied = now
	go func() { // ends with one listing of a folder
		defer p.watch.Done()
		p.contain("pool", func() { p.tidyStderr(now) })
	}()
}
