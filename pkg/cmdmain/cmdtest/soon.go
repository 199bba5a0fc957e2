package cmdtest

import (
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"postern/pkg/mcptest"
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
