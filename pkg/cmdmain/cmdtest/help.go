package cmdtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
)

// Help compares --help of the command and of each of its verbs with the golden
// files, and fails on a golden file that no verb has.
func Help(t *testing.T, name string, app func(*cmdmain.Env) *cli.App) {
	t.Helper()
	dir := filepath.Join("testdata", "help")
	wanted := map[string]bool{}
	for _, path := range verbs(app(environment(name, nil, nil))) {
		file := strings.Join(append([]string{name}, path...), "-") + ".txt"
		wanted[file] = true
		t.Run(file, func(t *testing.T) { compare(t, filepath.Join(dir, file), helpOf(t, name, path, app)) })
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !wanted[e.Name()] {
			t.Errorf("%s belongs to no command: remove it", filepath.Join(dir, e.Name()))
		}
	}
}

func environment(name string, args []string, stdout *bytes.Buffer) *cmdmain.Env {
	return &cmdmain.Env{
		Name: name, Ctx: context.Background(), Args: args,
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stdout,
		Getenv: func(string) string { return "" },
	}
}

func helpOf(t *testing.T, name string, path []string, app func(*cmdmain.Env) *cli.App) []byte {
	t.Helper()
	var out bytes.Buffer
	if code := cmdmain.Run(environment(name, append(path, "--help"), &out), app); code != cmdmain.Done {
		t.Errorf("%s %s --help ends with %d, want 0\n%s", name, strings.Join(path, " "), code, out.Bytes())
	}
	return out.Bytes()
}

// verbs lists the paths of all visible verbs, beginning with the program's own
// empty one.
func verbs(app *cli.App) [][]string {
	paths := [][]string{nil}
	var walk func(prefix []string, commands []*cli.Command)
	walk = func(prefix []string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			path := append(append([]string(nil), prefix...), c.Name)
			paths = append(paths, path)
			walk(path, c.Subcommands)
		}
	}
	walk(nil, app.Commands)
	return paths
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: write it with UPDATE=1 go test", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("help differs from %s; UPDATE=1 go test writes it anew\n--- got\n%s--- want\n%s", file, got, want)
	}
}
