package cmdmain_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens both ends of one.
func pseudoTerminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close() })
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inner, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	return outer, inner
}

// K2, S4: on a terminal a list is a table, and foreign text cannot act on it.
func TestTableOnTerminal(t *testing.T) {
	outer, inner := pseudoTerminal(t)
	p := start(t, inner, "list")
	if code := p.code(t); code != 0 {
		t.Fatalf("ended with %d", code)
	}
	buf := make([]byte, 4096)
	n, err := outer.Read(buf) // the process has ended: all it wrote is there
	if err != nil {
		t.Fatal(err)
	}
	got := bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n"))
	if want := "NAME  TEXT\nn     \\u{1b}[31mred\nnn    \\u{1b}[31mred\n"; string(got) != want {
		t.Errorf("terminal shows %q, want %q", got, want)
	}
}
