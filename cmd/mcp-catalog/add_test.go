package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"postern/pkg/config"
)

func TestVariables(t *testing.T) {
	got, err := variables([]string{"A=1", "B=x=y,z", "A=2", "C="})
	want := []config.EnvVar{{Name: "A", Value: "2"}, {Name: "B", Value: "x=y,z"}, {Name: "C", Value: ""}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"sup3rsecret", "", "=v"} {
		if _, err := variables([]string{bad}); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// C34: a path that counts from here is written as one that counts from nowhere.
func TestWritten(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for command, want := range map[string]string{
		"server": "server", "/usr/bin/x": "/usr/bin/x", "${BIN}/x": "${BIN}/x",
		"./x": filepath.Join(here, "x"), "../x": filepath.Join(filepath.Dir(here), "x"), "a/b": filepath.Join(here, "a", "b"),
	} {
		if got, err := written(command); got != want || err != nil {
			t.Errorf("%s is written as %s, %v, want %s", command, got, err, want)
		}
	}
}
