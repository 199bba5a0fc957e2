//go:build unix

package calllog

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

const patience = 30 * time.Second

// TestMain makes this binary a process that writes rows into a shared log.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CALLLOG_TEST_DIR"); dir != "" {
		if os.Getenv("CALLLOG_TEST_ENDLESS") != "" {
			os.Exit(writeForEver(dir))
		}
		os.Exit(writeRows(dir))
	}
	os.Exit(m.Run())
}

func writeRows(dir string) int {
	w, err := Open(dir, Options{MaxFile: 1 << 20})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := range 500 {
		w.Append(Row{Outcome: OK, Tool: strings.Repeat("x", 1+i*7%1000), Rule: strings.Repeat("\x01", i%3000)})
	}
	if err := w.Close(patience); err != nil || w.Dropped() != 0 {
		fmt.Fprintln(os.Stderr, err, w.Dropped())
		return 1
	}
	return 0
}

// writeForEver writes large blocks until it is killed, and says so after each.
func writeForEver(dir string) int {
	w, err := Open(dir, Options{Now: func() time.Time { return noon }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := 0; ; i++ {
		r := Row{Outcome: OK, Reason: strings.Repeat("\x01", 1000), Rule: strings.Repeat("\x02", 1000), Project: strings.Repeat("x", i%1000)}
		if i%40 < 39 {
			w.Append(r)
		} else if w.AppendWait(r, patience) {
			fmt.Println(i)
		}
	}
}

var noon = time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)

func logDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "calls")
	if err := state.EnsureDir(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string, o Options) *Writer {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(patience); err != nil {
			t.Error(err)
		}
	})
	return w
}

func put(t *testing.T, w *Writer, r Row) {
	t.Helper()
	if !w.AppendWait(r, patience) {
		t.Fatal("the row was not written")
	}
}

func file(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rows reads a whole log and fails for a line that is no row.
func rows(t *testing.T, dir string) []Row {
	t.Helper()
	var all []Row
	stats, err := Scan(context.Background(), dir, Query{}, func(line []byte) error {
		var r Row
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	if err != nil || stats.Skipped != 0 || stats.Rows != len(all) {
		t.Fatalf("%+v, %v", stats, err)
	}
	return all
}

func TestWriterFillsTheRow(t *testing.T) {
	dir := logDir(t)
	w := open(t, dir, Options{})
	put(t, w, Row{Outcome: OK, ID: "given"})
	put(t, w, Row{Outcome: Denied})
	got := rows(t, dir)
	if len(got) != 2 || got[0].ID != "given" || len(got[1].ID) != 26 {
		t.Fatalf("%+v", got)
	}
	for i, r := range got {
		if r.V != Version || r.Seq != uint64(i+1) || r.Writer != got[0].Writer || len(r.Writer) != 26 || !r.TS.Equal(noon) {
			t.Errorf("%+v", r)
		}
	}
}

// Finish sees each row once, complete but for what it changes, before it is
// written and not before it was queued.
func TestFinish(t *testing.T) {
	dir := logDir(t)
	seen := map[string]int{}
	w := open(t, dir, Options{Finish: func(r *Row) { // on one goroutine
		seen[r.Tool]++
		r.Args = json.RawMessage(`{"seen":true}`)
	}})
	for i := range 300 {
		w.Append(Row{Outcome: OK, Tool: fmt.Sprint("t", i), Rule: strings.Repeat("x", 1000), Args: json.RawMessage(`{"token":"x"}`)})
	}
	if err := w.Close(patience); err != nil || w.Dropped() != 0 {
		t.Fatal(err, w.Dropped())
	}
	for tool, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", tool, n)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	data, err := os.ReadFile(files[0])
	if err != nil || len(seen) != 300 || strings.Count(string(data), `"args":{"seen":true}`) != 300 || strings.Contains(string(data), "token\"") {
		t.Errorf("%d rows seen, %v", len(seen), err)
	}
}

func TestProcessesShareAFile(t *testing.T) { // C80, MB-226
	dir := logDir(t)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "CALLLOG_TEST_DIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	last := map[string]uint64{}
	for _, r := range rows(t, dir) {
		if r.Seq != last[r.Writer]+1 {
			t.Fatalf("writer %s: %d after %d", r.Writer, r.Seq, last[r.Writer])
		}
		last[r.Writer] = r.Seq
	}
	total := uint64(0)
	for _, n := range last {
		total += n
	}
	if total != 5000 || len(last) != 10 {
		t.Errorf("%d rows of %d writers", total, len(last))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 7 {
		t.Errorf("%d files, %v", len(entries), err) // some 9 MB in files of 1 MiB
	}
	for _, e := range entries {
		// Each may write once more before it sees what the others wrote.
		if fi, err := e.Info(); err != nil || fi.Size() > 1<<20+10*config.LogRowBytes {
			t.Errorf("%s has %d bytes, %v", e.Name(), fi.Size(), err)
		}
	}
	if got := problemsAt(t, dir, time.Now()); got != "" {
		t.Errorf("verify finds %s", got)
	}
}

func TestTornLineIsEnded(t *testing.T) { // C82, MB-223
	dir := logDir(t)
	torn := `{"ts":1,"x":"` + "é"[:1]
	path := filepath.Join(dir, "2026-09-03.jsonl")
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, dir, Options{})
	put(t, w, Row{Outcome: OK})
	// Another process dies while ours has the file open.
	f, err := state.AppendFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	put(t, w, Row{Outcome: Denied})
	put(t, w, Row{Outcome: OK})

	lines := strings.Split(file(t, dir, "2026-09-03.jsonl"), "\n")
	if len(lines) != 6 || lines[0] != torn || !strings.HasSuffix(lines[1], "}") || lines[2] != "half" || !strings.Contains(lines[3], "denied") || lines[5] != "" {
		t.Errorf("%q", lines)
	}
	stats, err := Scan(context.Background(), dir, Query{}, func([]byte) error { return nil })
	if err != nil || stats != (Stats{Rows: 3, Skipped: 2}) {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestTruncatedRemovedAndRenamedFiles(t *testing.T) { // MB-231
	dir := logDir(t)
	name := "2026-09-03.jsonl"
	path := filepath.Join(dir, name)
	w := open(t, dir, Options{})
	put(t, w, Row{Outcome: OK, Tool: "one"})
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	put(t, w, Row{Outcome: OK, Tool: "two"})
	if got := file(t, dir, name); got[0] != '{' || strings.Count(got, "\n") != 1 {
		t.Errorf("after truncation: %q", got)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	put(t, w, Row{Outcome: OK, Tool: "three"})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	put(t, w, Row{Outcome: OK, Tool: "four"})
	if got := rows(t, dir); len(got) != 1 || got[0].Tool != "four" {
		t.Errorf("%+v", got)
	}
}

func TestFilesBySize(t *testing.T) { // C80
	dir := logDir(t)
	line := (&Row{V: 1, ID: NewID(noon), Writer: NewID(noon), Seq: 1, TS: noon, Outcome: OK}).appendLine(nil)
	w := open(t, dir, Options{MaxFile: int64(2 * len(line))})
	other := open(t, dir, Options{MaxFile: int64(2 * len(line))})
	for range 5 {
		put(t, w, Row{Outcome: OK})
	}
	put(t, other, Row{Outcome: OK}) // was at the first file, goes on in the last
	put(t, w, Row{Outcome: OK, Rule: strings.Repeat("x", 1000)})
	for name, want := range map[string]int{"2026-09-03.jsonl": 2, "2026-09-03.1.jsonl": 2, "2026-09-03.2.jsonl": 2, "2026-09-03.3.jsonl": 1} {
		if n := strings.Count(file(t, dir, name), "\n"); n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	// A new process goes on where the last one stopped.
	put(t, open(t, dir, Options{MaxFile: 1 << 20}), Row{Outcome: OK})
	if n := strings.Count(file(t, dir, "2026-09-03.3.jsonl"), "\n"); n != 2 {
		t.Errorf("the last file has %d rows, want 2", n)
	}
}

func TestDays(t *testing.T) { // C80, C83
	dir := logDir(t)
	for _, name := range []string{
		"2026-07-01.jsonl", "2026-08-31.jsonl", "2026-09-01.jsonl", "2026-09-01.3.jsonl", "2026-09-02.jsonl",
		"notes.jsonl", "2026-07-01.jsonl.gz", "2026-07-01.x.jsonl", "2026-07-01.01.jsonl", "2026-07-01.0.jsonl", "2026-7-1.jsonl",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var now atomic.Int64
	now.Store(noon.UnixNano())
	w := open(t, dir, Options{Days: 2, Now: func() time.Time { return time.Unix(0, now.Load()).In(time.FixedZone("", 14*3600)) }})
	put(t, w, Row{Outcome: OK})
	want := "[2026-07-01.0.jsonl 2026-07-01.01.jsonl 2026-07-01.jsonl.gz 2026-07-01.x.jsonl 2026-09-01.3.jsonl 2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.jsonl 2026-7-1.jsonl notes.jsonl]"
	if got := names(t, dir); got != want {
		t.Errorf("kept %s\nwant %s", got, want)
	}
	now.Add(int64(24 * time.Hour))
	put(t, w, Row{Outcome: OK, TS: noon}) // began the day before
	if n := strings.Count(file(t, dir, "2026-09-04.jsonl"), "\n"); n != 1 {
		t.Errorf("the new day has %d rows", n)
	}
	if strings.Contains(names(t, dir), "2026-09-01") {
		t.Errorf("a new day removed nothing: %s", names(t, dir))
	}
}

// R90, C83: a log goes by the limits that are in force, not by those it was opened
// with; a day that was begun when nobody knew how long rows are kept is tidied
// once that is known.
func TestLimitsChange(t *testing.T) {
	dir := logOf(t, map[string]string{"2026-08-30.jsonl": "", "2026-09-01.jsonl": "", "2026-09-02.jsonl": ""})
	var now atomic.Int64
	now.Store(noon.UnixNano())
	w := open(t, dir, Options{Now: func() time.Time { return time.Unix(0, now.Load()).UTC() }})
	put(t, w, Row{Outcome: OK})
	for _, step := range []struct {
		days  int
		bytes int64
		hours time.Duration
		want  string
	}{
		{0, 0, 0, "[2026-08-30.jsonl 2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.jsonl]"},
		{2, 0, 0, "[2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.jsonl]"},
		{1, 0, 0, "[2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.jsonl]"}, // the next day removes
		{1, 10, 0, "[2026-09-01.jsonl 2026-09-02.jsonl 2026-09-03.1.jsonl 2026-09-03.jsonl]"},
		{1, 0, 24, "[2026-09-03.1.jsonl 2026-09-03.jsonl 2026-09-04.jsonl]"},
	} {
		now.Add(int64(step.hours * time.Hour))
		w.Limit(step.days, step.bytes)
		put(t, w, Row{Outcome: OK})
		if got := names(t, dir); got != step.want {
			t.Errorf("%d days, %d bytes: %s\nwant %s", step.days, step.bytes, got, step.want)
		}
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	return fmt.Sprint(got)
}

func TestModes(t *testing.T) { // C1, MB-222
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "state", "calls")
	w := open(t, dir, Options{MaxFile: 1})
	put(t, w, Row{Outcome: OK})
	put(t, w, Row{Outcome: OK})
	for _, p := range []string{filepath.Dir(dir), dir, filepath.Join(dir, "2026-09-03.jsonl"), filepath.Join(dir, "2026-09-03.1.jsonl")} {
		fi, err := os.Stat(p)
		if err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", p, fi.Mode(), err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "2026-09-03.1.jsonl"), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, open(t, dir, Options{}), Row{Outcome: OK})
	if fi, err := os.Stat(filepath.Join(dir, "2026-09-03.1.jsonl")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("a lax file stays %v, %v", fi.Mode(), err)
	}
}

// TestQueue holds the writer up, so that its queue is all there is (C81, F12).
func TestQueue(t *testing.T) {
	dir := logDir(t)
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	var calls atomic.Int32
	w := open(t, dir, Options{Now: func() time.Time {
		if calls.Add(1) == 3 { // Open asks twice
			held <- struct{}{}
			<-hold
		}
		return noon
	}})
	w.Append(Row{Outcome: OK})
	<-held
	for range config.LogQueue + 6 {
		w.Append(Row{Outcome: OK})
	}
	if got := w.Dropped(); got != 7 { // the row being written has a place too
		t.Errorf("%d rows dropped, want 7", got)
	}
	if w.AppendWait(Row{Outcome: Denied}, time.Millisecond) {
		t.Error("a row was written by a writer that stands still")
	}
	if err := w.Close(time.Millisecond); err == nil || !strings.Contains(err.Error(), fmt.Sprint(config.LogQueue+1)) {
		t.Errorf("close: %v", err)
	}
	close(hold)
	if err := w.Close(patience); err != nil {
		t.Fatal(err)
	}
	w.Append(Row{Outcome: OK})
	if w.AppendWait(Row{Outcome: OK}, time.Minute) || w.Dropped() != 9 {
		t.Errorf("after Close: %d dropped", w.Dropped())
	}
	all := rows(t, dir)
	if len(all) != config.LogQueue+1 || all[len(all)-1].Outcome != Denied {
		t.Fatalf("%d rows", len(all))
	}
	lost := uint64(0)
	for i, r := range all {
		lost += r.Dropped
		if r.Seq != uint64(i+1)+lost {
			t.Fatalf("row %d has seq %d with %d lost", i, r.Seq, lost)
		}
	}
	if lost != 7 {
		t.Errorf("the rows tell of %d lost ones, want 7", lost)
	}
}

func TestWriteFails(t *testing.T) { // C6, C81
	dir := logDir(t)
	w := open(t, dir, Options{})
	put(t, w, Row{Outcome: OK})
	// A folder in the place of the file: nothing can be written, also for root.
	path := filepath.Join(dir, "2026-09-03.jsonl")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if w.AppendWait(Row{Outcome: OK}, patience) || w.Dropped() != 1 {
		t.Errorf("%d dropped", w.Dropped())
	}
	if _, err := Open(dir, Options{Now: func() time.Time { return noon }}); err == nil {
		t.Error("a log that cannot be written was opened")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, w, Row{Outcome: OK})
	if got := rows(t, dir); len(got) != 1 || got[0].Dropped != 1 || got[0].Seq != 3 {
		t.Errorf("%+v", got)
	}
}

// TestHalfARow (C82): a disk that fills up in the middle of a row damages none.
// The row is completed once there is room, unless another writer was there.
func TestHalfARow(t *testing.T) {
	for _, other := range []bool{false, true} {
		dir := logDir(t)
		w, w2 := open(t, dir, Options{}), open(t, dir, Options{})
		put(t, w, Row{Outcome: OK})
		full := limitFiles(t, int64(len(file(t, dir, "2026-09-03.jsonl"))+10))
		for range 3 {
			if w.AppendWait(Row{Outcome: Denied}, patience) {
				t.Fatal("the row went past the limit")
			}
		}
		if got := w.Dropped(); got != 3 {
			t.Errorf("%d dropped on a full disk, want 3", got)
		}
		full()
		dropped, lines := uint64(2), 4
		if other {
			put(t, w2, Row{Outcome: ToolError})
			dropped, lines = 3, 5
		}
		put(t, w, Row{Outcome: Cancelled})
		got := strings.Split(file(t, dir, "2026-09-03.jsonl"), "\n")
		last := got[len(got)-2]
		if len(got) != lines || json.Valid([]byte(got[1])) == other || !strings.Contains(last, `"seq":5,`) ||
			!strings.HasSuffix(last, fmt.Sprintf(`,"dropped":%d}`, dropped)) || w.Dropped() != dropped {
			t.Errorf("other writer %v: %d dropped, %q", other, w.Dropped(), got)
		}
	}
}

// TestHalfARowTellsOnce: the lost rows that the row in two halves tells of are
// not told again by the next one.
func TestHalfARowTellsOnce(t *testing.T) {
	dir := logDir(t)
	w := open(t, dir, Options{})
	put(t, w, Row{Outcome: OK})
	for _, more := range []int{0, 10} { // first nothing of a row goes in, then a bit
		room := limitFiles(t, int64(len(file(t, dir, "2026-09-03.jsonl"))+more))
		if w.AppendWait(Row{Outcome: Denied}, patience) {
			t.Error("the row went past the limit")
		}
		room()
		if more == 0 {
			continue
		}
		put(t, w, Row{Outcome: OK})
	}
	got := rows(t, dir)
	if len(got) != 3 || got[1].Dropped != 1 || got[1].Seq != 3 || got[2].Dropped != 0 || w.Dropped() != 1 {
		t.Errorf("%+v", got)
	}
	if found := problems(t, dir); found != "dropped" {
		t.Error(found)
	}
}

// limitFiles keeps this process from writing past size, until restore is called.
func limitFiles(t *testing.T, size int64) (restore func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	}
}

func TestNilWriter(t *testing.T) { // C6
	var w *Writer
	w.Append(Row{})
	if !w.AppendWait(Row{}, time.Minute) || w.Dropped() != 0 || w.Close(time.Minute) != nil {
		t.Error("a nil writer does something")
	}
}

func BenchmarkAppend(b *testing.B) { // F12: at most 3 µs
	w, err := Open(filepath.Join(b.TempDir(), "calls"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.Append(Row{Outcome: OK, Upstream: "github", Tool: "get_issue"})
	}
	b.StopTimer()
	_ = w.Close(patience)
}

// BenchmarkRate makes 20,000 calls a second on four goroutines: an iteration is
// a tenth of a second of them. It reports what a call spends in Append, what the
// whole log costs a row, and how many rows were lost.
func BenchmarkRate(b *testing.B) { // F12: at most 3 µs, none lost
	w, err := Open(filepath.Join(b.TempDir(), "calls"), Options{MaxFile: config.DefaultLogFile})
	if err != nil {
		b.Fatal(err)
	}
	r := Row{
		Outcome: OK, Upstream: "github", Tool: "get_issue", Tier: "read", Via: "direct", Session: NewID(noon), Scope: "user", Level: 2,
		ConfigHash: strings.Repeat("c", 71), Launch: strings.Repeat("l", 71), LatencyMS: 12.345, RequestBytes: 120, ResponseBytes: 2048, ResponseTokens: 512,
		ArgsHash: strings.Repeat("h", 71), Args: json.RawMessage(`{"owner":"acme","repo":"web","issue_number":1234}`),
	}
	var inAppend atomic.Int64
	before, rows := cpu(), 0
	for b.Loop() {
		begin := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 500 {
					for time.Since(begin) < time.Duration(i)*200*time.Microsecond {
						time.Sleep(50 * time.Microsecond) // a pace, not a wait
					}
					at := time.Now()
					w.Append(r)
					inAppend.Add(int64(time.Since(at)))
				}
			})
		}
		wg.Wait()
		rows += 2000
	}
	b.StopTimer()
	if err := w.Close(patience); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(inAppend.Load())/float64(rows), "ns/append")
	b.ReportMetric(float64(cpu()-before)/float64(rows), "cpu-ns/row")
	b.ReportMetric(float64(w.Dropped()), "lost")
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
