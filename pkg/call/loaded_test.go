package call

import (
	"strings"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/wire"
)

// A configuration is read once for all sessions of a project, and again as soon as
// a file of it is another one, or there for the first time.
func TestOneConfig(t *testing.T) { // R90
	w := newWorld(t, plain, nil)
	open := func(project string) *Session {
		t.Helper()
		s, err := w.host.Open(SessionOptions{Project: project})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	first, other, inProject := open(""), open(""), open(w.project)
	if first.View().Config != other.View().Config {
		t.Error("it was read twice")
	}
	if first.View().Config == inProject.View().Config || inProject.View().Config.Project != w.project {
		t.Error("a project has the configuration of none")
	}
	w.write("project/.mcp.json", repository)
	if open(w.project).View().Server("docs") == nil {
		t.Error("a file that was not there before is not seen")
	}
	w.write("config/mcp.yaml", plain+"names: {max: 40}\n")
	if c := open("").View().Config; c.NamesMax != 40 {
		t.Error("a changed file is not seen")
	}
}

// A refusal says which row it is, where the caller chose the id of the row: nobody
// else knows it (C81). Calls that share one cause do not share that.
func TestRefusalRow(t *testing.T) {
	w := newWorld(t, plain, nil)
	s, err := w.host.Open(SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, row := range []string{calllog.NewID(time.Now()), ""} {
		w.calls++
		s.Do(t.Context(), Request{Server: "fake", Tool: "nosuch", RowID: row}, func(a Answer) {
			if a.Refusal == nil || a.Refusal.Row != row {
				t.Fatalf("%+v", a.Refusal)
			}
			data := string(wire.ErrorLine(nil, a.Refusal.RPC()))
			if strings.Contains(data, `"row":"`+row+`"`) != (row != "") {
				t.Error(data)
			}
		})
	}
}
