package trust

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Approval is a value that only Check makes: nowhere else in the module is one
// built, and one that nobody built starts nothing.
func TestOnlyCheckMakesAnApproved(t *testing.T) {
	var makers []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil // does not compile, so it makes nothing
		}
		for _, decl := range file.Decls {
			name := filepath.Base(path)
			if f, ok := decl.(*ast.FuncDecl); ok {
				name = filepath.Base(filepath.Dir(path)) + "." + f.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if makesApproved(n) {
					makers = append(makers, name)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(makers) != 1 || makers[0] != "trust.Check" {
		t.Errorf("an Approved is made in %q, want only in trust.Check", makers)
	}
}

// makesApproved finds Approved{…}, new(Approved) and variables of that type.
func makesApproved(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		return named(n.Type)
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.Ident)
		return ok && f.Name == "new" && len(n.Args) == 1 && named(n.Args[0])
	case *ast.ValueSpec:
		return named(n.Type)
	}
	return false
}

func named(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Approved"
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "trust" && e.Sel.Name == "Approved"
	}
	return false
}

func TestZeroApprovedStartsNothing(t *testing.T) {
	var none *Approved
	for _, a := range []*Approved{none, {}} {
		if l, err := a.Launch(); err == nil {
			t.Errorf("it launches %+v", l)
		}
	}
}
