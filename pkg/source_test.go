package pkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// file is one parsed Go file of the module.
type file struct {
	name  string // slash-separated, below the module's root
	dir   string // "pkg/wire"
	test  bool
	lines int
	text  string
	ast   *ast.File
}

// imports lists the import paths of the file.
func (f *file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// forTests tells files that no command links: tests, and packages for tests.
func (f *file) forTests() bool {
	return f.test || f.dir == "pkg/mcptest" || f.dir == "pkg/cmdmain/cmdtest"
}

// parseModule parses every Go file below the module's root, of all platforms.
func parseModule(t *testing.T) (*token.FileSet, []*file) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*file
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != ".." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") {
			return nil
		}
		f, err := parse(fset, name)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fset, files
}

func parse(fset *token.FileSet, name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	slash := strings.TrimPrefix(filepath.ToSlash(name), "../")
	tree, err := parser.ParseFile(fset, slash, text, parser.ParseComments)
	return &file{
		name: slash, dir: path.Dir(slash), test: strings.HasSuffix(slash, "_test.go"),
		lines: strings.Count(string(text), "\n"), text: string(text), ast: tree,
	}, err
}
