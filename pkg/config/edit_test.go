package config

import (
	"errors"
	"strings"
	"testing"
)

const edited = `# mine
version: 1   # the one

servers:
  # the first
  github:
    command:   github-mcp-server   # aligned by hand
    # about time
    timeout: 30s
    env: {TOKEN: "${GITHUB_TOKEN}"}
    # idle_stop: 10m

  # the second
  files:
    command: npx
    args:
      - -y
      - "@scope/files@1.2.3"

# below
policies:
    p: {servers: ["*"]}
`

func TestSetServerKeepsEverythingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		id   string
		d    Declaration
		want func(string) string
	}{
		"new entry goes behind the last": {"wiki", Declaration{Command: "wiki-mcp", Args: []string{"8080", "a b", ""}, Env: []EnvVar{{"A", "yes"}}},
			func(s string) string {
				return strings.Replace(s, "\n# below", "  wiki:\n    command: wiki-mcp\n    args: [\"8080\", \"a b\", \"\"]\n    env:\n      A: \"yes\"\n\n# below", 1)
			}},
		"an existing one keeps its other fields": {"github", Declaration{Command: "gh", KeepEnv: true},
			func(s string) string {
				return strings.Replace(s, "command:   github-mcp-server   # aligned by hand", "command: gh # aligned by hand", 1)
			}},
		"env goes when there is none": {"github", Declaration{Command: "gh"},
			func(s string) string {
				s = strings.Replace(s, "command:   github-mcp-server   # aligned by hand", "command: gh # aligned by hand", 1)
				return strings.Replace(s, "    env: {TOKEN: \"${GITHUB_TOKEN}\"}\n", "", 1)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SetServer([]byte(edited), tt.id, tt.d)
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.want(edited); string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestSetServerInAnyFile(t *testing.T) {
	for name, file := range map[string]string{
		"absent":             "",
		"starter":            string(StarterFile()),
		"only comments":      "# nothing yet\n",
		"no servers":         "version: 1\npolicies: {}\n",
		"null servers":       "version: 1\nservers:\npolicies: {}\n",
		"tilde":              "version: 1\nservers: ~ # none\n",
		"flow":               "version: 1\nservers: {a: {command: x}} # all\n",
		"no newline":         "version: 1\nservers:\n  a: {command: x}",
		"at the left margin": "version: 1\nservers:\n a:\n  command: x\n",
		"crlf":               "version: 1\r\nservers:\r\n  a:\r\n    command: x\r\n# end\r\n",
		"json":               `{"version": 1, "servers": {"a": {"command": "x"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SetServer([]byte(file), "new", Declaration{Command: "prog", Args: []string{"-v"}})
			if err != nil {
				t.Fatal(err)
			}
			c := loadUser(t, string(got))
			if s := c.Server("new"); s == nil || s.Command != "prog" || len(s.Args) != 1 {
				t.Fatalf("not declared: %v\n%s", c.Diagnostics, got)
			}
			if (strings.Contains(file, "a: {") || strings.Contains(file, "a:\n")) && c.Server("a") == nil {
				t.Errorf("the other server is gone:\n%s", got)
			}
			for _, line := range strings.Split(file, "\n") {
				if _, comment, ok := strings.Cut(line, "#"); ok && !strings.Contains(string(got), strings.TrimSpace(comment)) {
					t.Errorf("comment %q is gone:\n%s", comment, got)
				}
			}
			back, err := RemoveServer(got, "new")
			if err != nil {
				t.Fatal(err)
			}
			if c := loadUser(t, string(back)); c.Refused || c.Server("new") != nil {
				t.Errorf("after removal: %v\n%s", c.Diagnostics, back)
			}
		})
	}
}

func TestSetServerRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ file, id, command string }{
		"a shell":      {edited, "new", "bash"},
		"a bad id":     {edited, "New", "prog"},
		"broken file":  {"servers: [", "new", "prog"},
		"list":         {"- a\n", "new", "prog"},
		"servers list": {"version: 1\nservers: [a]\n", "new", "prog"},
		"entry text":   {"version: 1\nservers: {new: x}\n", "new", "prog"},
	} {
		var d Diagnostic
		if _, err := SetServer([]byte(tt.file), tt.id, Declaration{Command: tt.command}); !errors.As(err, &d) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRemoveServer(t *testing.T) {
	got, err := RemoveServer([]byte(edited), "github")
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(edited, "  github:")
	end := strings.Index(edited, "\n  # the second")
	if want := edited[:start] + edited[end:]; string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got, err = RemoveServer(got, "files"); err != nil || !strings.Contains(string(got), "# the second") {
		t.Errorf("%v\n%s", err, got)
	}
	var none *NoServerError
	if _, err := RemoveServer(got, "files"); !errors.As(err, &none) || none.ID != "files" {
		t.Errorf("got %v", err)
	}
}
