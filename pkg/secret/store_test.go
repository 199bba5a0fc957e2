package secret

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		"pass show wiki": {"pass", "show", "wiki"}, "  a\t'b c' \"d 'e'\" ": {"a", "b c", "d 'e'"}, `a\ b "c\"d" 'e\f'`: {"a b", `c"d`, `e\f`},
		"a '' b": {"a", "", "b"}, "a'b'c": {"abc"}, "echo $HOME `x` $(y) | z > w": {"echo", "$HOME", "`x`", "$(y)", "|", "z", ">", "w"},
	} {
		if got, err := splitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "  ", "''", "'a", `"a`, `a\`, "a\x00"} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"" e\ f`)
	f.Add("\\\x00")
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if again, err := splitWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q: %q, %q, %v", s, words, again, err)
		}
	})
}

func TestStoreReadsOnce(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho x >> "+count+"\necho value\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := NewStore(map[string]string{"A": "cmd:" + script})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { // ends with its one look-up
			if v, ok, err := s.Value("A"); v != "value" || !ok || err != nil {
				t.Errorf("%q, %v, %v", v, ok, err)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(count); string(data) != "x\n" {
		t.Errorf("the command ran %d times", strings.Count(string(data), "x"))
	}
	if _, ok, err := s.Value("B"); ok || err != nil {
		t.Error("an entry that is not there")
	}
	var none *Store
	if _, ok, err := none.Value("A"); ok || err != nil {
		t.Error("a nil Store has no entries")
	}
}

// A process that lives for days does not keep a failure: whatever was locked may have
// been unlocked.
func TestFailedEntryIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	s := NewStore(map[string]string{"A": "file:" + path})
	for range 2 {
		if _, _, err := s.Value("A"); err == nil {
			t.Fatal("there is no file")
		}
		if err := os.WriteFile(path, []byte("value"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.entries["A"].at = time.Now().Add(-failureLife)
	if v, ok, err := s.Value("A"); v != "value" || !ok {
		t.Errorf("%q, %v", v, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.entries["A"].at = time.Now().Add(-time.Hour)
	if v, _, err := s.Value("A"); v != "value" {
		t.Errorf("what was read is not kept: %q, %v", v, err)
	}
}

func TestFileEntry(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	path := filepath.Join(home, "key")
	if err := os.WriteFile(path, []byte("value\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"file:~/key", "file:" + path} {
		if v, ok, err := NewStore(map[string]string{"A": text}).Value("A"); v != "value" || !ok || err != nil {
			t.Errorf("%s: %q, %v", text, v, err)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := NewStore(map[string]string{"A": "file:~/key"}).Value("A"); err == nil {
		t.Error("C5: a secret that others can write")
	}
}

// C31: what goes wrong is said without the value or the command's words.
func TestEntriesThatGiveNothing(t *testing.T) {
	for text, want := range map[string]string{
		"file:/no/such":                         "does not exist or is empty",
		"file:rel":                              "absolute path",
		"hunter2":                               "begins with cmd: or file:",
		"cmd:":                                  "the command is empty",
		"cmd:/no/such/program":                  "did not run",
		"cmd:/bin/sh -c 'echo hunter2; exit 3'": "ended with exit status 3; run it yourself",
		"cmd:/bin/sh -c 'echo hunter2 >&2'":     "the value is empty",
		"cmd:printf 'hunter2\\0'":               "the value holds a NUL byte",
		"cmd:head -c 100000 /dev/zero":          "printed more than 65536 bytes",
	} {
		v, ok, err := NewStore(map[string]string{"A": text}).Value("A")
		var read *ReadError
		if v != "" || ok || !errors.As(err, &read) || read.Name != "A" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", text, v, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("C31: %v", err)
		}
	}
}

// C32: the command of a secret sees no other program's secrets.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("MY_TOKEN", "hunter2")
	out, err := runCommand("env", time.Minute)
	if err != nil || strings.Contains(string(out), "hunter2") || !strings.Contains(string(out), "PATH=") {
		t.Errorf("%s, %v", out, err)
	}
}
