package secret

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestParseEnvFile(t *testing.T) {
	got, err := ParseEnvFile([]byte("\ufeff# c\n\nA=1\nexport B = two words  # c\r\nC='a \"b\" $x #'\nD=\"a\\n\\\"b\\\" \\$x \\\\\" # c\nE=\nF=#c\nG=a#b\n  H=x=y \nexport\tI=1\nexported=2\nJ=${A}"))
	want := map[string]string{"A": "1", "B": "two words", "C": `a "b" $x #`, "D": "a\n\"b\" $x \\", "E": "", "F": "", "G": "a#b", "H": "x=y", "I": "1", "exported": "2", "J": "${A}"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ParseEnvFile(nil); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEnvFileMistakes(t *testing.T) {
	var many strings.Builder
	for i := range 300 {
		many.WriteString("A" + strings.Repeat("x", i) + "=1\n")
	}
	for text, line := range map[string]int{
		"A=1\nhunter2": 2, "1A=hunter2": 1, "A B=hunter2": 1, "A='hunter2": 1, "A=\"hunter2": 1, "A=\"hunter2\\": 1, "A=\"hunter2\\x\"": 1, "A='x' hunter2": 1,
		"A=1\nA=2": 2, "A=\xff": 1, "A=a\x00b": 1, "=x": 1, strings.Repeat("#", 65<<10): 0, many.String(): 257, "export export A=1": 1,
	} {
		vars, err := ParseEnvFile([]byte(text))
		var bad *EnvFileError
		if !errors.As(err, &bad) || bad.Line != line || vars != nil {
			t.Errorf("%.30q: %v", text, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("C31: %v", err)
		}
	}
}

func FuzzParseEnvFile(f *testing.F) {
	f.Add([]byte("A=1\nexport B=\"x\\n\" # c\n"))
	f.Add([]byte("A='\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		vars, err := ParseEnvFile(data)
		if err != nil && vars != nil {
			t.Fatal("a partial result")
		}
		for name, value := range vars {
			if !ValidName(name) || strings.ContainsRune(value, 0) {
				t.Fatalf("%q=%q", name, value)
			}
		}
	})
}
