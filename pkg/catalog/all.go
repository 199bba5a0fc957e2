package catalog

import (
	"os"
	"path/filepath"
	"strings"

	"postern/pkg/config"
)

// maxListed bounds what All reads; nobody declares as many servers.
const maxListed = 64 * config.MaxServers

// All is every catalog that is recorded, whatever its project, digest and age,
// in no order that means anything. It is for questions about what was ever seen
// and no answer to what a declaration offers: that is Read's. project is the
// session's, which may hold no catalog (C5).
func (s *Store) All(project string) []*Catalog {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	var all []*Catalog
	for _, e := range entries[:min(len(entries), maxListed)] {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if c := s.load(filepath.Join(s.dir, e.Name()), project); c != nil {
			all = append(all, c)
		}
	}
	return all
}
