package gateway

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

var aResult = []byte(`{"content":[{"type":"text","text":"x"}]}`)

func keep(t *testing.T, s *results, o owner, raw []byte) (id string) {
	t.Helper()
	id, err := s.put(o, raw)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// R69: a kept result is read by whom it was given to, for seven days, and by
// nobody else; the file is private and its name cannot be guessed.
func TestKeptResults(t *testing.T) {
	now := time.Now()
	s := &results{dir: filepath.Join(t.TempDir(), "results"), now: func() time.Time { return now }}
	mine := owner{Project: "/mine"}
	id := keep(t, s, mine, aResult)
	if got, err := s.get(mine, id); err != nil || !bytes.Equal(got, aResult) {
		t.Fatalf("%s %v", got, err)
	}
	if other := keep(t, s, mine, aResult); len(id) != 32 || other == id {
		t.Errorf("ids %s and %s", id, other)
	}
	if fi, err := os.Stat(filepath.Join(s.dir, id)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	for _, c := range []struct {
		o  owner
		id string
	}{
		{owner{}, id}, {owner{Project: "/other"}, id}, {owner{Caller: "x", Project: "/mine"}, id},
		{mine, strings.ToUpper(id)}, {mine, id[:31]}, {mine, ""}, {mine, "../results/" + id}, {mine, strings.Repeat("0", 32)},
	} {
		if _, err := s.get(c.o, c.id); !errors.Is(err, errNoResult) {
			t.Errorf("%+v %q: %v", c.o, c.id, err)
		}
	}
	now = now.Add(config.ResultLife + time.Minute)
	if _, err := s.get(mine, id); !errors.Is(err, errNoResult) {
		t.Errorf("after its time: %v", err)
	}
	s.tidy()
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("%d files are left after their time", len(left))
	}
}

// A file that is not as described is no result.
func TestDamagedResults(t *testing.T) {
	data, err := os.ReadFile("testdata/results/00112233445566778899aabbccddeeff")
	if err != nil {
		t.Fatal(err)
	}
	s := &results{dir: t.TempDir(), now: time.Now}
	id := strings.Repeat("0f", 16)
	write := func(data []byte, mode os.FileMode) error {
		path := filepath.Join(s.dir, id)
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		_, err := s.get(owner{}, id)
		return err
	}
	if err := write(data, 0o600); err != nil {
		t.Errorf("version 1: %v", err)
	}
	for name, bad := range map[string][]byte{
		"torn":          data[:len(data)-3],
		"longer":        append(bytes.Clone(data), ' '),
		"zeros":         append(bytes.Clone(data[:len(data)-5]), 0, 0, 0, 0, 0),
		"version 2":     bytes.Replace(data, []byte(`"v":1`), []byte(`"v":2`), 1),
		"head alone":    bytes.SplitAfter(data, []byte("\n"))[0],
		"empty":         nil,
		"no head":       aResult,
		"of the caller": bytes.Replace(data, []byte(`"caller":""`), []byte(`"caller":"x"`), 1),
	} {
		if err := write(bad, 0o600); !errors.Is(err, errNoResult) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := write(data, 0o666); !errors.Is(err, errNoResult) {
		t.Errorf("a file that others can write: %v", err)
	}
}

// Never more than the folder may hold: the oldest go first, also those of other
// processes, and files of other kinds are left alone.
func TestResultsMakeRoom(t *testing.T) {
	now := time.Now()
	s := &results{dir: t.TempDir(), now: func() time.Time { return now }}
	old := func(i int, size int64) string {
		name := filepath.Join(s.dir, strings.Repeat("0", 30)+strconv.Itoa(10+i))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close(), os.Chtimes(name, now, now.Add(time.Duration(i-10)*time.Hour))); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var files []string
	for i := range 4 {
		files = append(files, old(i, config.ResultStoreBytes/4))
	}
	foreign := filepath.Join(s.dir, "notes")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keep(t, s, owner{}, aResult)
	for i, name := range append(files, foreign) {
		if _, err := os.Stat(name); (err == nil) != (i > 0) {
			t.Errorf("file %d: %v", i, err)
		}
	}
	// Another process has filled the folder in the meantime.
	old(5, config.ResultStoreBytes/4)
	now = now.Add(2 * config.ResultCountEvery)
	keep(t, s, owner{}, aResult)
	if _, err := os.Stat(files[1]); err == nil {
		t.Error("the oldest of another process is left")
	}
	if err := s.makeRoom(config.ResultStoreBytes + 1); err == nil {
		t.Error("room for more than there is in all")
	}
}

func TestResultsAreKeptConcurrently(t *testing.T) {
	s := &results{dir: t.TempDir(), now: time.Now}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { // ends with its result
			id, err := s.put(owner{}, aResult)
			if err == nil {
				_, err = s.get(owner{}, id)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// R69, C6: where the whole cannot be kept the result passes uncut and says
// nothing.
func TestWithoutRoomNothingIsCut(t *testing.T) {
	w := newWorld(t, exposing(", exposure: full, max_result_bytes: 1KiB"), map[string]string{
		"tools.json": `[{"name":"big","inputSchema":{"type":"object"}}]`, "state/results": "not a folder"})
	a := w.connect(Options{})
	a.Initialize()
	want := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 5000) + `"}]}`
	if got := string(a.Call("fake__big", `{"bytes":5000}`)); got != want {
		t.Errorf("%.300s", got)
	}
}

// R69: a result belongs to the project it was given in.
func TestResultsOfAnotherProject(t *testing.T) {
	w := newWorld(t, exposing(", exposure: full, max_result_bytes: 1KiB"), map[string]string{
		"tools.json": `[{"name":"big","inputSchema":{"type":"object"}}]`, "one/.git/HEAD": "", "two/.git/HEAD": ""})
	project := func(name string) Options {
		real, err := filepath.EvalSymlinks(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		return Options{Project: real}
	}
	a := w.connect(project("one"))
	a.Initialize()
	cut := string(a.Call("fake__big", `{"bytes":5000}`))
	_, id, _ := strings.Cut(cut, resultScheme)
	id = id[:32]
	for _, c := range []struct {
		o    Options
		text string
	}{{project("one"), "bytes 0 to 1024 of 5000"}, {project("two"), "there is no result"}, {Options{}, "there is no result"}} {
		b := w.connect(c.o)
		b.Initialize()
		if got := string(b.Call(readResultName, `{"id":"`+id+`"}`)); !strings.Contains(got, c.text) {
			t.Errorf("%+v: %.200s", c.o, got)
		}
	}
}

// R69: as a resource too a kept result is for whom it was given to, and for whom
// the policy lets read it.
func TestKeptResultsAsResources(t *testing.T) {
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE}
policies:
  all: {servers: ["*"], allow: [read]}
  less: {servers: ["*"], allow: [read], deny: ["gateway/read_result"]}
defaults: {policy: all, trust_level: 2}
`, nil)
	mine, others := keep(t, w.g.results, owner{}, aResult), keep(t, w.g.results, owner{Project: "/other"}, aResult)
	a, b := w.connect(Options{}), w.connect(Options{Policy: "less"})
	a.Initialize()
	b.Initialize()
	read := func(agent *mcptest.Agent, id string) string {
		return string(agent.Expect(agent.Request("resources/read", `{"uri":"`+resultScheme+id+`"}`)).Raw)
	}
	if got := read(a, mine); !strings.Contains(got, `"mimeType":"application/json","text":"{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"`) {
		t.Error(got)
	}
	if got := read(a, others); !strings.Contains(got, `"code":-32002`) {
		t.Error(got)
	}
	if got := read(b, mine); !strings.Contains(got, `"word":"policy_denied"`) {
		t.Error(got)
	}
}
