//go:build unix

package calllog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// following is a running Follow.
type following struct {
	t      *testing.T
	dir    string
	ids    chan string
	idle   chan struct{} // one token for each look that is done
	end    chan error
	cancel context.CancelFunc
	stats  Stats // once end was read
}

func startFollowing(t *testing.T, dir string, q Query) *following {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &following{t: t, dir: dir, ids: make(chan string, 10_000), idle: make(chan struct{}), end: make(chan error, 1), cancel: cancel}
	go func() { // ends with stop
		var err error
		f.stats, err = follow(ctx, dir, q, func(row []byte) error {
			var r Row
			err := json.Unmarshal(row, &r)
			f.ids <- r.ID
			return err
		}, func() error {
			select {
			case f.idle <- struct{}{}:
			case <-ctx.Done():
			}
			return nil
		}, 20*time.Millisecond)
		f.end <- err
	}()
	t.Cleanup(f.stop)
	f.look()
	return f
}

// look waits until everything that is there was given: by the second look from
// now on, since the first may have been under way.
func (f *following) look() {
	f.t.Helper()
	for range 2 {
		select {
		case <-f.idle:
		case <-time.After(patience):
			f.t.Fatal("follow does not look")
		}
	}
}

func (f *following) stop() {
	f.cancel()
	if err := <-f.end; !errors.Is(err, context.Canceled) {
		f.t.Errorf("follow ended with %v", err)
	}
	f.end <- context.Canceled
}

// expect waits until the follower has looked, and compares what it gave.
func (f *following) expect(what, want string) {
	f.t.Helper()
	f.look()
	var got []string
	for len(f.ids) > 0 {
		got = append(got, <-f.ids)
	}
	if strings.Join(got, " ") != want {
		f.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (f *following) append(name, text string) {
	f.t.Helper()
	appendTo(f.t, filepath.Join(f.dir, name), text)
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) { // MB-230
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00") + row("b", "01T10:00:01") + row("c", "01T10:00:02") + `{"v":1,"id":"d",`})
	f := startFollowing(t, dir, Query{Limit: 2})
	f.expect("the newest two", "b c")
	f.append("2026-09-01.jsonl", `"ts":"2026-09-01T10:00:03Z"}`)
	f.expect("a line without end", "")
	f.append("2026-09-01.jsonl", "\n"+row("e", "01T10:00:04"))
	f.expect("its end", "d e")
	f.append("2026-09-01.1.jsonl", row("f", "01T10:00:05"))
	f.append("2026-09-01.jsonl", row("g", "01T10:00:05"))
	f.expect("by size", "g f")
	f.append("2026-09-02.jsonl", row("h", "02T00:00:00"))
	f.append("2026-09-01.1.jsonl", row("i", "01T23:59:59"))
	f.expect("over midnight", "i h")
	f.append("2026-09-02.host-7.jsonl", row("j", "02T00:00:01")+"no row\n")
	f.append("other.jsonl", row("x", "02T00:00:01"))
	f.expect("another writer's file", "j")
	f.append("2026-09-02.host-7.jsonl", row("k", "02T00:00:02"))
	f.expect("more of it", "k")
	f.append("2026-08-01.jsonl", row("l", "02T00:00:02")) // the clock went back
	f.expect("a file of an older day", "l")
	f.stop()
	if f.stats != (Stats{Rows: 11, Skipped: 1}) {
		t.Errorf("%+v", f.stats)
	}
}

func TestFollowOnlyWhatIsWanted(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00"), "2026-09-02.jsonl": row("b", "02T10:00:00")})
	f := startFollowing(t, dir, Query{Since: at("01T12:00:00"), Filters: []Filter{mustFilter(t, "id=b,c,d")}})
	f.expect("from a time on", "b")
	f.append("2026-09-01.jsonl", row("c", "01T11:00:00"))
	f.append("2026-09-02.jsonl", row("d", "02T11:00:00")+row("e", "02T12:00:00"))
	f.expect("the filters hold on", "d")
}

func TestFollowALogThatComesAndGoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "calls")
	f := startFollowing(t, dir, Query{})
	f.expect("no folder", "")
	must(t, os.Mkdir(dir, 0o700))
	f.append("2026-09-01.jsonl", row("a", "01T10:00:00"))
	f.expect("a folder", "a")
	must(t, os.RemoveAll(dir))
	f.expect("removed", "")
	must(t, os.Mkdir(dir, 0o700))
	f.append("2026-09-01.jsonl", row("b", "01T10:00:01"))
	f.expect("made again", "b")
}

// TestFollowRenamedFiles: rows of a writer that did not notice, and a new file
// that is longer at once.
func TestFollowRenamedFiles(t *testing.T) { // MB-230
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00")})
	path := filepath.Join(dir, "2026-09-01.jsonl")
	f := startFollowing(t, dir, Query{})
	f.expect("before", "a")
	old, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer old.Close()
	_, err = old.WriteString(row("b", "01T10:00:01"))
	must(t, err, os.Rename(path, path+".old"))
	f.append("2026-09-01.jsonl", row("c", "01T10:00:02")+row("d", "01T10:00:03")+row("e", "01T10:00:04"))
	_, err = old.WriteString(row("f", "01T10:00:05"))
	must(t, err)
	f.look()
	_, err = old.WriteString(row("g", "01T10:00:06"))
	must(t, err)
	f.expect("renamed in a burst", "c d e b f g")
}

func TestFollowCopyAndTruncate(t *testing.T) { // MB-231
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00") + row("b", "01T10:00:00")})
	path := filepath.Join(dir, "2026-09-01.jsonl")
	f := startFollowing(t, dir, Query{})
	f.expect("before", "a b")
	must(t, os.Truncate(path, 0))
	f.append("2026-09-01.jsonl", row("c", "01T10:00:01"))
	f.expect("truncated", "c")
	must(t, os.Truncate(path, 0))
	f.append("2026-09-01.jsonl", row("d", "01T10:00:02")+row("e", "01T10:00:03")+row("f", "01T10:00:04"))
	f.expect("and longer than before at once", "d e f")
	must(t, os.Truncate(path, 0))
	f.append("2026-09-01.jsonl", row("g", "01T10:00:05")+row("h", "01T10:00:06")+row("i", "01T10:00:07"))
	f.look() // as long as before: nobody can tell until it grows
	f.append("2026-09-01.jsonl", row("j", "01T10:00:08"))
	f.expect("and just as long", "g h i j")
}

// TestFollowProcesses: each row of several processes comes once, while files
// reach their size.
func TestFollowProcesses(t *testing.T) { // C80, MB-230
	dir := logDir(t)
	f := startFollowing(t, dir, Query{})
	const processes = 4
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "CALLLOG_TEST_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }() // ends with the processes
	for waiting := true; waiting; {
		f.look()
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	f.look()
	seen := map[string]int{}
	for len(f.ids) > 0 {
		seen[<-f.ids]++
	}
	twice := 0
	for _, n := range seen {
		twice += n - 1
	}
	if len(seen) != processes*500 || twice > 0 {
		t.Errorf("%d rows, %d twice", len(seen), twice)
	}
}

func TestFollowEnds(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-09-01.jsonl": row("a", "01T10:00:00")})
	no := errors.New("no")
	quiet := func() error { return nil }
	if _, err := Follow(t.Context(), dir, Query{}, func([]byte) error { return no }, quiet); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := Follow(t.Context(), dir, Query{}, func([]byte) error { return nil }, func() error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	n := 0
	_, err := Follow(t.Context(), dir, Query{}, func([]byte) error {
		if n++; n == 2 {
			return no
		}
		return nil
	}, func() error {
		appendTo(t, filepath.Join(dir, "2026-09-01.jsonl"), row(fmt.Sprint(n), "01T10:00:01"))
		return nil
	})
	if !errors.Is(err, no) {
		t.Error(err)
	}
}
