package cmdmain

import (
	"testing"

	"github.com/urfave/cli/v2"
)

// K1: a hint works as it is printed, also where this command was told where to work.
func TestPlaced(t *testing.T) {
	for _, tc := range []struct {
		args       []string
		hint, want string
	}{
		{nil, "mcp-catalog servers", "mcp-catalog servers"},
		{[]string{"--config-dir", "a b", "--project", "p"}, "mcp-catalog servers", "mcp-catalog servers --project p --config-dir 'a b'"},
		{[]string{"--project", "p"}, "mcp-trust allow x --project /r/p", "mcp-trust allow x --project /r/p"},
		{[]string{"--config-dir", "c", "--project", "p"}, "mcp-trust allow x --project /r/p", "mcp-trust allow x --project /r/p --config-dir c"},
		{[]string{"--no-project"}, "mcp-catalog tools 'a/*'", "mcp-catalog tools 'a/*' --no-project"},
		{[]string{"--no-project"}, "mcp-catalog tools --no-project", "mcp-catalog tools --no-project"},
		{[]string{"--config-dir", "c"}, "mcp-catalog add --help", "mcp-catalog add --help"},
		{[]string{"--config-dir", "c"}, "tail /l/a.log", "tail /l/a.log"},
	} {
		env := &Env{}
		app := &cli.App{
			Flags: []cli.Flag{&cli.StringFlag{Name: "config-dir"}, &cli.StringFlag{Name: "project"}, &cli.BoolFlag{Name: "no-project"}},
			Action: func(c *cli.Context) error {
				env.keepPlace(c)
				return nil
			},
		}
		if err := app.Run(append([]string{"mcp-x"}, tc.args...)); err != nil {
			t.Fatal(err)
		}
		if got := env.placed(tc.hint); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.args, got, tc.want)
		}
	}
}
