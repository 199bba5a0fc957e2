package trust

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/secret"
)

// S2: a description has everything an approval is about, and the record made
// from it holds the same.
func TestDescription(t *testing.T) {
	w := newWorld(t)
	d := Describe(w.records(), w.srv, w.env)
	if d.Status != Untrusted || d.Problem != nil || d.Record != nil || len(d.Why) != 0 {
		t.Fatalf("%s, %v, %v", d.Status, d.Problem, d.Why)
	}
	want := []Variable{{"FROM_FILE", secret.FromEnvFile}, {"ROOT_ARG", secret.FromAgent}, {"SECRET", secret.FromAgent}}
	if !slices.Equal(d.Variables, want) {
		t.Errorf("variables are %v", d.Variables)
	}
	var files []string
	for _, f := range d.Files {
		files = append(files, f.Path)
	}
	if !slices.Equal(files, []string{"conf.json", "server.env", "tools/server.js"}) {
		t.Errorf("files are %q", files)
	}
	rec, err := d.Approval(config.ClassExecute, nil, "a note")
	if err != nil {
		t.Fatal(err)
	}
	if rec.Digest != w.srv.Digest || rec.Executable != d.Executable || !slices.Equal(rec.Files, d.Files) ||
		!slices.Equal(rec.Env, []string{"FROM_FILE", "ROOT_ARG", "SECRET"}) || rec.Note != "a note" {
		t.Errorf("the record is %+v", rec)
	}
}

// What was shown is what is written: a change between the two is refused later.
func TestChangeBetweenShowAndWrite(t *testing.T) {
	w := newWorld(t)
	d := Describe(w.records(), w.srv, w.env)
	w.write("srv.sh", "#!/bin/true\nanother\n", 0o755)
	rec, err := d.Approval(config.ClassRead, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := Allow(context.Background(), w.dirs, rec); err != nil {
		t.Fatal(err)
	}
	var e *ChangedError
	if _, err := w.check(); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

// C52: a stale server says what differs, each thing by name.
func TestStaleSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	s := *w.srv
	s.Args = append(slices.Clone(s.Args), "${OTHER}")
	s.Env = append(slices.Clone(s.Env), config.EnvVar{Name: "LD_PRELOAD", Value: "./x.so"})
	redigest(&s)
	w.write("conf.json", "[]", 0o644)
	d := Describe(w.records(), &s, w.env)
	text := strings.Join(d.Why, "\n")
	for _, want := range []string{"the declaration changed", "arguments", "OTHER", "LD_PRELOAD", "conf.json has changed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if d.Status != Stale {
		t.Errorf("status is %s", d.Status)
	}
}

// Trusted in a description means that Check agrees.
func TestTrustedDescription(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	if d := Describe(w.records(), w.srv, w.env); d.Status != Trusted || d.Problem != nil || len(d.Why) != 0 {
		t.Errorf("%s, %v, %v", d.Status, d.Problem, d.Why)
	}
	w.env.Agent = []string{"SECRET=s", "ROOT_ARG=two"}
	if d := Describe(w.records(), w.srv, w.env); d.Status != Stale {
		t.Errorf("another value: %s", d.Status)
	}
}

// An approval does not need the values of environment variables: the agent may
// have what this shell has not. What decides the command line is needed.
func TestApprovalWithoutValues(t *testing.T) {
	w := newWorld(t)
	w.env.Agent = []string{"ROOT_ARG=one"}
	w.allow(w.srv)
	w.env.Agent = nil
	d := Describe(w.records(), w.srv, w.env)
	var e *UnavailableError
	if _, err := d.Approval(config.ClassRead, nil, ""); !errors.As(err, &e) || e.Name != "ROOT_ARG" {
		t.Errorf("got %v", err)
	}
}

// Every refusal names its server, in words that say what to think of it.
func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&NotTrustedError{Server: "x", Status: Untrusted}, "server x comes from a project and has not been approved"},
		{&NotTrustedError{Server: "x", Status: Denied}, "server x was denied for this project"},
		{&NotTrustedError{Server: "x", Status: Expired}, "server x was approved for a time that is over"},
		{&NotTrustedError{Server: "x", Status: Stale, Why: []string{"a", "b"}}, "server x changed since it was approved: a; b"},
		{&UnavailableError{Server: "x", Name: "N"}, "server x is unavailable: N is not set"},
		{&UnavailableError{Server: "x", Why: "w"}, "server x is unavailable: w"},
		{&ExecutableError{Server: "x", Command: "c", Why: "is not found", Searched: []string{"/a", "/b"}}, `server x: command "c" is not found in /a, /b`},
		{&SelfError{Server: "x"}, "server x is postern itself and is never started"},
		{&SelfError{Server: "x", Depth: 3}, "server x is not started: this postern already runs below 3 others (POSTERN_DEPTH)"},
		{&DisabledError{"x"}, "server x is disabled"},
		{&ChangedError{Server: "x", Path: "f", What: "has changed"}, "server x is not what was approved: f has changed"},
		{&CodeVariablesError{"x", []string{"A", "B"}}, "server x sets A, B, which can change what code runs"},
		{&NoRecordError{"/p", "x"}, "there is no decision about server x in /p"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
