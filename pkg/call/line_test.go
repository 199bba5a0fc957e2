package call

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stepLine is one line of the drawing: a name of at most two words, then the
// question it asks.
var stepLine = regexp.MustCompile(`(?m)^\s*([a-z]+(?: [a-z]+)?)\s{3,}[a-z].*(?:\?|, once)\s.*$`)

// drawing is the lines of the steps in a text, without what stands before them.
func drawing(text string) (names, lines []string) {
	for _, m := range stepLine.FindAllStringSubmatch(text, -1) {
		names, lines = append(names, m[1]), append(lines, strings.TrimSpace(m[0]))
	}
	return names, lines
}

func packageDoc(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc.Text()
}

// R40: the line is a Go value, the package's drawing and README's drawing, and
// all are the same.
func TestLineIsAsDrawn(t *testing.T) {
	var want []string
	for _, step := range Line() {
		if step.Run == nil {
			t.Errorf("%s does nothing", step.Name)
		}
		want = append(want, step.Name)
	}
	names, lines := drawing(packageDoc(t))
	if !slices.Equal(names, want) {
		t.Errorf("doc.go draws %q, the line is %q", names, want)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names, inReadme := drawing(string(readme))
	if !slices.Equal(names, want) {
		t.Errorf("README.md draws %q, the line is %q", names, want)
	}
	if !slices.Equal(inReadme, lines) {
		t.Errorf("README.md draws\n%s\ndoc.go draws\n%s", strings.Join(inReadme, "\n"), strings.Join(lines, "\n"))
	}
}

// Each step is in a file of its name.
func TestStepsHaveFiles(t *testing.T) {
	for _, step := range Line() {
		name := strings.ReplaceAll(step.Name, " ", "")
		source, err := os.ReadFile(name + ".go")
		if err != nil {
			t.Error(err)
		} else if !regexp.MustCompile(`(?mi)^func ` + name + `\(`).Match(source) {
			t.Errorf("%s.go has no function %s", name, name)
		}
	}
}
