package trust

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/pkg/config"
)

// allowTree approves the world's server with folders covered.
func allowTree(w *world, folders ...string) Record {
	w.t.Helper()
	d := Describe(w.records(), w.srv, w.env)
	if err := d.Cover(folders); err != nil {
		w.t.Fatal(err)
	}
	rec, err := d.Approval(config.ClassExecute, nil, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := Allow(w.t.Context(), w.dirs, rec); err != nil {
		w.t.Fatal(err)
	}
	return rec
}

// C51: every change below a covered folder takes the approval away, one that
// only touches a file does not.
func TestTree(t *testing.T) {
	changes := map[string]func(w *world){
		"content": func(w *world) { w.write("tools/lib.js", "evil()\n", 0o644) },
		"new":     func(w *world) { w.write("tools/more.js", "", 0o644) },
		"gone":    func(w *world) { os.Remove(w.path("tools/lib.js")) },
		"renamed": func(w *world) { os.Rename(w.path("tools/lib.js"), w.path("tools/lob.js")) },
		"link":    func(w *world) { os.Remove(w.path("tools/link")); os.Symlink("server.js", w.path("tools/link")) },
		"kind":    func(w *world) { os.Remove(w.path("tools/link")); w.write("tools/link", "lib.js", 0o644) },
		"folder":  func(w *world) { os.Rename(w.path("tools"), w.path("tools2")) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("tools/lib.js", "lib()\n", 0o644)
			if err := os.Symlink("lib.js", w.path("tools/link")); err != nil {
				t.Fatal(err)
			}
			allowTree(w, "tools")
			if _, err := Check(w.records(), w.srv, w.env); err != nil {
				t.Fatalf("as approved: %v", err)
			}
			now := time.Now()
			os.Chtimes(w.path("tools/server.js"), now, now)
			change(w)
			w.store = NewStore(w.dirs) // which remembers no tree
			var changed *ChangedError
			if _, err := Check(w.records(), w.srv, w.env); !errors.As(err, &changed) {
				t.Errorf("%v", err)
			}
			if d := Describe(w.records(), w.srv, w.env); d.Status != Stale {
				t.Errorf("described as %s", d.Status)
			}
		})
	}
}

// A running approval notices within config.TreeCheckEvery.
func TestTreeWhileRunning(t *testing.T) {
	w := newWorld(t)
	allowTree(w, "tools")
	a, err := Check(w.records(), w.srv, w.env)
	if err != nil {
		t.Fatal(err)
	}
	w.write("tools/new.js", "x", 0o644)
	for end := time.Now().Add(10 * config.TreeCheckEvery); a.Verify() == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the change was not noticed")
		}
	}
}

// Folders that cannot be covered are refused by name, and nothing is written.
func TestTreeBounds(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink(t.TempDir(), w.path("out")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"..", "/etc", "nowhere", "conf.json", "out", "tools/../.."} {
		d := Describe(w.records(), w.srv, w.env)
		var bad *TreeError
		if err := d.Cover([]string{folder}); !errors.As(err, &bad) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	d := Describe(w.records(), w.srv, w.env)
	if err := d.Cover(make([]string, config.MaxTrees+1)); err == nil {
		t.Error("any number of folders")
	}
}

// Prune removes what can hold for nothing, and only that.
func TestPrune(t *testing.T) {
	w := newWorld(t)
	rec := allowTree(w)
	gone := rec
	gone.Project, gone.Source = filepath.Join(w.project, "gone"), filepath.Join(w.project, "gone", ".mcp.json")
	over, end := rec, time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	over.Server, over.Expires = "over", &end
	for _, r := range []Record{gone, over} {
		if err := Allow(t.Context(), w.dirs, r); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Prune(t.Context(), w.dirs, time.Now())
	if err != nil || len(removed) != 2 {
		t.Fatalf("%d removed, %v", len(removed), err)
	}
	if all := w.records().All(); len(all) != 1 || all[0].Server != "docs" {
		t.Errorf("left: %+v", all)
	}
	if removed, err = Prune(t.Context(), w.dirs, time.Now()); err != nil || len(removed) != 0 {
		t.Errorf("again: %d removed, %v", len(removed), err)
	}
}
