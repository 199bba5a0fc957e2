package secret

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func lookupIn(vars map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		if v, ok := vars[name]; ok {
			return v, nil
		}
		return "", &MissingError{Name: name}
	}
}

// C30, MB-168.
func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "1", "HOME": "/h", "EMPTY": "", "EVIL": "${A}$$$(x)"}
	for text, want := range map[string]string{
		"":                    "",
		"plain %A% `x` {A}":   "plain %A% `x` {A}",
		"${A}":                "1",
		"x${A}y${A}":          "x1y1",
		"$$":                  "$",
		"$${A}":               "${A}",
		"$$$$A":               "$$A",
		"${B:-}":              "",
		"${B:-a:b}":           "a:b",
		"${B:-${HOME}/x}":     "/h/x",
		"${B:-${C:-${A}}}!":   "1!",
		"${A:-${B}}":          "1",
		"${EMPTY:-d}":         "", // set to nothing is set
		"${EVIL}":             "${A}$$$(x)",
		"${B:-$$x}":           "$x",
		"${B:-{a}}":           "{a}",
		"}":                   "}",
		"${_a9:-ü}":           "ü",
		"--u=${A}:${B:-none}": "--u=1:none",
	} {
		tpl, err := ParseTemplate(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := tpl.Expand(lookupIn(vars)); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// MB-168, MB-170: what is outside the grammar is refused, never run.
func TestOutsideTheGrammar(t *testing.T) {
	for _, text := range []string{"$", "a$", "$A", "$HOME/x", "${", "${}", "${A", "${A:", "${A:-", "${A:-x", "${1}", "${A-x}", "${A:=x}", "${_R%/}", "${A:-${}", "${A:-$}",
		"$(touch x)", "${env:A}", "${input:x}", "${A B}", "${ä}", strings.Repeat("${A:-", 20) + strings.Repeat("}", 20)} {
		_, err := ParseTemplate(text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || len(syntax.Text) > 48 || syntax.Why == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestExpandWithoutValue(t *testing.T) {
	tpl, _ := ParseTemplate("x${B:-${C}}")
	_, err := tpl.Expand(lookupIn(nil))
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Name != "C" || err.Error() != "C is not set" {
		t.Errorf("%v", err)
	}
	broken := errors.New("the store is locked")
	tpl, _ = ParseTemplate("${A:-x}")
	if _, err := tpl.Expand(func(string) (string, error) { return "", broken }); err != broken {
		t.Errorf("a default must not hide a failure: %v", err)
	}
}

func TestNames(t *testing.T) {
	tpl, _ := ParseTemplate("${B:-${C:-${A}}} ${A} $$${D}")
	if got := tpl.Names(); !slices.Equal(got, []string{"B", "C", "A", "D"}) {
		t.Errorf("%v", got)
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"${A:-${B}/x}", "$$", "${_R%/}", "${A:-", "a${1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tpl, err := ParseTemplate(s)
		if err != nil {
			if _, ok := err.(*SyntaxError); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		if !strings.Contains(s, "$") {
			if got, err := tpl.Expand(nil); err != nil || got != s {
				t.Fatalf("%q became %q, %v", s, got, err)
			}
		}
		for _, name := range tpl.Names() {
			if !ValidName(name) {
				t.Fatalf("%q", name)
			}
		}
		if _, err := tpl.Expand(func(string) (string, error) { return "$", nil }); err != nil {
			t.Fatal(err)
		}
	})
}
