package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/config"
)

// The identity and date of the files in testdata.
var (
	fixtureID = Identity{Scope: "user", Source: "/config/mcp.yaml", Server: "srv", Digest: "sha256:1", CWD: "/srv"}
	fixtureAt = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// fixtureStore is a store that holds testdata/v1.json as the catalog of id.
func fixtureStore(t *testing.T, id Identity, c *clock) (*Store, string) {
	t.Helper()
	s := NewStore(filepath.Join(t.TempDir(), "catalogs"), c.Now)
	data, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.path(id), data)
	return s, s.path(id)
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// C70: the file of version 1 is read as doc.go says, and written byte for byte.
func TestFixture(t *testing.T) {
	now := &clock{fixtureAt}
	s, path := fixtureStore(t, fixtureID, now)
	c, from := s.Read(fixtureID)
	if from != Cached {
		t.Fatalf("read as %s", from)
	}
	if c.V != 1 || c.Identity != fixtureID || !c.At.Equal(fixtureAt) || c.TTLMS != 600000 || !c.Truncated ||
		c.Protocol != "2025-11-25" || c.Era != "legacy" || c.Instructions != "<use> \"it\"\nwell" ||
		string(c.ServerInfo) != `{"name":"s", "version":"1.0"}` || string(c.Capabilities) != `{"tools":{"listChanged":true}}` {
		t.Errorf("%+v", c)
	}
	if len(c.Tools) != 2 || string(c.Tools[0]) != `{"name":"a", "inputSchema":{"type":"object","n":[1.0,1e400,9007199254740993]}, "x<y":null}` {
		t.Errorf("tools %s", c.Tools)
	}
	if len(c.Prompts) != 1 || len(c.Resources) != 1 || len(c.ResourceTemplates) != 1 || len(c.Refused) != 1 || c.Refused[0].Name != "tools[2]" {
		t.Errorf("%+v", c)
	}
	if p := c.Parsed(); len(p) != 2 || p[0].Name != "a" || p[0].Repaired || p[1].Name != "b.c" || !p[1].Repaired {
		t.Errorf("%+v", p)
	}
	before, _ := os.ReadFile(path)
	if err := s.Write(c); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Errorf("written as\n%s", after)
	}
}

// C71: how old a catalog may be, and who says so.
func TestFreshness(t *testing.T) {
	const minute, day = time.Minute, 24 * time.Hour
	tests := []struct {
		ttl  int64 // ms
		age  time.Duration
		want Provenance
	}{
		{0, 0, Cached},
		{0, day, Cached},
		{0, day + 1, Stale},
		{(10 * minute).Milliseconds(), 10 * minute, Cached},
		{(10 * minute).Milliseconds(), 10*minute + 1, Stale},
		{1, minute, Cached}, // no server asks to be listed all the time
		{1, minute + 1, Stale},
		{(48 * time.Hour).Milliseconds(), day + 1, Stale},
		{1 << 62, day, Cached},
		{1 << 62, 365 * day, Stale},
		{0, -1, Missing}, // dated in the future
		{0, -day, Missing},
	}
	for _, tt := range tests {
		now := &clock{fixtureAt}
		s := NewStore(filepath.Join(t.TempDir(), "c"), now.Now)
		c, err := Build(fixtureID, fixtureAt, Raw{TTLMS: tt.ttl, Tools: tools500(1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(c); err != nil {
			t.Fatal(err)
		}
		now.now = fixtureAt.Add(tt.age)
		got, from := s.Read(fixtureID)
		if from != tt.want || (got == nil) != (tt.want == Missing) {
			t.Errorf("ttl %d ms, age %s: %s, want %s", tt.ttl, tt.age, from, tt.want)
		}
	}
}

// C71, MB-110: a catalog of another declaration is no catalog of this one, also
// where both share the file.
func TestForeignIdentity(t *testing.T) {
	now := &clock{fixtureAt}
	change := map[string]func(*Identity){
		"digest":  func(id *Identity) { id.Digest = "sha256:2" },
		"cwd":     func(id *Identity) { id.CWD = "" },
		"project": func(id *Identity) { id.Project = "/p" },
		"scope":   func(id *Identity) { id.Scope = "project" },
		"source":  func(id *Identity) { id.Source = "/other" },
		"server":  func(id *Identity) { id.Server = "srv2" },
	}
	stems := map[string]string{fixtureID.stem(): "none"}
	for name, edit := range change {
		id := fixtureID
		edit(&id)
		s, _ := fixtureStore(t, id, now) // the very file this identity would have
		if c, from := s.Read(id); c != nil || from != Missing {
			t.Errorf("%s: %s", name, from)
		}
		was, same := stems[id.stem()]
		if moved := name != "digest" && name != "cwd"; moved == same {
			t.Errorf("%s: the file name is that of %q: %v", name, was, same)
		}
		stems[id.stem()] = name
	}
	joined := Identity{Project: "a", Scope: "b"}
	if other := (Identity{Project: "ab"}); joined.stem() == other.stem() {
		t.Error("file names do not tell members apart")
	}
}

// C71: whatever is wrong with a file, the answer is a miss, and the file stays.
func TestBadFileIsAMiss(t *testing.T) {
	good, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %s in the fixture", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	bad := map[string][]byte{
		"empty":            {},
		"torn":             good[:len(good)/2],
		"two":              append(bytes.Clone(good), good...),
		"array":            []byte(`[]`),
		"version 2":        edit(`"v":1`, `"v":2`),
		"version 1.0":      edit(`"v":1`, `"v":1.0`),
		"version twice":    edit(`"v":1`, `"v":1,"v":1`),
		"case variant":     edit(`"tools":[`, `"Tools":[],"tools":[`),
		"no tools":         edit(`"tools":[`, `"tool":[`),
		"tools null":       edit(`"prompts":[`, `"prompts":null,"x":[`),
		"bad tool":         edit(`"name":"b.c"`, `"name":""`),
		"a tool twice":     edit(`"name":"b.c"`, `"name":"a"`),
		"bad schema":       edit(`"inputSchema":{}`, `"inputSchema":5`),
		"bad prompt":       edit(`{"name":"p"}`, `{}`),
		"bad date":         edit(`2026-01-02T`, `yesterday`),
		"bad ttl":          edit(`600000`, `"600000"`),
		"bad identity":     edit(`"cwd":"/srv"`, `"cwd":7`),
		"bad protocol":     edit(`"2025-11-25"`, `null`),
		"bad server info":  edit(`{"name":"s", "version":"1.0"}`, `"s"`),
		"bad capabilities": edit(`{"tools":{"listChanged":true}}`, `[]`),
		"bad refused":      edit(`[{"name":"tools[2]"`, `{"x":[{"name":"tools[2]"`),
		"invalid UTF-8":    edit(`"x<y"`, "\"x\xff\""),
		"too many tools":   edit(`{"inputSchema":{},"name":"b.c"}`, string(bytes.Join(asBytes(tools500(config.MaxTools)), []byte(",")))),
		"too large":        append(bytes.Clone(good), bytes.Repeat([]byte(" "), config.MaxCatalogBytes)...),
		"a NUL":            append(bytes.Clone(good), 0),
	}
	for name, data := range bad {
		now := &clock{fixtureAt}
		s, path := fixtureStore(t, fixtureID, now)
		put(t, path, data)
		for range 2 { // the second answer comes from memory
			if c, from := s.Read(fixtureID); c != nil || from != Missing {
				t.Errorf("%s: %s", name, from)
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, data) {
			t.Errorf("%s: the reader changed the file", name)
		}
		put(t, path, good)
		if _, from := s.Read(fixtureID); from != Cached {
			t.Errorf("%s: after a good write: %s", name, from)
		}
	}
}

func asBytes(list []json.RawMessage) [][]byte {
	var out [][]byte
	for _, item := range list {
		out = append(out, item)
	}
	return out
}

// C5: what others could have written is a miss.
func TestUnsafeFileIsAMiss(t *testing.T) {
	now := &clock{fixtureAt}
	s, path := fixtureStore(t, fixtureID, now)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, from := s.Read(fixtureID); from != Missing {
		t.Errorf("writable by others: %s", from)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, from := s.Read(fixtureID); from != Cached {
		t.Errorf("mended: %s", from)
	}
	s, path = fixtureStore(t, fixtureID, now)
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, from := s.Read(fixtureID); from != Missing {
		t.Errorf("in a directory writable by others: %s", from)
	}
	s, path = fixtureStore(t, fixtureID, now)
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, from := s.Read(fixtureID); from != Missing {
		t.Errorf("a directory: %s", from)
	}
}

// A catalog of a project's server may not come out of that project (C5).
func TestCacheInsideProjectIsAMiss(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := Identity{Project: root, Scope: "project", Source: filepath.Join(root, ".mcp.json"), Server: "srv", Digest: "sha256:1"}
	for dir, want := range map[string]Provenance{filepath.Join(root, "cache"): Missing, filepath.Join(t.TempDir(), "cache"): Cached} {
		s := NewStore(dir, nil)
		c, err := Build(id, time.Now(), Raw{Tools: tools500(1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(c); err != nil {
			t.Fatal(err)
		}
		if _, from := s.Read(id); from != want {
			t.Errorf("%s: %s, want %s", dir, from, want)
		}
	}
}

// MB-107, MB-111: a failed refresh leaves the last good list; another process's
// write is seen at the next Read; an unchanged file is parsed once.
func TestRefresh(t *testing.T) {
	now := &clock{fixtureAt}
	s, path := fixtureStore(t, fixtureID, now)
	first, _ := s.Read(fixtureID)
	if again, _ := s.Read(fixtureID); again != first {
		t.Error("an unchanged file was parsed twice")
	}
	if err := s.SetFailed(fixtureID, "timeout in page 2"); err != nil {
		t.Fatal(err)
	}
	if c, from := s.Read(fixtureID); c != first || from != Cached {
		t.Errorf("after a failed refresh: %s", from)
	}
	other := NewStore(filepath.Dir(path), now.Now)
	c, err := Build(fixtureID, fixtureAt, Raw{Tools: tools500(3)})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Write(c); err != nil {
		t.Fatal(err)
	}
	if c, from := s.Read(fixtureID); from != Cached || len(c.Parsed()) != 3 {
		t.Errorf("after another process wrote: %s", from)
	}
	if _, failed := s.Failed(fixtureID); failed {
		t.Error("a written catalog left the failure behind")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if c, from := s.Read(fixtureID); c != nil || from != Missing {
		t.Errorf("after the file went: %s", from)
	}
}

// MB-057: a failure is remembered five minutes, for that declaration.
func TestFailed(t *testing.T) {
	data, err := os.ReadFile("testdata/v1.failed")
	if err != nil {
		t.Fatal(err)
	}
	now := &clock{fixtureAt}
	s, _ := fixtureStore(t, fixtureID, now)
	if _, ok := s.Failed(fixtureID); ok {
		t.Error("failed before it failed")
	}
	put(t, s.failedPath(fixtureID), data)
	changed := fixtureID
	changed.Digest = "sha256:2"
	for _, tt := range []struct {
		id   Identity
		age  time.Duration
		want bool
	}{
		{fixtureID, 0, true},
		{fixtureID, 5*time.Minute - 1, true},
		{fixtureID, 5 * time.Minute, false},
		{fixtureID, -1, false},
		{changed, 0, false},
	} {
		now.now = fixtureAt.Add(tt.age)
		why, ok := s.Failed(tt.id)
		if ok != tt.want || ok && why != "spawn: exit status 7" {
			t.Errorf("%s after %s: %v, %q", tt.id.Digest, tt.age, ok, why)
		}
	}
	now.now = fixtureAt
	if err := s.SetFailed(fixtureID, "spawn: exit status 7"); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(s.failedPath(fixtureID)); !bytes.Equal(after, data) {
		t.Errorf("written as\n%s", after)
	}
	for name, bad := range map[string]string{"torn": string(data[:20]), "version": strings.Replace(string(data), `"v":1`, `"v":2`, 1), "empty": ""} {
		put(t, s.failedPath(fixtureID), []byte(bad))
		if _, ok := s.Failed(fixtureID); ok {
			t.Errorf("%s: counts as failed", name)
		}
	}
}

// What failed is told to people after it has stopped to count.
func TestLastFailure(t *testing.T) {
	now := &clock{fixtureAt}
	s, _ := fixtureStore(t, fixtureID, now)
	if _, ok := s.LastFailure(fixtureID); ok {
		t.Error("a failure before any")
	}
	if err := s.SetFailed(fixtureID, "x"); err != nil {
		t.Fatal(err)
	}
	now.now = fixtureAt.Add(time.Hour)
	if f, ok := s.LastFailure(fixtureID); !ok || f != (Failure{At: fixtureAt, Why: "x"}) {
		t.Errorf("%+v %v", f, ok)
	}
	other := fixtureID
	other.Digest = "sha256:2"
	if _, ok := s.LastFailure(other); ok {
		t.Error("the failure of another declaration")
	}
	now.now = fixtureAt.Add(-time.Hour)
	if _, ok := s.LastFailure(fixtureID); ok {
		t.Error("a failure of the future")
	}
}

// All is what was ever recorded; what is damaged is not there.
func TestAll(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "c"), nil)
	if got := s.All(""); got != nil {
		t.Errorf("%v", got)
	}
	for _, id := range []string{"a", "b"} {
		c, err := Build(Identity{Server: id, Project: "/p/" + id}, fixtureAt, Raw{Noise: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(c); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(s.dir, "bad.json"), []byte("{"))
	put(t, filepath.Join(s.dir, "x.failed"), []byte("{}"))
	got := s.All("")
	if len(got) != 2 || got[0].Noise != 3 || got[1].Noise != 3 {
		t.Errorf("%v", got)
	}
}

func TestFailureIsBounded(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "c"), nil)
	if err := s.SetFailed(testID, strings.Repeat("é", 5000)+"\xff"); err != nil {
		t.Fatal(err)
	}
	why, ok := s.Failed(testID)
	if !ok || len(why) > config.MaxFailureText || !strings.HasPrefix(why, "éé") {
		t.Errorf("%v, %d bytes", ok, len(why))
	}
}

// C6: where nothing can be written the error comes back and reading is a miss.
func TestUnwritablePlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStore(filepath.Join(file, "catalogs"), nil)
	if err := s.Write(build(t, `{"name":"a"}`)); err == nil {
		t.Error("written below a file")
	}
	if err := s.SetFailed(testID, "x"); err == nil {
		t.Error("written below a file")
	}
	if c, from := s.Read(testID); c != nil || from != Missing {
		t.Errorf("%s", from)
	}
}

// A Store serves all sessions of a process while others write.
func TestStoreConcurrently(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "c"), nil)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() { // ends after its twenty writes
			for i := range 20 {
				c, err := Build(testID, time.Now().Add(-time.Second), Raw{Tools: tools500(1 + w*20 + i)})
				if err == nil {
					err = s.Write(c)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() { // ends after its hundred reads
			for range 100 {
				if c, from := s.Read(testID); from != Missing && (len(c.Parsed()) == 0 || from != Cached) {
					t.Errorf("half a catalog: %s", from)
				}
			}
		})
	}
	all.Wait()
}

func TestStoreMemoryIsBounded(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "c"), nil)
	for i := range maxSeen + 5 {
		id := testID
		id.Server = strings.Repeat("x", i+1)
		put(t, s.path(id), []byte("no catalog"))
		s.Read(id)
	}
	if len(s.seen) > maxSeen {
		t.Errorf("%d files in memory", len(s.seen))
	}
}

func TestIdentityOf(t *testing.T) {
	srv := &config.Server{ID: "a", Original: "A", Scope: config.Project, Source: "/p/.mcp.json", Project: "/p", CWD: "sub", Digest: "sha256:x"}
	want := Identity{Project: "/p", Scope: "project", Source: "/p/.mcp.json", Server: "a", Digest: "sha256:x", CWD: "sub"}
	if got := IdentityOf(srv); got != want {
		t.Errorf("%+v", got)
	}
}

// A server that was too slow to be waited for has not failed; a failure and a
// list take the place of that, and so does time.
func TestSlow(t *testing.T) {
	now := &clock{fixtureAt}
	s, _ := fixtureStore(t, fixtureID, now)
	id := fixtureID
	c, err := Build(id, fixtureAt, Raw{Tools: tools500(1)})
	if err != nil {
		t.Fatal(err)
	}
	want := func(slow, failed bool) {
		t.Helper()
		_, got := s.Failed(id)
		if s.Slow(id) != slow || got != failed {
			t.Errorf("slow %v, failed %v; want %v, %v", s.Slow(id), got, slow, failed)
		}
	}
	set := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want(false, false)
	set(s.SetSlow(id, "5s"))
	want(true, false)
	set(s.SetFailed(id, "exit status 1"))
	want(false, true)
	set(s.SetSlow(id, "5s"))
	now.now = fixtureAt.Add(config.FailedDiscovery)
	want(false, false)
	set(s.SetSlow(id, "5s"))
	set(s.Write(c))
	want(false, false)
}
