package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"postern/pkg/wire"
)

// FuzzDecode: any file is a catalog by the rules or none, and what is read is
// written in a form that reads the same.
func FuzzDecode(f *testing.F) {
	good, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n ")))
	f.Add(bytes.Replace(good, []byte(`"v":1`), []byte(`"\u0076":1`), 1))
	f.Add([]byte(`{"v":1,"tools":[]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		if err != nil {
			return
		}
		if len(c.Parsed()) != len(c.Tools) {
			t.Fatalf("%d tools, %d parsed", len(c.Tools), len(c.Parsed()))
		}
		for _, tool := range c.Parsed() {
			checkTool(t, &tool)
		}
		written := c.encode()
		again, err := decode(written)
		if err != nil {
			t.Fatalf("%v in what was written: %s", err, written)
		}
		if !bytes.Equal(again.encode(), written) {
			t.Fatalf("read again as\n%s\nfrom\n%s", again.encode(), written)
		}
	})
}

// FuzzTool: whatever a server puts into its list, its other tools stay, and
// what is taken is shown as a tool.
func FuzzTool(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","inputSchema":{"type":"object"}}`, ` {"inputSchema":{ },"name":"\u0061"}`, `{"name":"a"}`, `{"name":"a","inputSchema":null}`,
		`{"name":"a","inputSchema":{"type":["null","object"]}}`, `{"name":"x","Name":"y"}`, `{"name":7}`, `[]`, ``, "{\n\"name\":\"a\"}",
		`{"name":"a","inputSchema":{"type":"object","x":1,"x":2},"annotations":{"readOnlyHint":true}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		neighbour := json.RawMessage(`{"name":"neighbour","inputSchema":{"type":"object"}}`)
		c, err := Build(testID, time.Now(), Raw{Tools: []json.RawMessage{neighbour, bytes.Clone(sent)}})
		if err != nil {
			t.Fatal(err)
		}
		if c.Parsed()[0].Name != "neighbour" || len(c.Parsed())+len(c.Refused) != 2 {
			t.Fatalf("%d tools, refused %v", len(c.Parsed()), c.Refused)
		}
		for _, tool := range c.Parsed()[1:] {
			if !bytes.Equal(tool.Raw, wire.OneLine(sent)) {
				t.Fatalf("sent %q, kept %q", sent, tool.Raw)
			}
			checkTool(t, &tool)
		}
		if _, err := decode(c.encode()); err != nil {
			t.Fatalf("%v: %s", err, c.encode())
		}
	})
}

// checkTool is what holds for every tool that was taken.
func checkTool(t *testing.T, tool *Tool) {
	t.Helper()
	exposed := Exposed("srv", tool.Name, 50)
	shown := tool.WithName(exposed)
	var def struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal(shown, &def); err != nil || def.Name != exposed || bytes.ContainsAny(shown, "\r\n") {
		t.Fatalf("%v: %q shown as %q", err, tool.Raw, shown)
	}
	var root struct{ Type any }
	if err := json.Unmarshal(tool.InputSchema, &root); err != nil || root.Type != "object" || !bytes.Equal(def.InputSchema, tool.InputSchema) {
		t.Fatalf("%v: schema %q of %q", err, tool.InputSchema, tool.Raw)
	}
	if !tool.Repaired {
		back := replace(shown, topLevel(t, shown)["name"], topLevel(t, tool.Raw)["name"].of(tool.Raw))
		if !bytes.Equal(back, tool.Raw) {
			t.Fatalf("%q shown as %q", tool.Raw, shown)
		}
	}
	if tool.Digest() == "" || tool.Name == "" {
		t.Fatalf("%+v", tool)
	}
}
