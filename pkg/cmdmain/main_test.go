package cmdmain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/cmdmain/cmdtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcp-test": func() { cmdmain.Main("mcp-test", testApp) },
	})
}

// TestScripts runs the test application as a process (K1–K4).
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

func TestHelp(t *testing.T) { cmdtest.Help(t, "mcp-test", testApp) }

// run runs the test application in this process.
func run(args ...string) (code cmdmain.Exit, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = cmdmain.Run(&cmdmain.Env{
		Name: "mcp-test", Ctx: context.Background(), Args: args,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
		Getenv: func(string) string { return "" },
	}, testApp)
	return code, out.String(), errOut.String()
}

// testApp has one verb for each thing a command can do with cmdmain.
func testApp(env *cmdmain.Env) *cli.App {
	return &cli.App{
		Usage: "does what its tests want",
		Flags: append(cmdmain.ListFlags(), &cli.StringFlag{Name: "project", Usage: "use the project in `DIR`"}),
		Commands: []*cli.Command{
			{Name: "echo", Usage: "print flags and arguments", ArgsUsage: "[ARG…]", Flags: echoFlags(),
				Description: "Prints what it was given,\nso that a test can compare.",
				Action:      func(c *cli.Context) error { return echo(env, c) }},
			{Name: "needs", Usage: "want a flag", Flags: []cli.Flag{&cli.StringFlag{Name: "digest", Required: true, Usage: "the `DIGEST` shown"}},
				Action: func(*cli.Context) error { return nil }},
			{Name: "one", Usage: "want one argument", ArgsUsage: "SERVER", Action: func(c *cli.Context) error {
				_, err := cmdmain.Exactly(c, "SERVER")
				return err
			}},
			{Name: "list", Usage: "print a list", ArgsUsage: "[ROWS]", Action: func(c *cli.Context) error { return rows(env, c) }},
			{Name: "fail", Usage: "fail with hints", Action: func(*cli.Context) error { return failure() }},
			{Name: "coder", Usage: "fail as urfave/cli suggests", Action: func(*cli.Context) error { return cli.Exit("boom", 7) }},
			{Name: "quiet", Usage: "fail without a word", Action: func(*cli.Context) error {
				return &cmdmain.Error{Exit: cmdmain.ToolError}
			}},
			{Name: "wait", Usage: "wait for an interrupt", Action: func(c *cli.Context) error { return wait(env, c) }},
			{Name: "stuck", Usage: "ignore the first interrupt", Action: func(c *cli.Context) error { return stuck(env) }},
			{Name: "hidden", Hidden: true, Action: func(*cli.Context) error { return context.DeadlineExceeded }},
			{Name: "kept", Hidden: true, Action: func(c *cli.Context) error {
				return env.Keep(func() error { return kept(env, c) })
			}},
			{Name: "flood", Usage: "print without end", Action: func(*cli.Context) error { return flood(env) }},
			{Name: "group", Usage: "verbs below a verb", Subcommands: []*cli.Command{
				{Name: "new", Usage: "one of them", ArgsUsage: "NAME", Flags: []cli.Flag{
					&cli.StringFlag{Name: "out", Usage: "write to `FILE`"},
					&cli.StringFlag{Name: "project", Usage: "another thing than the program's `P`"},
					&cli.IntSliceFlag{Name: "level", Usage: "levels `N`"},
				}, Action: func(c *cli.Context) error {
					args, _ := cmdmain.Positional(c)
					_, err := fmt.Fprintf(env.Stdout, "%q %q %q\n", c.String("out"), c.String("project"), args)
					return err
				}},
			}},
		},
	}
}

func echoFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "env", Usage: "pass on the variable `NAME`"},
		&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Value: 3, Usage: "how many"},
		&cli.DurationFlag{Name: "timeout", Usage: "give up after `D`"},
		&cli.Float64Flag{Name: "ratio", Usage: "a ratio"},
		&cli.UintFlag{Name: "jobs", Usage: "at once"},
		&cli.BoolFlag{Name: "reverse", Aliases: []string{"r"}, Usage: "the other way round"},
	}
}

func echo(env *cmdmain.Env, c *cli.Context) error {
	args, dash := cmdmain.Positional(c)
	_, err := fmt.Fprintf(env.Stdout, "%q dash=%d env=%q n=%d r=%v project=%q\n", args, dash,
		c.StringSlice("env"), c.Int("count"), c.Bool("reverse"), c.String("project"))
	return err
}

func failure() error {
	return fmt.Errorf("starting: %w", &cmdmain.Error{
		Err: errors.New("server \x1b[2Ja is not trusted\nsecond line"), Word: "server/not_trusted",
		Hints: []string{"mcp-trust allow a", "mcp-trust status a"}, Exit: cmdmain.NotTrusted,
	})
}

// rows prints as many rows as asked for, with foreign text in the first.
func rows(env *cmdmain.Env, c *cli.Context) error {
	l, err := env.List(c, "NAME", "TEXT")
	if err != nil {
		return err
	}
	args, _ := cmdmain.Positional(c)
	n := 2
	if len(args) > 0 {
		if _, err := fmt.Sscan(args[0], &n); err != nil {
			return cmdmain.Usagef("%q is no number", args[0])
		}
	}
	for i := range n {
		var record any = map[string]any{"name": i, "text": "<a>"}
		if i == 0 {
			record = json.RawMessage(`{"name":"\u001b", "n":1.0}`)
		}
		if err := l.Row(record, strings.Repeat("n", i%5+1), "\x1b[31mred"); err != nil {
			return err
		}
	}
	return l.Close()
}

func wait(env *cmdmain.Env, c *cli.Context) error {
	env.Sayf("ready")
	<-c.Context.Done()
	env.Sayf("cleaned up")
	return fmt.Errorf("waiting: %w", c.Context.Err())
}

func stuck(env *cmdmain.Env) error {
	env.Sayf("ready")
	<-env.Ctx.Done()
	env.Sayf("ready")
	time.Sleep(time.Minute) // ended by the second interrupt
	return nil
}

// kept does below a keeper what its argument says.
func kept(env *cmdmain.Env, c *cli.Context) error {
	args, _ := cmdmain.Positional(c)
	switch args[0] {
	case "wait":
		return wait(env, c)
	case "stuck":
		return stuck(env)
	case "fail":
		return failure()
	case "home":
		_, err := fmt.Fprintln(env.Stdout, env.Getenv("HOME"), slices.Contains(env.Environ, "HOME="+env.Getenv("HOME")))
		return err
	case "kill":
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return self.Kill()
	}
	_, err := fmt.Fprintf(env.Stdout, "%d %d %d\n", os.Getpid(), os.Getppid(), env.ParentPID())
	return err
}

func flood(env *cmdmain.Env) error {
	defer env.Sayf("cleaned up")
	for {
		if _, err := io.WriteString(env.Stdout, "line\n"); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
}

// K1, K3, K4: a mistake prints nothing on standard output, says what is wrong
// in one line, names the help and ends with 2.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "a command is needed: echo, needs, one, list, fail, coder, quiet, wait, stuck, flood or group"},
		{"ecko", `unknown command "ecko"; did you mean echo`},
		{"nothing-like-it", `unknown command "nothing-like-it"`},
		{"group", "a command is needed: new"},
		{"group old", `unknown command "old"`},
		{"echo --revers", "unknown flag --revers; did you mean --reverse"},
		{"echo -x", "unknown flag -x"},
		{"echo ---count", "unknown flag ---count"},
		{"--count 3 echo", "unknown flag --count"},
		{"echo -n", "-n needs a value"},
		{"echo -n abc", `-n wants a whole number, not "abc"`},
		{"echo -n 99999999999999999999", `-n wants a whole number, not "99999999999999999999"`},
		{"echo --timeout 5", `--timeout wants a duration such as 90s or 2m, not "5"`},
		{"echo --ratio x", `--ratio wants a number, not "x"`},
		{"echo --jobs -1", `--jobs wants a whole number that is not negative, not "-1"`},
		{"echo -r=maybe", `-r wants true or false, not "maybe"`},
		{"group new --level x", `invalid value "x" for flag -level`}, // a type that is checked by urfave/cli only
		{"help", `unknown command "help"`},
		{"needs", "--digest is needed"},
		{"one", "SERVER is missing"},
		{"one a b", `unexpected argument "b"`},
		{"list -o yaml", `-o wants table, json or jsonl, not "yaml"`},
		{"list -o=", `-o wants table, json or jsonl, not ""`},
		{"list --json -o table", "--json and -o table exclude each other"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			code, stdout, stderr := run(strings.Fields(tc.args)...)
			if code != cmdmain.Usage || stdout != "" {
				t.Errorf("code %d, stdout %q; want 2 and nothing", code, stdout)
			}
			lines := strings.Split(stderr, "\n")
			if !strings.HasPrefix(lines[0], "mcp-test: "+tc.want) {
				t.Errorf("said %q, want %q", lines[0], tc.want)
			}
			if len(lines) != 3 || !strings.HasPrefix(lines[1], "mcp-test: hint: mcp-test") || !strings.HasSuffix(lines[1], " --help") {
				t.Errorf("hint is %q", lines[1:])
			}
		})
	}
}

// K3: flags before and after arguments, -- with its place, numbers, values that
// look like flags, commas.
func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"echo"}, `[] dash=-1 env=[] n=3 r=false project=""`},
		{[]string{"echo", "a", "-r", "b"}, `["a" "b"] dash=-1 env=[] n=3 r=true project=""`},
		{[]string{"--project", "d", "echo", "a"}, `["a"] dash=-1 env=[] n=3 r=false project="d"`},
		{[]string{"echo", "a", "--project=d", "-n=4"}, `["a"] dash=-1 env=[] n=4 r=false project="d"`},
		{[]string{"echo", "--project", "--reverse"}, `[] dash=-1 env=[] n=3 r=false project="--reverse"`},
		{[]string{"echo", "--project", "--", "x"}, `["x"] dash=-1 env=[] n=3 r=false project="--"`},
		{[]string{"echo", "--project="}, `[] dash=-1 env=[] n=3 r=false project=""`},
		{[]string{"echo", "-5", "-.5", "-1e3", "-n", "-7", "-"}, `["-5" "-.5" "-1e3" "-"] dash=-1 env=[] n=-7 r=false project=""`},
		{[]string{"echo", "a", "--", "-r", "--", "b"}, `["a" "-r" "--" "b"] dash=1 env=[] n=3 r=false project=""`},
		{[]string{"echo", "--"}, `[] dash=0 env=[] n=3 r=false project=""`},
		{[]string{"echo", "--env", "a,b", "--env=c"}, `[] dash=-1 env=["a,b" "c"] n=3 r=false project=""`},
		{[]string{"echo", "-r=false", "--count", "1", "--count", "2"}, `[] dash=-1 env=[] n=2 r=false project=""`},
		{[]string{"echo", "help", "echo"}, `["help" "echo"] dash=-1 env=[] n=3 r=false project=""`},
		{[]string{"echo", "", "ü=\xff"}, `["" "ü=\xff"] dash=-1 env=[] n=3 r=false project=""`},
	} {
		code, stdout, stderr := run(tc.args...)
		if code != cmdmain.Done || strings.TrimSpace(stdout) != tc.want || stderr != "" {
			t.Errorf("%q gives %d\n got %s\nwant %s\n%s", tc.args, code, stdout, tc.want, stderr)
		}
	}
	if _, stdout, _ := run("group", "new", "x", "--out", "f", "--project", "p"); stdout != `"f" "p" ["x"]`+"\n" {
		t.Errorf("verbs below a verb print %q", stdout)
	}
	if code, _, stderr := run("--", "echo"); code != cmdmain.Usage {
		t.Errorf("a verb after -- was taken: %d %s", code, stderr)
	}
}

// FuzzArguments: whatever the arguments, no panic, a code of the table, and
// after -- every argument arrives as it was.
func FuzzArguments(f *testing.F) {
	f.Add("echo\na\n-r")
	f.Add("echo\n--env\n--\n--count=\n-n\n-5")
	f.Add("--project\necho\n--json\n-o\njsonl")
	f.Add("-\n--\n---\n-=\n--=x")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		if args[0] == "stuck" || args[0] == "wait" || args[0] == "flood" {
			return
		}
		for _, a := range args {
			if a == "wait" || a == "stuck" || a == "flood" || a == "list" {
				return // would wait, or count
			}
		}
		if code, _, _ := run(args...); code < 0 || code > cmdmain.Timeout {
			t.Errorf("%q gives %d", args, code)
		}
		got, stdout, _ := run(append([]string{"echo", "--"}, args...)...)
		want := fmt.Sprintf("%q dash=0", args)
		if got != cmdmain.Done || !strings.HasPrefix(stdout, want) {
			t.Errorf("after --: %d %s, want %s", got, stdout, want)
		}
	})
}

// K1, K4: what failures look like and end with.
func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		args   string
		code   cmdmain.Exit
		stderr string
	}{
		{"fail", cmdmain.NotTrusted, "mcp-test: starting: server \\u{1b}[2Ja is not trusted\nmcp-test: second line\n" +
			"mcp-test: hint: mcp-trust allow a\nmcp-test: hint: mcp-trust status a\n"},
		{"fail -o jsonl", cmdmain.NotTrusted, `{"error":{"word":"server/not_trusted","message":"starting: server \u001b[2Ja is not trusted\nsecond line",` +
			`"hint":"mcp-trust allow a\nmcp-trust status a","exit":3}}` + "\n"},
		{"--json fail", cmdmain.NotTrusted, `{"error":{"word":"server/not_trusted","message":"starting: server \u001b[2Ja is not trusted\nsecond line",` +
			`"hint":"mcp-trust allow a\nmcp-trust status a","exit":3}}` + "\n"},
		{"fail --wrong --json", cmdmain.Usage, `{"error":{"word":"usage","message":"unknown flag --wrong","hint":"mcp-test fail --help","exit":2}}` + "\n"},
		{"coder", cmdmain.Failed, "mcp-test: boom\n"},
		{"coder -o json", cmdmain.Failed, `{"error":{"word":"failed","message":"boom","hint":"","exit":1}}` + "\n"},
		{"quiet", cmdmain.ToolError, ""},
		{"hidden", cmdmain.Timeout, "mcp-test: context deadline exceeded\n"},
	} {
		code, stdout, stderr := run(strings.Fields(tc.args)...)
		if code != tc.code || stdout != "" || stderr != tc.stderr {
			t.Errorf("%s: code %d, want %d; stdout %q\n got %s\nwant %s", tc.args, code, tc.code, stdout, stderr, tc.stderr)
		}
	}
}

// An error that wraps an Error without Exit is a failure, never success (K4).
func TestErrorWithoutExitFails(t *testing.T) {
	var errOut bytes.Buffer
	code := cmdmain.Run(&cmdmain.Env{Name: "mcp-test", Ctx: context.Background(), Stdout: io.Discard, Stderr: &errOut},
		func(*cmdmain.Env) *cli.App {
			return &cli.App{Action: func(*cli.Context) error { return &cmdmain.Error{Err: os.ErrNotExist} }}
		})
	if code != cmdmain.Failed || errOut.String() != "mcp-test: file does not exist\n" {
		t.Errorf("code %d, said %q", code, errOut.String())
	}
}

// The application may answer --help beside an argument by itself, and sees the
// flags beside it; a mistake in them is not passed over.
func TestOwnHelp(t *testing.T) {
	for _, tc := range []struct {
		args string
		code cmdmain.Exit
		want string
	}{
		{"server tool --help", cmdmain.Done, `own ["server" "tool"] in ""`},
		{"server --project x --help tool", cmdmain.Done, `own ["server" "tool"] in "x"`},
		{"--project=x --help -- server --tool", cmdmain.Done, `own ["server" "--tool"] in "x"`},
		{"server --help --projct x", cmdmain.Usage, `mcp-test: unknown flag --projct; did you mean --project`},
		{"declined --help", cmdmain.Done, "mcp-test: calls a tool"},
		{"broken --help", cmdmain.Failed, "mcp-test: broken"},
		{"--help", cmdmain.Done, "mcp-test: calls a tool"},
		{"--help --project", cmdmain.Done, "mcp-test: calls a tool"},
	} {
		var out bytes.Buffer
		code := cmdmain.Run(&cmdmain.Env{
			Name: "mcp-test", Ctx: context.Background(), Args: strings.Fields(tc.args), Stdout: &out, Stderr: &out,
		}, func(env *cmdmain.Env) *cli.App {
			env.Help = func(c *cli.Context) (bool, error) {
				args, _ := cmdmain.Positional(c)
				switch args[0] {
				case "declined":
					return false, nil
				case "broken":
					return false, errors.New("broken")
				}
				_, err := fmt.Fprintf(env.Stdout, "own %q in %q\n", args, c.String("project"))
				return true, err
			}
			return &cli.App{
				Usage: "calls a tool", Flags: []cli.Flag{&cli.StringFlag{Name: "project"}},
				Action: func(*cli.Context) error { return errors.New("ran") },
			}
		})
		if code != tc.code || !strings.HasPrefix(out.String(), tc.want) {
			t.Errorf("%s: %d %s", tc.args, code, out.String())
		}
	}
}
