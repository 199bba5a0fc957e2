package pool

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The start time is counted from the last parenthesis: a command may be named
// like the rest of the line.
func TestStartField(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"
	for stat, want := range map[string]string{
		"12 (sh)" + rest: "4242", "12 (a) b) (c )" + rest: "4242", "12 (x S 1 2 3)" + rest: "4242",
		"12 (sh) S 1 2": "0", "": "0", "12": "0",
	} {
		if got := startField(stat); got != want {
			t.Errorf("%q: %s, want %s", stat, got, want)
		}
	}
	if got := startTime(os.Getpid()); runtime.GOOS == "linux" && (got == "0" || got != startTime(os.Getpid())) {
		t.Errorf("our own start is %s", got)
	}
	if got := startTime(-1); got != "0" {
		t.Errorf("nobody's start is %s", got)
	}
}

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
