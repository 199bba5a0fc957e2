package cmdmain

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"postern/pkg/secret"
)

// S5: no message of a command holds a secret, hints are commands that have to run.
func TestMessagesWithoutSecrets(t *testing.T) {
	r := &secret.Redactor{}
	r.Add("the-value")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "mcp-x: a [redacted:value] of\nmcp-x: [redacted:shape] \\u{1b}\nmcp-x: hint: run the-value\nmcp-x: no [redacted:value]\nmcp-x: hint: try the-value\n"},
		{[]string{"-o", "json"}, `{"error":{"word":"failed","message":"no [redacted:value]","hint":"try the-value","exit":1}}`},
	} {
		var stderr bytes.Buffer
		env := &Env{Name: "mcp-x", Ctx: t.Context(), Args: c.args, Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &stderr, Getenv: func(string) string { return "" }}
		Run(env, func(e *Env) *cli.App {
			return &cli.App{Flags: ListFlags(), Action: func(*cli.Context) error {
				e.Redact(r)
				e.Sayf("a %s of\nghp_0123456789abcdef \x1b", "the-value")
				e.Sayf("hint: run %s", "the-value")
				return &Error{Err: errors.New("no dGhlLXZhbHVl"), Exit: Failed, Hints: []string{"try the-value"}}
			}}
		})
		if got := stderr.String(); !strings.HasSuffix(got, c.want+strings.Repeat("\n", len(c.args)/2)) {
			t.Errorf("%q", got)
		}
	}
	var env Env
	if got := env.Clean("password=x the-value"); got != "password=[redacted:query] the-value" {
		t.Errorf("%s", got)
	}
}

// S4: an error as JSON cannot act on a terminal either.
func TestJSONErrorIsPrintable(t *testing.T) {
	var stderr bytes.Buffer
	env := &Env{Name: "mcp-x", Stderr: &stderr, jsonErrors: true}
	env.report(&Error{Err: errors.New("a\u202eb\u009b"), Exit: Failed})
	if got := stderr.String(); !strings.Contains(got, `"a\u202eb\u009b"`) {
		t.Errorf("%q", got)
	}
}
