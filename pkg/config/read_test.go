package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// C14: what is declared is acted on. A field that nothing outside this package
// and outside of tests reads is a promise without behaviour. Fields are told
// apart by their types, since other structs have fields of the same names.
func TestEveryFieldIsReadSomewhere(t *testing.T) {
	read := fieldsRead(t)
	for _, v := range []any{Server{}, Breaker{}, Policy{}, Log{}, Defaults{}, Config{}, Pattern{}, EnvVar{}} {
		for _, f := range exported(v) {
			if name := strings.TrimPrefix(typeName(v), "config.") + "." + f; !read[name] && name != "Config.Stamps" { // what Current compares
				t.Errorf("nothing reads %s", name)
			}
		}
	}
}

// listed is one package of `go list`.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// packages are those of this module with all they import, built.
func packages(t *testing.T) []listed {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	cmd := exec.Command(goTool, "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the module does not build: %v\n%s", err, stderr.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// fieldsRead are the fields of this package's structs, as Type.Field, that code
// of other packages of the module selects other than to assign to them.
func fieldsRead(t *testing.T) map[string]bool {
	all := packages(t)
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	read := map[string]bool{}
	for _, p := range all {
		if p.Module == nil || !p.Module.Main || strings.HasSuffix(p.ImportPath, "/pkg/config") {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		assigned := assignments(files)
		for expr, s := range info.Selections {
			if pkg := s.Obj().Pkg(); s.Kind() == types.FieldVal && pkg != nil && strings.HasSuffix(pkg.Path(), "/pkg/config") && !assigned[expr] {
				read[owner(s.Recv())+"."+s.Obj().Name()] = true
			}
		}
	}
	return read
}

// assignments are the expressions that stand on the left of a plain =.
func assignments(files []*ast.File) map[ast.Expr]bool {
	left := map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, expr := range a.Lhs {
					left[expr] = true
				}
			}
			return true
		})
	}
	return left
}

// owner is the name of the struct that a field is selected from.
func owner(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}
