package catalog

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

// R65: names are taken apart at case, digits and _ - . / before lower-casing.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"read_file":          "read file",
		"readFile":           "read file readfile",
		"HTTPServer2go":      "http server 2 go httpserver2go",
		"issues.list/all-of": "issues list all of",
		"S3":                 "s 3 s3",
		"a--b__c":            "a b c",
		"ABC":                "abc",
		"XMLHttp":            "xml http xmlhttp",
		"größeÄndern":        "größe ändern größeändern",
		"日本語 text":           "日本語 text",
		"don't":              "don t",
	} {
		var got []string
		words(text, func(w string) bool { got = append(got, w); return true })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// searchable is one catalog with its names as shown; hidden ones are "".
func searchable(t testing.TB, server string, hidden string, tools ...string) Part {
	t.Helper()
	var raw []json.RawMessage
	for _, tool := range tools {
		raw = append(raw, json.RawMessage(tool))
	}
	c, err := Build(Identity{Server: server}, time.Unix(0, 0), Raw{Tools: raw})
	if err != nil {
		t.Fatal(err)
	}
	p := Part{Index: c.Index()}
	for _, tool := range c.Parsed() {
		name := server + "__" + tool.Name
		if tool.Name == hidden {
			name = ""
		}
		p.Names = append(p.Names, name)
	}
	return p
}

func named1(name, description string) string {
	return `{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}`
}

func names(hits []Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Name)
	}
	return strings.Join(out, " ")
}

// R65 and MB-115: every field counts, the name most; the last word may be a
// beginning; an exact name is first; equals are in order of names; a server's
// name counts, an empty description is fine, and a word that all have finds all.
func TestSearch(t *testing.T) {
	parts := []Part{
		searchable(t, "mcp-github", "secret",
			named1("search", ""), named1("create_issue", "Open a new issue in a repository."), named1("list_issues", "All issues."), named1("secret", "issue repository")),
		searchable(t, "jira", "", named1("search", ""),
			`{"name":"run","title":"Execute JQL","description":"x","inputSchema":{"type":"object","properties":{"jql":{},"maxResults":{}}}}`),
	}
	for query, want := range map[string]string{
		"jira search":        "jira__search mcp-github__search jira__run",
		"github":             "mcp-github__create_issue mcp-github__list_issues mcp-github__search",
		"mcp":                "mcp-github__create_issue mcp-github__list_issues mcp-github__search",
		"search":             "jira__search mcp-github__search",
		"JQL":                "jira__run",
		"max results":        "jira__run",
		"repos":              "mcp-github__create_issue",
		"create_issue":       "mcp-github__create_issue mcp-github__list_issues",
		"jira__run":          "jira__run jira__search",
		"createissue":        "mcp-github__create_issue",
		"execute":            "jira__run",
		"secret":             "",
		"nothing like it":    "",
		"":                   "",
		"...":                "",
		"issue":              "mcp-github__create_issue mcp-github__list_issues",
		"issue issue issue ": "mcp-github__create_issue mcp-github__list_issues",
	} {
		if got := names(Search(parts, query)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

// What a caller does not see changes neither what is found nor its order.
func TestSearchIgnoresHiddenTools(t *testing.T) {
	tools := []string{named1("alpha_beta", "alpha"), named1("beta", "alpha beta gamma"), named1("gamma", "alpha")}
	more := append(slices.Clone(tools), named1("secret", "alpha beta gamma"))
	tools = append(tools, named1("one_uno", ""), named1("two_dos", ""))
	more = append(more, named1("one_uno", ""), named1("two_dos", ""))
	more[3] = named1("secret", "alpha beta gamma uno one")
	for _, query := range []string{"alpha beta", "gamma", "beta", "alph", "one two", "uno dos"} {
		with := names(Search([]Part{searchable(t, "x", "secret", more...)}, query))
		without := names(Search([]Part{searchable(t, "x", "", tools...)}, query))
		if with != without {
			t.Errorf("%q: %s with a hidden tool, %s without", query, with, without)
		}
	}
}

// A query and a definition of any size are answered in bounded time.
func TestSearchIsBounded(t *testing.T) {
	long := strings.Repeat("word ", 50_000)
	var tools []string
	for i := range 200 {
		tools = append(tools, named1("tool"+strings.Repeat("x", i+1), long[:20_000]))
	}
	p := searchable(t, "x", "", tools...)
	if n := len(queryWords(strings.Repeat("a1b2c3d4", 10_000))); n > config.MaxQueryWords {
		t.Errorf("%d words of a query", n)
	}
	if got := Search([]Part{p}, long); len(got) != 200 {
		t.Errorf("%d tools", len(got))
	}
}

func FuzzSearch(f *testing.F) {
	for _, query := range []string{"", "issue", "create_iss", "HTTPServer", "\xff\xfe", "İ ı ß ſ", "a\u0301b", strings.Repeat("x ", 3000), "jira__run"} {
		f.Add(query)
	}
	parts := []Part{
		searchable(f, "mcp-github", "secret", named1("search", ""), named1("create_issue", "Open a new issue."), named1("secret", "secret issue")),
		searchable(f, "jira", "", named1("search", ""), named1("größe", "日本語 İstanbul")),
	}
	f.Fuzz(func(t *testing.T, query string) {
		hits := Search(parts, query)
		for i, h := range hits {
			if h.Name == "" || parts[h.Part].Names[h.Tool] != h.Name || slices.Contains(hits[:i], h) {
				t.Fatalf("%q found %+v", query, h)
			}
		}
		if again := Search(parts, query); !slices.Equal(hits, again) {
			t.Fatalf("%q: %v, then %v", query, hits, again)
		}
		for _, w := range queryWords(query) {
			if w == "" || len(w) > 4*config.MaxWordBytes {
				t.Fatalf("%q has the word %q", query, w)
			}
		}
	})
}

// TestCorpusSearch measures the ranking on labelled queries: POSTERN_QUERIES is
// a file of {"q":…,"relevant":[names]} lines about POSTERN_CORPUS.
func TestCorpusSearch(t *testing.T) {
	dir, file := os.Getenv("POSTERN_CORPUS"), os.Getenv("POSTERN_QUERIES")
	if dir == "" || file == "" {
		t.Skip("POSTERN_CORPUS and POSTERN_QUERIES are not set: nothing to measure")
	}
	parts, count := corpusParts(t, dir)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first, five, all := 0, 0, 0
	var took []time.Duration
	for lines := bufio.NewScanner(f); lines.Scan(); all++ {
		var l struct {
			Q        string
			Relevant []string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		hits := Search(parts, l.Q)
		took = append(took, time.Since(begin))
		for i, h := range hits[:min(5, len(hits))] {
			if slices.Contains(l.Relevant, h.Name) {
				five++
				if i == 0 {
					first++
				}
				break
			}
		}
	}
	slices.Sort(took)
	t.Logf("%d tools, %d queries: right in the first five %.3f, first %.3f; p95 %v", count, all,
		float64(five)/float64(all), float64(first)/float64(all), took[len(took)*95/100])
}

func corpusParts(t *testing.T, dir string) (parts []Part, count int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for _, path := range files {
		server := strings.TrimSuffix(filepath.Base(path), ".json")
		if strings.Contains(server, ".") {
			continue
		}
		c, err := Build(Identity{Server: server}, time.Unix(0, 0), Raw{Tools: recordedTools(t, path)})
		if err != nil {
			t.Fatal(err)
		}
		p := Part{Index: c.Index()}
		for _, tool := range c.Parsed() {
			p.Names = append(p.Names, server+"__"+tool.Name)
		}
		parts, count = append(parts, p), count+len(p.Names)
	}
	t.Logf("read and indexed in %v", time.Since(begin))
	return parts, count
}

func BenchmarkSearch(b *testing.B) {
	var parts []Part
	for server := range 10 {
		var tools []string
		for i := range 100 {
			tools = append(tools, named1("tool_"+string(rune('a'+i%26))+strings.Repeat("z", i/26)+"_file", "Read a file of a repository and say what is in it."))
		}
		parts = append(parts, searchable(b, "server"+string(rune('a'+server)), "", tools...))
	}
	for b.Loop() {
		Search(parts, "read the file of a repo")
	}
}
