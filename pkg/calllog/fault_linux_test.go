package calllog

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKilledWriters: of processes that are killed while they write large blocks
// nothing is left but, each time, one torn line that the others end.
func TestKilledWriters(t *testing.T) { // C82, MB-223; faults: kill
	dir := logDir(t)
	const kills = 8
	for i := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CALLLOG_TEST_DIR="+dir, "CALLLOG_TEST_ENDLESS=1")
		out, err := cmd.StdoutPipe()
		must(t, err, cmd.Start())
		progress := bufio.NewScanner(out)
		for range 3 + i%5 {
			if !progress.Scan() {
				t.Fatal("the process ended by itself")
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // was killed
	}
	put(t, open(t, dir, Options{}), Row{Outcome: Denied})
	damaged := 0
	v, err := Verify(t.Context(), dir, noon, false, func(f Finding) error {
		switch f.Problem {
		case Damaged:
			damaged++
		default:
			t.Errorf("%+v", f)
		}
		return nil
	})
	t.Logf("%d torn lines after %d kills", damaged, kills)
	if err != nil || damaged > kills || v.Rows < kills*100 {
		t.Errorf("%d damaged, %+v, %v", damaged, v, err)
	}
	if last := strings.Split(file(t, dir, "2026-09-03.jsonl"), "\n"); !strings.Contains(last[len(last)-2], `"denied"`) {
		t.Errorf("the last row is %.200q", last[len(last)-2])
	}
}

// mount puts a small file system at a new folder.
func mount(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		t.Skipf("no small file system can be mounted here (%v): only the file size limit was tested", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk: a call is never delayed, no row is damaged, and what was lost is
// counted in the next one.
func TestFullDisk(t *testing.T) { // C81, C82; faults: disk full
	disk := mount(t, 256<<10)
	dir := filepath.Join(disk, "calls")
	ballast := filepath.Join(disk, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 100<<10), 0o600))
	w, err := Open(dir, Options{Now: func() time.Time { return noon }})
	must(t, err)
	total := 0
	burst := func(n int) {
		for range n {
			total++
			began := time.Now()
			w.Append(Row{Outcome: OK, Reason: strings.Repeat("x", 300+total%500)})
			if took := time.Since(began); took > time.Second {
				t.Fatalf("a call waited %s", took)
			}
		}
		// The queue is dealt with when this one is, written or not.
		total++
		w.AppendWait(Row{Outcome: Denied}, patience)
	}
	burst(1000) // some 600 KB for 156
	if w.Dropped() == 0 {
		t.Fatal("the disk is not full")
	}
	burst(1000)
	must(t, os.Remove(ballast))
	burst(20)
	lost := w.Dropped()
	burst(20)
	if w.Dropped() != lost {
		t.Errorf("rows are lost on a disk with room: %d, %d", w.Dropped(), lost)
	}
	must(t, w.Close(patience))
	told := uint64(0)
	all := rows(t, dir) // fails for a line that is no row
	for _, r := range all {
		told += r.Dropped
	}
	if len(all)+int(lost) != total || told != lost {
		t.Errorf("%d rows and %d lost of %d; the rows tell of %d", len(all), lost, total, told)
	}
	if got := problems(t, dir); strings.Trim(got, "drope ") != "" {
		t.Error(got)
	}
}

// TestReadOnlyDisk: with a home that cannot be written there is no log (C6); one
// that becomes so costs rows, which are counted.
func TestReadOnlyDisk(t *testing.T) { // C6, MB-184; faults: read-only home
	disk := mount(t, 1<<20)
	dir := filepath.Join(disk, "calls")
	readOnly := func(on bool) {
		flags := uintptr(unix.MS_REMOUNT)
		if on {
			flags |= unix.MS_RDONLY
		}
		must(t, unix.Mount("", disk, "", flags, ""))
	}
	readOnly(true)
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("a log was opened on a read-only disk")
	}
	readOnly(false)
	c := &clock{noon}
	w := open(t, dir, Options{Now: c.now})
	put(t, w, Row{Outcome: OK})
	// A disk cannot become read-only while a file is open for writing; what a
	// failing one does is the same to us: the next file cannot be made.
	must(t, os.Rename(dir, dir+".away"))
	must(t, os.WriteFile(dir, nil, 0o600))
	c.at = noon.AddDate(0, 0, 1)
	for range 3 {
		if w.AppendWait(Row{Outcome: OK}, patience) {
			t.Error("a row was written nowhere")
		}
	}
	must(t, os.Remove(dir), os.Rename(dir+".away", dir))
	put(t, w, Row{Outcome: OK})
	all := rows(t, dir)
	if len(all) != 2 || all[1].Dropped != 3 || all[1].Seq != 5 {
		t.Errorf("%+v", all)
	}
}
