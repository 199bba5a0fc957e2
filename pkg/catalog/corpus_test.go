package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// TestCorpus runs the recorded lists of real servers through everything this
// package does to them. POSTERN_CORPUS names a folder of files NAME.json, each
// with one tools/list response a line.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("POSTERN_CORPUS")
	if dir == "" {
		t.Skip("POSTERN_CORPUS is not set: no recorded lists of real servers to check")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	servers, count, repaired := 0, 0, 0
	owner := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.Contains(name, ".") {
			continue // another list of the same server
		}
		servers++
		c := checkRecorded(t, name, recordedTools(t, file))
		for _, tool := range c.Parsed() {
			count++
			if tool.Repaired {
				repaired++
			}
			exposed := Exposed(name, tool.Name, config.DefaultNameMax)
			if other := owner[exposed]; other != "" {
				t.Errorf("%s/%s and %s are both exposed as %s", name, tool.Name, other, exposed)
			}
			owner[exposed] = name + "/" + tool.Name
			checkShown(t, &tool, exposed)
		}
	}
	if servers == 0 {
		t.Fatalf("no NAME.json in %s", dir)
	}
	t.Logf("%d servers, %d tools, %d repaired", servers, count, repaired)
}

// recordedTools is the tools of all responses in a file, as bytes of it.
func recordedTools(t *testing.T, file string) []json.RawMessage {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var tools []json.RawMessage
	r := wire.NewReader(f, 16<<20)
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tools
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		m, err := wire.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list := topLevel(t, m.ResultBytes())["tools"].of(m.ResultBytes())
		if err := wire.EachElement(list, func(v wire.Span) bool {
			tools = append(tools, v.Of(list))
			return true
		}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// checkRecorded builds, writes and reads a catalog and expects the very bytes.
func checkRecorded(t *testing.T, name string, sent []json.RawMessage) *Catalog {
	t.Helper()
	id := Identity{Scope: "user", Source: "/config/mcp.yaml", Server: name, Digest: "sha256:0"}
	now := time.Now()
	built, err := Build(id, now, Raw{Tools: sent, Era: "legacy"})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, r := range built.Refused {
		t.Errorf("%s: %s is refused: %s", name, r.Name, r.Why)
	}
	store := NewStore(filepath.Join(t.TempDir(), "catalogs"), func() time.Time { return now })
	if err := store.Write(built); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c, from := store.Read(id)
	if from != Cached || len(c.Parsed()) != len(sent) {
		t.Fatalf("%s: read as %s", name, from)
	}
	for i, tool := range c.Parsed() {
		if !bytes.Equal(tool.Raw, sent[i]) || !bytes.Equal(c.Tools[i], sent[i]) {
			t.Errorf("%s: %s came back with other bytes", name, tool.Name)
		}
		if tool.Digest() != built.Parsed()[i].Digest() {
			t.Errorf("%s: %s came back with another digest", name, tool.Name)
		}
	}
	return c
}

// checkShown puts the original name back into the shown definition, and takes
// out what was mended; nothing but the sent bytes may remain (R4).
func checkShown(t *testing.T, tool *Tool, exposed string) {
	t.Helper()
	checkTrimmed(t, tool, exposed)
	shown := tool.WithName(exposed)
	members := topLevel(t, shown)
	var name string
	if err := json.Unmarshal(members["name"].of(shown), &name); err != nil || name != exposed {
		t.Errorf("%s is shown as %q, not %q", tool.Name, name, exposed)
	}
	var root struct{ Type any }
	if err := json.Unmarshal(members["inputSchema"].of(shown), &root); err != nil || root.Type != "object" {
		t.Errorf("%s is shown with a schema of type %v", tool.Name, root.Type)
	}
	sentName := topLevel(t, tool.Raw)["name"].of(tool.Raw)
	back := replace(shown, members["name"], sentName)
	if tool.Repaired {
		at := topLevel(t, back)["inputSchema"]
		if mended := at.of(back); bytes.HasPrefix(mended, []byte(`{"type":"object",`)) {
			back = replace(back, at, append([]byte("{"), mended[len(`{"type":"object",`):]...))
		}
	}
	if !bytes.Equal(back, tool.Raw) {
		t.Errorf("%s is shown with other bytes:\n sent %s\nshown %s", tool.Name, tool.Raw, shown)
	}
}

// span and topLevel find members with encoding/json, so that the tests do not
// rest on the scanner that the package itself uses.
type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

func replace(b []byte, at span, with []byte) []byte {
	out := append([]byte{}, b[:at.start]...)
	return append(append(out, with...), b[at.end:]...)
}

func topLevel(t *testing.T, obj []byte) map[string]span {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(obj))
	if _, err := d.Token(); err != nil {
		t.Fatalf("%v in %s", err, obj)
	}
	out := map[string]span{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, obj)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, obj)
		}
		end := int(d.InputOffset())
		out[key.(string)] = span{end - len(value), end}
	}
	return out
}

// checkTrimmed wants a cut description to be the only difference (R63).
func checkTrimmed(t *testing.T, tool *Tool, exposed string) {
	t.Helper()
	whole, short := tool.WithName(exposed), tool.Shown(exposed, config.DefaultDescriptionChars)
	text := topLevel(t, short)["description"]
	if n := len([]rune(Shorten(tool.Description, config.DefaultDescriptionChars))); n > config.DefaultDescriptionChars {
		t.Errorf("%s: %d characters of description", tool.Name, n)
	}
	if tool.Description != "" && !bytes.Equal(replace(short, text, topLevel(t, whole)["description"].of(whole)), whole) {
		t.Errorf("%s: more than the description was cut", tool.Name)
	}
}
