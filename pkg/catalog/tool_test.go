package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

var testID = Identity{Scope: "user", Source: "/config/mcp.yaml", Server: "srv", Digest: "sha256:1"}

func build(t testing.TB, tools ...string) *Catalog {
	t.Helper()
	var raw Raw
	for _, tool := range tools {
		raw.Tools = append(raw.Tools, json.RawMessage(tool))
	}
	c, err := Build(testID, time.Now(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func one(t testing.TB, tool string) *Tool {
	t.Helper()
	c := build(t, tool)
	if len(c.Parsed()) != 1 {
		t.Fatalf("%s is refused: %v", tool, c.Refused)
	}
	return &c.Parsed()[0]
}

// C72 and R4: what is shown, to the byte.
func TestWithName(t *testing.T) {
	tests := []struct{ why, sent, exposed, shown string }{
		{
			"only the name", `{"name":"a","inputSchema":{"type":"object"}}`, "s__a",
			`{"name":"s__a","inputSchema":{"type":"object"}}`,
		},
		{
			"white space, order, unknown members, numbers",
			`{ "x-vendor" : [1.0, 1e400, 9007199254740993, -0] ,"inputSchema":{"type":"object","properties":{}} , "name" : "a" , "description":null}`, "b",
			`{ "x-vendor" : [1.0, 1e400, 9007199254740993, -0] ,"inputSchema":{"type":"object","properties":{}} , "name" : "b" , "description":null}`,
		},
		{
			"the same name keeps its spelling", `{"name":"\u0061","inputSchema":{"type":"object"}}`, "a",
			`{"name":"\u0061","inputSchema":{"type":"object"}}`,
		},
		{
			"names elsewhere stay", `{"title":"name","annotations":{"name":"a"},"name":"a","inputSchema":{"type":"object","properties":{"name":{"const":"a"}}}}`, "z",
			`{"title":"name","annotations":{"name":"a"},"name":"z","inputSchema":{"type":"object","properties":{"name":{"const":"a"}}}}`,
		},
		{
			"type missing", `{"inputSchema":{"$schema":"x"},"name":"a"}`, "b",
			`{"inputSchema":{"type":"object","$schema":"x"},"name":"b"}`,
		},
		{
			"type missing, name first", `{"name":"a","inputSchema":{ "properties":{"type":{"type":"string"}}}}`, "b",
			`{"name":"b","inputSchema":{"type":"object", "properties":{"type":{"type":"string"}}}}`,
		},
		{
			"type missing, name kept", `{"name":"a","inputSchema":{}}`, "a",
			`{"name":"a","inputSchema":{"type":"object"}}`,
		},
		{
			"type missing in an empty schema with space", `{"name":"a","inputSchema":{ }}`, "a",
			`{"name":"a","inputSchema":{"type":"object" }}`,
		},
		{
			"schema missing", ` {"name":"a"}`, "b",
			` {"inputSchema":{"type":"object"},"name":"b"}`,
		},
		{"schema null", `{"inputSchema":null,"name":"a"}`, "b", `{"inputSchema":{"type":"object"},"name":"b"}`},
		{"schema true", `{"name":"a","inputSchema":true}`, "b", `{"name":"b","inputSchema":{"type":"object"}}`},
		{
			"type with null", `{"name":"a","inputSchema":{"a":1,"type":["object","null"],"b":2}}`, "b",
			`{"name":"b","inputSchema":{"a":1,"type":"object","b":2}}`,
		},
		{
			"type escaped", `{"name":"a","inputSchema":{"type":"\u006fbject"}}`, "b",
			`{"name":"b","inputSchema":{"type":"\u006fbject"}}`,
		},
		{
			"MB-119 references", `{"name":"a","inputSchema":{"type":"object","$defs":{"P":{"$ref":"https://example.invalid/x.json"}},"definitions":{},"allOf":[{"$ref":"#/$defs/P","x":1}]}}`, "b",
			`{"name":"b","inputSchema":{"type":"object","$defs":{"P":{"$ref":"https://example.invalid/x.json"}},"definitions":{},"allOf":[{"$ref":"#/$defs/P","x":1}]}}`,
		},
		{
			"MB-121 root combinators", `{"name":"a","inputSchema":{"type":"object","anyOf":[{"required":["id"]}],"if":{},"then":{}}}`, "b",
			`{"name":"b","inputSchema":{"type":"object","anyOf":[{"required":["id"]}],"if":{},"then":{}}}`,
		},
		{
			"MB-122 pattern dialects", `{"name":"a","inputSchema":{"type":"object","properties":{"p":{"pattern":"^(?!tmp-)[\\p{L}]+\\cA["}}}}`, "b",
			`{"name":"b","inputSchema":{"type":"object","properties":{"p":{"pattern":"^(?!tmp-)[\\p{L}]+\\cA["}}}}`,
		},
		{
			"output schema of any type", `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`, "b",
			`{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`,
		},
		{
			"a member twice further down", `{"name":"a","inputSchema":{"type":"object","x":1,"x":2}}`, "b",
			`{"name":"b","inputSchema":{"type":"object","x":1,"x":2}}`,
		},
	}
	for _, tt := range tests {
		tool := one(t, tt.sent)
		before := bytes.Clone(tool.Raw)
		got := string(tool.WithName(tt.exposed))
		if got != tt.shown {
			t.Errorf("%s:\n got %s\nwant %s", tt.why, got, tt.shown)
		}
		if !bytes.Equal(before, tool.Raw) {
			t.Errorf("%s: the sent bytes were changed", tt.why)
		}
		if schema := topLevel(t, []byte(got))["inputSchema"].of([]byte(got)); !bytes.Equal(schema, tool.InputSchema) {
			t.Errorf("%s: InputSchema is %s, shown is %s", tt.why, tool.InputSchema, schema)
		}
	}
}

// MB-117, R14: one bad tool is refused by name or mended, its neighbours stay.
func TestOneBadTool(t *testing.T) {
	big := `{"type":"object","x":"` + strings.Repeat("y", config.MaxSchemaBytes) + `"}`
	tests := []struct{ bad, name, why string }{
		{`5`, "tools[2]", "no JSON object"},
		{`null`, "tools[2]", "no JSON object"},
		{`{"description":"x"}`, "tools[2]", "it has no name"},
		{`{"name":""}`, "tools[2]", "it has no name"},
		{`{"name":null}`, "tools[2]", "its name is no string"},
		{`{"name":7}`, "tools[2]", "its name is no string"},
		{`{"name":"\ud800"}`, "tools[2]", "its name is no string"},
		{`{"name":"a\u0000b"}`, "tools[2]", "its name has control characters"},
		{`{"name":"` + strings.Repeat("x", 257) + `"}`, "tools[2]", "its name has 257 bytes"},
		{`{"name":"x","name":"y"}`, "tools[2]", "there twice"},
		{`{"name":"x","Name":"y"}`, "tools[2]", "another case"},
		{`{"name":"x","inputSchema":{"type":"object"},"inputschema":{}}`, "x", "another case"},
		{`{"name":"x","inputSchema":"object"}`, "x", "no JSON object"},
		{`{"name":"x","inputSchema":5}`, "x", "no JSON object"},
		{`{"name":"x","inputSchema":false}`, "x", "no JSON object"},
		{`{"name":"x","inputSchema":[]}`, "x", "no JSON object"},
		{`{"name":"x","inputSchema":{"type":"string"}}`, "x", "allows no object"},
		{`{"name":"x","inputSchema":{"type":["string","null"]}}`, "x", "allows no object"},
		{`{"name":"x","inputSchema":{"type":null}}`, "x", "allows no object"},
		{`{"name":"x","inputSchema":{"type":"object","Type":"string"}}`, "x", "another case"},
		{`{"name":"x","inputSchema":` + big + `}`, "x", "a schema of"},
		{`{"name":"x","inputSchema":{"type":"object"},"outputSchema":` + big + `}`, "x", "a schema of"},
		{`{"name":"good1","inputSchema":{"type":"object"}}`, "good1", "an earlier tool has the same name"},
		{`{"name":"x"`, "tools[2]", ""},
		{"{\"name\":\"x\xff\"}", "tools[2]", ""},
	}
	good := func(i int) string { return fmt.Sprintf(`{"name":"good%d","inputSchema":{"type":"object"}}`, i) }
	for _, tt := range tests {
		c := build(t, good(1), good(2), tt.bad, good(3), good(4))
		if names := toolNames(c); !slices.Equal(names, []string{"good1", "good2", "good3", "good4"}) {
			t.Errorf("%.60s: left are %v", tt.bad, names)
		}
		if len(c.Tools) != 4 {
			t.Errorf("%.60s: %d raw tools", tt.bad, len(c.Tools))
		}
		if len(c.Refused) != 1 || c.Refused[0].Name != tt.name || !strings.Contains(c.Refused[0].Why, tt.why) {
			t.Errorf("%.60s: refused as %v, want %s: %s", tt.bad, c.Refused, tt.name, tt.why)
		}
	}
}

func toolNames(c *Catalog) []string {
	var names []string
	for _, t := range c.Parsed() {
		names = append(names, t.Name)
	}
	return names
}

// R51, MB-127: only the literal true is a hint.
func TestReadOnlyHint(t *testing.T) {
	for annotations, want := range map[string]bool{
		`{"readOnlyHint":true}`:                        true,
		`{"readOnlyHint":true,"destructiveHint":true}`: true,
		`{"readOnlyHint":false}`:                       false,
		`{"readOnlyHint":"true"}`:                      false,
		`{"readOnlyHint":1}`:                           false,
		`{"readOnlyHint":null}`:                        false,
		`{"readonlyhint":true}`:                        false,
		`{"readOnlyHint":true,"readOnlyHint":false}`:   false,
		`{"readOnlyHint":true,"readonlyHint":false}`:   false,
		`{}`:                      false,
		`null`:                    false,
		`true`:                    false,
		`[{"readOnlyHint":true}]`: false,
	} {
		tool := one(t, `{"name":"a","inputSchema":{"type":"object"},"annotations":`+annotations+`}`)
		if tool.ReadOnly != want {
			t.Errorf("annotations %s: read only is %v", annotations, tool.ReadOnly)
		}
	}
	if one(t, `{"name":"a","readOnlyHint":true,"inputSchema":{"type":"object"}}`).ReadOnly {
		t.Error("a hint outside annotations was believed")
	}
}

func TestTexts(t *testing.T) {
	tool := one(t, `{"name":"a","title":null,"description":"d\u00e9","inputSchema":{"type":"object"},"annotations":{"title":"T"}}`)
	if tool.Title != "T" || tool.Description != "dé" || tool.OutputSchema != nil || tool.Repaired {
		t.Errorf("%+v", tool)
	}
	tool = one(t, `{"name":"a","title":"own","description":7,"annotations":{"title":"T"},"outputSchema":{"x":1}}`)
	if tool.Title != "own" || tool.Description != "" || string(tool.OutputSchema) != `{"x":1}` || !tool.Repaired {
		t.Errorf("%+v", tool)
	}
}

// C53, MB-202: the digest covers the whole definition and nothing but what it
// says.
func TestDigest(t *testing.T) {
	const base = `{"name":"a","description":"d","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740993}}`
	same := []string{
		base,
		`{"_meta":{"k":9007199254740993},"inputSchema":{"x":1,"type":"object"},"description":"d","name":"a"}`,
		` { "name" : "\u0061" , "description":"d","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740993}}`,
	}
	other := []string{
		`{"name":"b","description":"d","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740993}}`,
		`{"name":"a","description":"D","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740993}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","x":1.5},"_meta":{"k":9007199254740993}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740992}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","x":1.0},"_meta":{"k":9007199254740993},"new":null}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","x":1.0,"y":1,"y":2},"_meta":{"k":9007199254740993}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","x":1.0,"y":2,"y":1},"_meta":{"k":9007199254740993}}`,
	}
	want := one(t, base).Digest()
	if !strings.HasPrefix(want, "sha256:") || len(want) != len("sha256:")+64 {
		t.Errorf("digest %q", want)
	}
	for _, tool := range same {
		if got := one(t, tool).Digest(); got != want {
			t.Errorf("%s has another digest", tool)
		}
	}
	seen := map[string]string{want: base}
	for _, tool := range other {
		got := one(t, tool).Digest()
		if seen[got] != "" {
			t.Errorf("%s has the digest of %s", tool, seen[got])
		}
		seen[got] = tool
	}
}

// Only a server that says so needs a task for a tool; what cannot be read says
// nothing.
func TestTaskSupport(t *testing.T) {
	for execution, want := range map[string]bool{
		`{"taskSupport":"required"}`:                           true,
		`{"x":1,"taskSupport":"req\u0075ired"}`:                true,
		`{"taskSupport":"optional"}`:                           false,
		`{"taskSupport":"Required"}`:                           false,
		`{"taskSupport":true}`:                                 false,
		`{"taskSupport":"required","taskSupport":"forbidden"}`: false,
		`{"tasksupport":"required"}`:                           false,
		`{}`:                                                   false,
		`null`:                                                 false,
		`"required"`:                                           false,
	} {
		if tool := one(t, `{"name":"a","inputSchema":{"type":"object"},"execution":`+execution+`}`); tool.TaskOnly != want {
			t.Errorf("execution %s: a task is needed: %v", execution, tool.TaskOnly)
		}
	}
	if one(t, `{"name":"a","taskSupport":"required","inputSchema":{"type":"object"}}`).TaskOnly {
		t.Error("what stands outside execution was believed")
	}
}
