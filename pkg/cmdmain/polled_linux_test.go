package cmdmain

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// ends are the two ends of a pipe or of a pair of sockets.
func ends(t *testing.T, socket bool) (a, b *os.File) {
	t.Helper()
	a, b, err := os.Pipe()
	if socket {
		a.Close()
		b.Close()
		var fds [2]int
		if fds, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			a, b = os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{a, b} {
		if err := unix.SetNonblock(int(f.Fd()), false); err != nil { // as the ends of a process are
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
	return a, b
}

func blocks(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags&unix.O_NONBLOCK == 0
}

// Pipes are used as others see them; sockets are given back; where messages go the
// same way as answers, a terminal or a file, nothing is changed.
func TestPolled(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inR, inW := ends(t, false)
	outR, outW := ends(t, false)
	a, b := ends(t, true)
	for _, c := range []struct {
		name            string
		in, out, errors *os.File
		whole           bool
		from, to        *os.File // the other ends
	}{
		{"pipes", inR, outW, file, true, inW, outR},
		{"a socket", a, a, file, true, b, b},
		{"a socket that has the messages too", a, a, a, false, nil, nil},
		{"a file", file, outW, file, false, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Env{Stdin: c.in, Stdout: &output{w: c.out}, Stderr: c.errors}
			r, w, whole, back := e.Polled()
			if whole != c.whole {
				t.Fatalf("whole is %v", whole)
			}
			if c.from != nil {
				through(t, r, w, c.from, c.to)
				if info, _ := c.in.Stat(); info.Mode()&os.ModeSocket == 0 && (!blocks(t, c.in) || !blocks(t, c.out)) {
					t.Error("the pipes of others do not block any more")
				}
			}
			back()
			if !blocks(t, c.in) || !blocks(t, c.out) {
				t.Error("it is not as it was")
			}
		})
	}
}

// through sends one text each way.
func through(t *testing.T, r io.Reader, w io.Writer, from, to *os.File) {
	t.Helper()
	buf := make([]byte, 4)
	if _, err := from.WriteString("here"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, buf); err != nil || string(buf) != "here" {
		t.Errorf("%q, %v", buf, err)
	}
	if _, err := io.WriteString(w, "back"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(to, buf); err != nil || string(buf) != "back" {
		t.Errorf("%q, %v", buf, err)
	}
}
