package pkg

import (
	"errors"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The budgets. They are hard: a file or a function over one is split.
const (
	maxFileLines     = 500
	maxTestFileLines = 800
	maxFuncLines     = 70
	maxFuncLinesP90  = 35
	maxMainLines     = 10
	minTestRatio     = 0.8
)

// Files and functions are short, and there are enough tests.
func TestSizes(t *testing.T) {
	fset, files := parseModule(t)
	var all []int
	code, tests := 0, 0
	for _, f := range files {
		limit := maxFileLines
		if f.test {
			limit = maxTestFileLines
		}
		if f.lines > limit {
			t.Errorf("%s has %d lines, more than %d", f.name, f.lines, limit)
		}
		if f.forTests() {
			tests += f.lines
			continue
		}
		code += f.lines
		for _, fn := range functions(f) {
			n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			all = append(all, n)
			if n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d", f.name, fn.Name.Name, n, maxFuncLines)
			}
			if fn.Name.Name == "main" && fn.Recv == nil && n > maxMainLines {
				t.Errorf("%s: main has %d lines, more than %d", f.name, n, maxMainLines)
			}
		}
	}
	slices.Sort(all)
	p90 := all[len(all)*9/10]
	ratio := float64(tests) / float64(code)
	t.Logf("%d lines, %d functions, p90 %d lines, %.2f lines of tests to a line of code", code, len(all), p90, ratio)
	if p90 > maxFuncLinesP90 {
		t.Errorf("a tenth of all functions is longer than %d lines; at most %d is wanted", p90, maxFuncLinesP90)
	}
	if ratio < minTestRatio {
		t.Errorf("%.2f lines of tests to a line of code, %.2f are wanted", ratio, minTestRatio)
	}
}

func functions(f *file) []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}

// Every package says what it owns, in doc.go or, for a command, in main.go.
func TestPackageDocs(t *testing.T) {
	_, files := parseModule(t)
	documented := map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		documented[f.dir] = documented[f.dir] || false
		base := path.Base(f.name)
		if f.ast.Doc != nil && (base == "doc.go" || base == "main.go") {
			documented[f.dir] = true
		} else if f.ast.Doc != nil {
			t.Errorf("%s: package comments belong into doc.go or main.go", f.name)
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// Every exported name says what it promises.
func TestExportedNamesAreDocumented(t *testing.T) {
	_, files := parseModule(t)
	for _, f := range files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !ofError(d) {
					t.Errorf("%s: %s has no comment", f.name, d.Name.Name)
				}
			case *ast.GenDecl:
				checkSpecs(t, f.name, d)
			}
		}
	}
}

// ofError tells the methods that every error has and that promise nothing else.
func ofError(d *ast.FuncDecl) bool {
	return d.Recv != nil && (d.Name.Name == "Error" || d.Name.Name == "Unwrap")
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

// checkSpecs wants a comment on each type, and on each constant and variable
// or the group it stands in.
func checkSpecs(t *testing.T, file string, d *ast.GenDecl) {
	t.Helper()
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				t.Errorf("%s: type %s has no comment", file, s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					t.Errorf("%s: %s has no comment", file, name.Name)
				}
			}
		}
	}
}

// One place ends the process, and nothing happens before main. The fake
// servers of tests are processes of their own.
func TestNoSideDoors(t *testing.T) {
	fset, files := parseModule(t)
	doors := map[string][]string{
		"os": {"Exit"}, "syscall": {"Exit"}, "cli": {"Exit"}, "runtime": {"Goexit"},
		"log": {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
	}
	for _, f := range files {
		if f.forTests() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: a function init runs before main", f.name)
				}
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && f.dir != "pkg/cmdmain" && slices.Contains(doors[x.Name], n.Sel.Name) {
					t.Errorf("%s: %s.%s leaves past all clean-up; return an error", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// A package has no state of its own: its variables are never assigned after
// they were declared.
func TestNoPackageState(t *testing.T) {
	fset, files := parseModule(t)
	variables := packageVariables(t, files)
	for _, f := range files {
		if f.test {
			continue
		}
		for _, fn := range functions(f) {
			own := locals(fn)
			ast.Inspect(fn, func(n ast.Node) bool {
				for _, target := range targets(n) {
					name := root(target)
					if name != nil && !own[name.Name] && variables[f.dir+"."+name.Name] {
						t.Errorf("%s: %s is changed; a package has no state", fset.Position(name.Pos()), name.Name)
					}
				}
				return true
			})
		}
	}
}

// packageVariables are the variables of all packages as "dir.name". Those that
// can only be state are refused at once.
func packageVariables(t *testing.T, files []*file) map[string]bool {
	t.Helper()
	variables := map[string]bool{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR || f.test {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.ValueSpec)
				for _, name := range spec.Names {
					if name.Name != "_" { // a claim for the compiler
						variables[f.dir+"."+name.Name] = true
					}
				}
				kind, ok := spec.Type.(*ast.SelectorExpr)
				if x := root(spec.Type); ok && x != nil && (x.Name == "sync" || x.Name == "atomic") {
					t.Errorf("%s: %s.%s is state of the package", f.name, x.Name, kind.Sel.Name)
				}
			}
		}
	}
	return variables
}

// locals are the names that fn declares by itself, anywhere in it.
func locals(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	note := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				note(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				note(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					note(e)
				}
			}
		case *ast.RangeStmt:
			note(n.Key)
			note(n.Value)
		}
		return true
	})
	return names
}

// targets are the expressions a statement assigns to.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// root is the variable that an expression such as a.b[c] belongs to.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// Whoever starts a goroutine says what ends it, beside the statement.
func TestGoroutinesSayWhatEndsThem(t *testing.T) {
	fset, files := parseModule(t)
	for _, f := range files {
		if f.forTests() {
			continue
		}
		commented := map[int]bool{}
		for _, group := range f.ast.Comments {
			for line := fset.Position(group.Pos()).Line; line <= fset.Position(group.End()).Line; line++ {
				commented[line] = true
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				line := fset.Position(g.Pos()).Line
				if !commented[line] && !commented[line-1] && !commented[line+1] {
					t.Errorf("%s:%d: what ends this goroutine?", f.name, line)
				}
			}
			return true
		})
	}
}

// Names of packages and files say what is inside.
func TestNames(t *testing.T) {
	_, files := parseModule(t)
	for _, f := range files {
		name := strings.TrimSuffix(f.ast.Name.Name, "_test")
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.name), ".go"), "_test")
		for _, bad := range []string{"util", "utils", "helper", "helpers", "common", "manager", "misc", "shared"} {
			if name == bad || base == bad {
				t.Errorf("%s: %q says nothing about what is inside", f.name, bad)
			}
		}
	}
}

// What is left to do is done or dropped, and nothing names the machine or the
// registries it was made with.
func TestWords(t *testing.T) {
	_, files := parseModule(t)
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = f.text
	}
	others, err := filepath.Glob("../scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(others, "../.ci/run", "../README.md") {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		for _, bad := range []string{"TO" + "DO", "FIX" + "ME", "/wo" + "rk/", "proxy.golang" + ".org", "registry.npmjs" + ".org"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
}

// The top of the tree is fixed, so that everything has one place.
func TestTopLevel(t *testing.T) {
	known := []string{"cmd", "pkg", "scripts", "go.mod", "go.sum", "README.md", "LICENSE", "bin"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(known, e.Name()) {
			t.Errorf("%s has no place at the top of the project", e.Name())
		}
	}
}
