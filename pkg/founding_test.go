package pkg

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFoundingDocuments: what doc.go says of the founding documents names tests
// and scripts that are there.
func TestFoundingDocuments(t *testing.T) {
	_, files := parseModule(t)
	doc := ""
	tests := map[string]bool{} // as doc.go names them
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, f := range files {
		if f.name == "pkg/doc.go" {
			doc = f.ast.Doc.Text()
		}
		if !f.test {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(f.text, -1) {
			tests[f.dir+" "+m[1]] = true
		}
	}
	rows := 0
	for _, document := range strings.Split(doc, "\n# ")[1:] {
		title, text, _ := strings.Cut(document, "\n")
		before := rows
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "\t") {
				continue
			}
			rows++
			criterion, held, _ := strings.Cut(strings.TrimSpace(line), "|")
			if strings.TrimSpace(criterion) == "" || held == "" {
				t.Errorf("%s: no row: %s", title, line)
				continue
			}
			for _, name := range strings.Split(held, ",") {
				if name = strings.TrimSpace(name); !tests[name] && !script(name) {
					t.Errorf("%s: %s: there is no %q", title, strings.TrimSpace(criterion), name)
				}
			}
		}
		if rows == before {
			t.Errorf("%s: nothing is listed", title)
		}
	}
	if rows == 0 {
		t.Error("doc.go lists nothing")
	}
}

// script tells whether name is a test script, from the module's root.
func script(name string) bool {
	fi, err := os.Stat("../" + name)
	return err == nil && fi.Mode().IsRegular() && strings.HasSuffix(name, ".txtar")
}
