package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Sessions of many projects have one copy of the records, and a project that is not
// asked about any more is not kept for good.
func TestRecordsOfManyProjects(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	s := NewStore(w.dirs)
	var first *Records
	for n := range config.KeptRecords + 10 {
		r, err := s.Records(fmt.Sprint("/project/", n))
		if err != nil || len(r.all) != 1 {
			t.Fatal(r, err)
		}
		if first == nil {
			first = r
		}
		if &r.all[0] != &first.all[0] {
			t.Fatal("each project has a copy of its own")
		}
	}
	if n := len(s.loaded); n > config.KeptRecords {
		t.Errorf("%d projects are kept", n)
	}
}

// spoilers are the ways in which a trust file stops being believable.
func spoilers(t *testing.T) map[string]func(*world, string) {
	t.Helper()
	edit := func(f func(old string) string) func(*world, string) {
		return func(w *world, path string) {
			old, err := os.ReadFile(path)
			if err != nil {
				w.t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(f(string(old))), 0o600); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	chmod := func(path string, mode os.FileMode) {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*world, string){
		"writable by the group":  func(_ *world, path string) { chmod(path, 0o660) },
		"writable by everybody":  func(_ *world, path string) { chmod(path, 0o602) },
		"directory is writable":  func(_ *world, path string) { chmod(filepath.Dir(path), 0o777) },
		"torn":                   edit(func(s string) string { return s[:len(s)/2] }),
		"garbage":                edit(func(string) string { return "\x00\xff" }),
		"another version":        edit(func(s string) string { return strings.Replace(s, `"v": 1`, `"v": 2`, 1) }),
		"no version":             edit(func(s string) string { return strings.Replace(s, `"v": 1,`, ``, 1) }),
		"a member that it lacks": edit(func(s string) string { return strings.Replace(s, `"v": 1`, `"v": 1, "pins": []`, 1) }),
		"the same member twice":  edit(func(s string) string { return strings.Replace(s, `"decision"`, `"decision": "allow", "decision"`, 1) }),
		"a member in other case": edit(func(s string) string { return strings.Replace(s, `"decision"`, `"Decision"`, 1) }),
		"text behind it":         edit(func(s string) string { return s + "{}" }),
		"too large":              edit(func(s string) string { return s + strings.Repeat(" ", config.MaxTrustFile) }),
		"a directory": func(_ *world, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"inside the project": func(w *world, path string) {
			moved := w.path("trust.json")
			if err := errors.Join(os.Rename(path, moved), os.Symlink(moved, path)); err != nil {
				w.t.Fatal(err)
			}
		},
	}
}

// C5, C50, MB-200: a trust file that cannot be believed grants nothing, says
// so, and is not written over.
func TestUnbelievableFileTrustsNothing(t *testing.T) {
	for name, spoil := range spoilers(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.allow(w.srv)
			w.approved()
			path := filepath.Join(w.dirs.Config, fileName)
			spoil(w, path)
			if strings.Contains(name, "directory is") {
				w.store = NewStore(w.dirs) // the file itself has not changed
			}
			before, _ := os.ReadFile(path)
			r, err := w.store.Records(w.project)
			if err == nil {
				t.Fatal("there is no diagnostic")
			}
			_, err = Check(r, w.srv, w.env)
			wantNotTrusted(t, err, Untrusted)
			if name == "directory is writable" || name == "writable by the group" || name == "writable by everybody" {
				return // a writer narrows its own directory (C1), or refuses as below
			}
			rec := Record{Project: w.project, Source: w.srv.Source, Server: "x", Digest: w.srv.Digest}
			if err := Deny(context.Background(), w.dirs, rec); err == nil {
				t.Error("it was written over")
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("its content is another now")
			}
		})
	}
}

// MB-198: nothing a repository brings along grants anything: not a trust file of
// its own, not one that the user's directory is made to lead to.
func TestRepositoryCannotGrant(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	theirs := w.path(".postern")
	if err := os.Rename(w.dirs.Config, theirs); err != nil {
		t.Fatal(err)
	}
	_, err := Check(w.records(), w.srv, w.env)
	wantNotTrusted(t, err, Untrusted)
	if err := os.Symlink(theirs, w.dirs.Config); err != nil {
		t.Fatal(err)
	}
	w.store = NewStore(w.dirs)
	r, err := w.store.Records(w.project)
	var unsafe *state.UnsafeError
	if !errors.As(err, &unsafe) {
		t.Errorf("got %v", err)
	}
	_, err = Check(r, w.srv, w.env)
	wantNotTrusted(t, err, Untrusted)
}

// R90: the same Records come back while the file is the same, and a decision
// made elsewhere is seen by the next look.
func TestRecordsFollowTheFile(t *testing.T) {
	w := newWorld(t)
	empty := w.records()
	if again := w.records(); again != empty {
		t.Error("an absent file is read each time")
	}
	w.allow(w.srv)
	first := w.records()
	if first == empty || len(first.All()) != 1 {
		t.Fatal("the new record is not seen")
	}
	if w.records() != first {
		t.Error("an unchanged file is read again")
	}
	if err := Revoke(context.Background(), w.dirs, w.project, "docs"); err != nil {
		t.Fatal(err)
	}
	if len(w.records().All()) != 0 {
		t.Error("the revocation is not seen")
	}
	if len(first.All()) != 1 {
		t.Error("records already handed out have changed")
	}
}

// R90, C50: a file that is not valid is read once, not at each call, until it is
// another one. What its folder or its mode is the reason of is looked at each time.
func TestRefusalIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	path := filepath.Join(w.dirs.Config, fileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"v":1,"records":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	first, refusal := w.store.Records(w.project)
	var bad *FileError
	if !errors.As(refusal, &bad) || len(first.All()) != 0 {
		t.Fatalf("%v, %v", first.All(), refusal)
	}
	again, err := w.store.Records(w.project)
	if again != first || err != refusal {
		t.Errorf("it was read again: %v", err)
	}
	other, err := w.store.Records("")
	if other == first || !errors.As(err, &bad) {
		t.Errorf("for another project: %v", err)
	}
	if _, err := Check(again, w.srv, w.env); err == nil {
		t.Error("something is trusted")
	}

	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	w.approved()

	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(w.dirs.Config, 0o777); err != nil {
		t.Fatal(err)
	}
	w.store = NewStore(w.dirs)
	if _, err := w.store.Records(w.project); err == nil {
		t.Error("a folder that everybody writes is believed")
	}
	if err := os.Chmod(w.dirs.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	w.approved() // the file has the same stamp
}

// MB-182: writers at the same time lose nothing, and readers see whole files.
func TestConcurrentDecisions(t *testing.T) {
	w := newWorld(t)
	d := Describe(w.records(), w.srv, w.env)
	rec, err := d.Approval(config.ClassUnknown, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { // ends after one write and one read
			rec := rec
			rec.Server = fmt.Sprintf("s%d", i)
			if err := Allow(context.Background(), w.dirs, rec); err != nil {
				t.Error(err)
			}
			if _, err := w.store.Records(w.project); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(w.records().All()); n != 20 {
		t.Errorf("%d records, want 20", n)
	}
	files, err := os.ReadDir(w.dirs.Config)
	if err != nil || len(files) != 2 { // the file and its lock
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// Many checks and verifies at once share the digests.
func TestConcurrentChecks(t *testing.T) {
	w := newWorld(t)
	w.allow(w.srv)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { // ends after twenty checks
			for range 20 {
				a, err := Check(w.records(), w.srv, w.env)
				if err == nil {
					err = a.Verify()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// C50: no writer passes the bounds that readers hold.
func TestFullFile(t *testing.T) {
	w := newWorld(t)
	base := Record{Project: w.project, Source: w.srv.Source, Server: "s", Digest: w.srv.Digest, Decision: deny}
	records := make([]Record, config.MaxTrustRecords+1)
	for i := range records {
		records[i] = base
	}
	var full *FullError
	if _, err := encode(records); !errors.As(err, &full) {
		t.Errorf("too many records: %v", err)
	}
	base.Note = strings.Repeat("x", config.MaxTrustFile)
	if err := Deny(context.Background(), w.dirs, base); !errors.As(err, &full) {
		t.Errorf("too many bytes: %v", err)
	}
	if len(w.records().All()) != 0 {
		t.Error("something was written")
	}
}

func TestIncompleteRecordIsNotWritten(t *testing.T) {
	w := newWorld(t)
	rec := Record{Project: w.project, Source: w.srv.Source, Server: "s", Digest: w.srv.Digest, Class: config.ClassRead}
	if err := Allow(context.Background(), w.dirs, rec); err == nil {
		t.Error("an approval without executable was written")
	}
	rec.Digest = "sha256:short"
	if err := Deny(context.Background(), w.dirs, rec); err == nil {
		t.Error("a denial without digest was written")
	}
}

// The fixture of version 1 stays readable, and comes back the same.
func TestVersion1(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "trust-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := parse(data)
	if err != nil || len(records) != 2 {
		t.Fatalf("%v, %v", records, err)
	}
	r := &Records{all: records}
	srv := &config.Server{ID: "docs", Scope: config.Project, Project: "/home/a/repo", Source: "/home/a/repo/.mcp.json",
		Digest: "sha256:" + strings.Repeat("0", 63) + "1"}
	if status, rec := r.Status(srv); status != Trusted || rec.Class != config.ClassRead || !rec.Executable.RootOwned {
		t.Errorf("%s, %+v", status, rec)
	}
	srv.ID = "shady"
	if status, _ := r.Status(srv); status != Denied {
		t.Errorf("status is %s", status)
	}
	again, err := encode(records)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parse(again); err != nil || fmt.Sprint(back[1]) != fmt.Sprint(records[1]) {
		t.Errorf("%v, %v", back, err)
	}
}

// Whatever parse accepts can be written and reads back as the same records.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "trust-v1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, seed := range []string{"", "{}", `{"v":1,"records":[]}`, `{"v":1,"records":null}`, `{"v":1,"records":[{}]}`,
		`{"v":1,"records":[{"decision":"allow"}],"records":[]}`, `[]`, `{"V":1,"records":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := parse(data)
		if err != nil {
			return
		}
		for _, r := range records {
			if err := r.check(); err != nil {
				t.Fatalf("accepted a record that %v", err)
			}
		}
		out, err := encode(records)
		if err != nil {
			return // grew over the bound by escaping or indenting
		}
		again, err := parse(out)
		if err != nil || len(again) != len(records) {
			t.Fatalf("wrote %s, read %d records, %v", out, len(again), err)
		}
	})
}
