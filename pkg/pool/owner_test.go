package pool

import (
	"regexp"
	"strings"
	"testing"
)

// Two pools of one process share the owner and nothing else: the end of one's
// instance sweeps the processes with its mark.
func TestMarksDiffer(t *testing.T) {
	one, two := New(Options{Owner: OwnerMark()}), New(Options{Owner: OwnerMark()})
	seen := map[string]bool{}
	for _, m := range []string{one.mark(), one.mark(), two.mark(), two.mark()} {
		if seen[m] {
			t.Errorf("%s came twice", m)
		}
		seen[m] = true
		if !strings.HasPrefix(m, OwnerMark()+".") || !regexp.MustCompile(`^\d+\.\d+\.[0-9a-f]+-\d+$`).MatchString(m) {
			t.Errorf("mark %s", m)
		}
	}
}

// One log a server and key; nothing without a folder.
func TestStderrLog(t *testing.T) {
	p := New(Options{StderrDir: "dir"})
	for _, key := range []string{"0123456789abcdef", "01234567", "012", ""} {
		if got, want := p.StderrLog("docs", key), "dir/docs@"+key[:min(8, len(key))]+".log"; strings.ReplaceAll(got, `\`, "/") != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := New(Options{}).StderrLog("docs", "0123456789"); got != "" {
		t.Errorf("got %s", got)
	}
}
