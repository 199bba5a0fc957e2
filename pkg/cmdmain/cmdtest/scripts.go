package cmdtest

import (
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/mcptest"
	"postern/pkg/state"
	"postern/pkg/trust"
)

// Soon is a command of scripts: soon PATTERN FILE waits until the file has the
// pattern, at most mcptest.Bound.
func Soon(ts *testscript.TestScript, _ bool, args []string) {
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	if !mcptest.Eventually(func() bool { return pattern.MatchString(ts.ReadFile(args[1])) }) {
		ts.Fatalf("%s has no %s:\n%s", args[1], args[0], ts.ReadFile(args[1]))
	}
}

// Replace is a command of scripts: replace OLD NEW FILE edits a file, as a person
// would.
func Replace(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[2])
	text := ts.ReadFile(file)
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s does not contain %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(text, args[0], args[1])), 0o600))
}

// Approve is a command of scripts: approve PROJECT SERVER records that the server
// may start.
func Approve(ts *testscript.TestScript, _ bool, args []string) {
	dirs, err := state.Locate(ts.Getenv)
	ts.Check(err)
	project := ts.MkAbs(args[0])
	srv := config.Load(config.LoadOptions{Dirs: dirs, Project: project}).Server(args[1])
	if srv == nil {
		ts.Fatalf("%s declares no server %s", project, args[1])
	}
	records, err := trust.NewStore(dirs).Records(project)
	ts.Check(err)
	env := []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	d := trust.Describe(records, srv, &trust.Environ{Hub: env, Agent: env})
	rec, err := d.Approval(config.ClassExecute, d.CodeVariables, "")
	ts.Check(err)
	ts.Check(trust.Allow(context.Background(), dirs, rec))
}

// Answers is a command of scripts: answers waits until a hub does, at most
// mcptest.Bound.
func Answers(ts *testscript.TestScript, _ bool, _ []string) {
	dirs, err := state.Locate(ts.Getenv)
	ts.Check(err)
	if !hubAnswers(dirs) {
		ts.Fatalf("no hub answers")
	}
}

func hubAnswers(dirs state.Dirs) bool {
	return mcptest.Eventually(func() bool {
		conn, err := hub.DialAny(context.Background(), dirs)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}
