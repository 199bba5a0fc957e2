package config

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A long run of edits ends with what a map would hold, never touches a comment
// outside the entries, and leaves the policies byte for byte.
func TestManyEdits(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const tail = "# what may be called\npolicies:\n    p:   {servers: [\"*\"]}   # all\n\n# the end\n"
		file := []byte("# mine\nversion: 1\n\nservers:\n  # kept\n\n" + tail)
		model := map[string]string{}
		for step := range 40 {
			id := fmt.Sprintf("s%d", rng.IntN(6))
			var err error
			if rng.IntN(3) > 0 {
				command := fmt.Sprintf("prog-%d", step)
				file, err = SetServer(file, id, Declaration{Command: command, Args: words(rng), Env: []EnvVar{{"A", "no"}}})
				model[id] = command
			} else if model[id] != "" {
				file, err = RemoveServer(file, id)
				delete(model, id)
			}
			if err != nil {
				t.Fatalf("seed %d step %d: %v", seed, step, err)
			}
		}
		c := loadUser(t, string(file))
		got := map[string]string{}
		for _, s := range c.Servers {
			got[s.ID] = s.Command
		}
		if !maps.Equal(got, model) || len(c.Diagnostics) > 0 {
			t.Fatalf("seed %d: %v, want %v, %v\n%s", seed, got, model, problems(c), file)
		}
		if !strings.HasSuffix(string(file), tail) || !strings.HasPrefix(string(file), "# mine\nversion: 1\n\nservers:\n") ||
			strings.Count(string(file), "  # kept\n") != 1 {
			t.Fatalf("seed %d:\n%s", seed, file)
		}
	}
}

// words are arguments that are hard to write in YAML.
func words(rng *rand.Rand) []string {
	hard := []string{"", "no", "1", "1e3", "~", "null", "-", "- a", "a: b", "#x", "a #b", "'", "\"", "\\", "a\nb", "{x}", "[x]", "&a", "*a", "!t", "%", "@x", "`", "日本", " ", "2020-01-01", "<<", "=", "0x1f", "a,b"}
	out := make([]string, rng.IntN(4))
	for i := range out {
		out[i] = hard[rng.IntN(len(hard))]
	}
	return out
}

// What is written is what is read, whatever the characters.
func TestEditedValuesComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		args := words(rng)
		env := []EnvVar{{"X", "$$" + strings.Join(words(rng), "")}, {"ON", "on"}}
		file, err := SetServer(nil, "s", Declaration{Command: "/opt/prog", Args: args, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		s := loadUser(t, string(file)).Server("s")
		if s == nil || !slices.Equal(s.Args, args) || !slices.Equal(s.Env, env) {
			t.Fatalf("%q %q became\n%s", args, env, file)
		}
	}
}

// Setting what is there already changes nothing but the way it is written, and
// doing it again changes nothing at all.
func TestEditTwiceIsEditOnce(t *testing.T) {
	d := Declaration{Command: "gh", Args: []string{"stdio"}, Env: []EnvVar{{"A", "1"}}}
	once, err := SetServer([]byte(edited), "github", d)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := SetServer(once, "github", d)
	if err != nil || string(twice) != string(once) {
		t.Errorf("%v\n%s\n%s", err, once, twice)
	}
}

// The caller's bytes are its own.
func TestEditLeavesItsInputAlone(t *testing.T) {
	for _, text := range []string{edited, "# only a comment\n\n\n", "version: 1\nservers: {a: {command: x}}\n"} {
		file := []byte(text)
		if _, err := SetServer(file, "new", Declaration{Command: "x"}); err != nil {
			t.Fatal(err)
		}
		if string(file) != text {
			t.Errorf("%q became %q", text, file)
		}
	}
}
