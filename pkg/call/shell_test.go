package call

import (
	"os/exec"
	"testing"
)

// A shell gives back what was quoted, and runs nothing of it.
func TestShellQuoted(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no POSIX shell here")
	}
	for _, s := range []string{"/home/a/x-y_z.1", "/home/a b", "/it's", "/$HOME/`x`/$(touch marker)", "", "/é", "-x", "/a@b", "a\nb", "~", "/a;b", "*"} {
		out, err := exec.Command(sh, "-c", "printf %s "+ShellQuoted(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q comes back as %q, %v", s, out, err)
		}
	}
	if got := ShellQuoted("/srv/repo"); got != "/srv/repo" {
		t.Errorf("a plain path is quoted: %s", got)
	}
}
