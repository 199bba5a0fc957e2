package gateway

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestConversations plays each testdata/*.txtar. The section `conversation`
// holds one message a line:
//
//	> LINE     is sent to the gateway as it is
//	< LINE     is the next line from the gateway, byte for byte
//	~ REGEXP   the next line from the gateway matches; what a group named N
//	           caught stands for $N in the lines that follow
//	# TEXT     says what is tested
//
// `config/mcp.yaml` is the configuration; every other section is a file.
func TestConversations(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, path)
		})
	}
}

func play(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	conf, talk := files["config/mcp.yaml"], files["conversation"]
	if conf == "" {
		conf = plainConfig
	}
	delete(files, "config/mcp.yaml")
	delete(files, "conversation")
	w := newWorld(t, conf, files)
	a := w.connect(Options{})
	taken, caught := 0, []string{"$WORK", w.dir}
	for number, line := range strings.Split(talk, "\n") {
		kind, text, _ := strings.Cut(line, " ")
		text = strings.NewReplacer(caught...).Replace(text)
		where := fmt.Sprintf("conversation line %d", number+1)
		switch kind {
		case ">":
			a.Send(text)
		case "<", "~":
			got := string(a.Line(taken).Raw)
			taken++
			if kind == "<" && got != text || kind == "~" && !catch(text, got, &caught) {
				t.Fatalf("%s:\n got %s\nwant %s", where, got, text)
			}
		case "", "#":
		default:
			t.Fatalf("%s: %q begins with none of > < ~ #", where, line)
		}
	}
	if rest := a.Lines()[taken:]; len(rest) > 0 {
		t.Errorf("more than expected: %s", rest[0].Raw)
	}
}

// catch reports whether line matches, and notes what named groups caught.
func catch(pattern, line string, caught *[]string) bool {
	re := regexp.MustCompile(pattern)
	found := re.FindStringSubmatch(line)
	for i, name := range re.SubexpNames() {
		if found != nil && name != "" {
			*caught = append(*caught, "$"+name, found[i])
		}
	}
	return found != nil
}
