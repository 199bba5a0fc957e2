package cmdmain_test

import (
	"bytes"
	"testing"

	"postern/pkg/mcptest"
)

// K2, S4: on a terminal a list is a table, and foreign text cannot act on it.
func TestTableOnTerminal(t *testing.T) {
	outer, inner := mcptest.Terminal(t)
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
