package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"postern/pkg/wire"
)

// TestCorpus sends recorded tools/list answers of real servers through one
// gateway, each by a server process of its own, and compares every definition
// byte for byte apart from its name and the repair of C72 (R4, R60).
// POSTERN_CORPUS names a folder with one NAME.json a server.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("POSTERN_CORPUS")
	if dir == "" {
		t.Skip("POSTERN_CORPUS names no folder of recorded catalogs")
	}
	recorded, conf, files := corpus(t, dir)
	w := newWorld(t, conf, files)
	a := w.connect(Options{ListWait: time.Minute})
	a.Initialize()
	var got [][]byte
	for cursor := "{}"; cursor != ""; {
		page := a.Ask("tools/list", cursor)
		got = append(got, elementsOf(t, page, "tools")...)
		cursor = ""
		var span [1]wire.Span
		if err := wire.Lookup(page, []string{"nextCursor"}, span[:]); err == nil && span[0].Ok() {
			cursor = `{"cursor":` + string(span[0].Of(page)) + `}`
		}
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)
	names, repaired := map[string]bool{}, 0
	for _, want := range recorded {
		if len(got) == 0 {
			t.Fatalf("%s is missing, and all after it", want.where)
		}
		exposed, rest := cutName(t, got[0])
		_, original := cutName(t, want.raw)
		if !name.MatchString(exposed) || names[exposed] {
			t.Errorf("%s: name %q", want.where, exposed)
		}
		names[exposed] = true
		if !bytes.Equal(rest, original) {
			repaired++
			checkRepair(t, want.where, rest, original)
		}
		got = got[1:]
	}
	t.Logf("%d servers, %d tools, %d repaired", len(files), len(recorded), repaired)
}

type recordedTool struct {
	where string
	raw   []byte
}

// corpus reads the folder: the tools in order, a configuration that declares
// one fake server a file, and the files those servers list.
func corpus(t *testing.T, dir string) (tools []recordedTool, conf string, files map[string]string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	var b strings.Builder
	b.WriteString("version: 1\nservers:\n")
	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), ".json")
		if strings.Contains(id, ".") { // initialize results, prompts, …
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list [][]byte
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				m, err := wire.Parse(line)
				if err != nil {
					t.Fatalf("%s: %v", id, err)
				}
				list = append(list, elementsOf(t, m.ResultBytes(), "tools")...)
			}
		}
		for i, raw := range list {
			tools = append(tools, recordedTool{fmt.Sprintf("%s, tool %d", id, i), raw})
		}
		files[id+".json"] = "[" + string(bytes.Join(list, []byte(","))) + "]"
		fmt.Fprintf(&b, "  %s: {command: $FAKE, args: [-tools, $WORK/%s.json], start_timeout: 60s, max_message_bytes: 16MiB}\n", id, id)
	}
	return tools, b.String() + allowAll, files
}

func elementsOf(t *testing.T, obj []byte, member string) (out [][]byte) {
	t.Helper()
	var span [1]wire.Span
	if err := wire.Lookup(obj, []string{member}, span[:]); err != nil {
		t.Fatal(err)
	}
	list := span[0].Of(obj)
	if err := wire.EachElement(list, func(v wire.Span) bool {
		out = append(out, v.Of(list))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// cutName takes the value of name out of a definition.
func cutName(t *testing.T, raw []byte) (name string, rest []byte) {
	t.Helper()
	var span [1]wire.Span
	if err := wire.Lookup(raw, []string{"name"}, span[:]); err != nil {
		t.Fatal(err)
	}
	name, err := wire.Unquote(span[0].Of(raw))
	if err != nil {
		t.Fatal(err)
	}
	return name, wire.Splice(raw, wire.Edit{Span: span[0]})
}

// checkRepair wants nothing more than "type":"object" at the root of the
// input schema.
func checkRepair(t *testing.T, where string, got, want []byte) {
	t.Helper()
	var g, o map[string]any
	if json.Unmarshal(bytes.Replace(got, []byte(`"name":`), []byte(`"name":""`), 1), &g) != nil ||
		json.Unmarshal(bytes.Replace(want, []byte(`"name":`), []byte(`"name":""`), 1), &o) != nil {
		t.Fatalf("%s: no JSON", where)
	}
	schema, ok := o["inputSchema"].(map[string]any)
	if !ok || schema["type"] != nil || len(got)-len(want) > len(`"type":"object",`) {
		t.Errorf("%s: changed without need:\n got %.300s\nwant %.300s", where, got, want)
		return
	}
	schema["type"] = "object"
	if !reflect.DeepEqual(g, o) {
		t.Errorf("%s: changed more than the type:\n got %.300s\nwant %.300s", where, got, want)
	}
}
