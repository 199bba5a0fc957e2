package cmdmain_test

import (
	"errors"
	"strings"
	"testing"

	"postern/pkg/cmdmain"

	"github.com/urfave/cli/v2"
)

// K2: JSON lines where there is no terminal, an array with -o json, raw rows as
// they are, a table when asked for.
func TestList(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"list", "{\"name\":\"\\u001b\", \"n\":1.0}\n{\"name\":1,\"text\":\"<a>\"}\n"},
		{"list -o jsonl 1", "{\"name\":\"\\u001b\", \"n\":1.0}\n"},
		{"list --json", "[\n{\"name\":\"\\u001b\", \"n\":1.0},\n{\"name\":1,\"text\":\"<a>\"}\n]\n"},
		{"list -o json 0", "[]\n"},
		{"list 0", ""},
		{"list -o table 0", ""},
		{"-o table list", "NAME  TEXT\nn     \\u{1b}[31mred\nnn    \\u{1b}[31mred\n"},
	} {
		code, stdout, stderr := run(strings.Fields(tc.args)...)
		if code != cmdmain.Done || stdout != tc.want {
			t.Errorf("%s: %d\n got %q\nwant %q\n%s", tc.args, code, stdout, tc.want, stderr)
		}
	}
}

// A table of any length keeps its columns aligned and loses no row.
func TestLongTable(t *testing.T) {
	_, stdout, _ := run("list", "-o", "table", "1000")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 1001 {
		t.Fatalf("%d lines, want 1001", len(lines))
	}
	column := strings.Index(lines[0], "TEXT")
	for _, l := range lines[1:] {
		if strings.Index(l, `\u{1b}`) != column {
			t.Fatalf("%q is not aligned with %q", l, lines[0])
		}
	}
}

// A write to standard output that failed fails the command, also when the
// command did not look (K1: stdout is the product).
func TestWriteErrorFails(t *testing.T) {
	var said strings.Builder
	env := &cmdmain.Env{
		Name: "mcp-test", Ctx: t.Context(), Stderr: &said,
		Stdout: errorWriter{errors.New("no space left on device")},
	}
	code := cmdmain.Run(env, func(env *cmdmain.Env) *cli.App {
		return &cli.App{Action: func(*cli.Context) error {
			_, _ = env.Stdout.Write([]byte("product"))
			return nil
		}}
	})
	if code != cmdmain.Failed || said.String() != "mcp-test: cannot write standard output: no space left on device\n" {
		t.Errorf("code %d, said %q", code, said.String())
	}
}

type errorWriter struct{ err error }

func (w errorWriter) Write([]byte) (int, error) { return 0, w.err }
