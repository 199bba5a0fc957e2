package calllog

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
	"postern/pkg/wire"
)

// Problem is what can be wrong with the log, in one word of a closed list.
type Problem string

// The problems that Verify finds.
const (
	Damaged  Problem = "damaged"  // a line that is no row
	Torn     Problem = "torn"     // the last line of a file has no end
	Missing  Problem = "missing"  // rows of a writer are not there, and nobody said so
	Dropped  Problem = "dropped"  // rows that their writer counted and could not write
	Repeated Problem = "repeated" // the id of another row of that day or the day before
	Order    Problem = "order"    // a row that stands behind later ones
	Date     Problem = "date"     // a row in the file of another day
	Future   Problem = "future"   // a file of a day that has not come
)

// Finding is one problem and where it is.
type Finding struct {
	File     string  `json:"file"`
	Offset   int64   `json:"offset"` // byte at which the line begins
	Problem  Problem `json:"problem"`
	Detail   string  `json:"detail"`
	Repaired bool    `json:"repaired,omitempty"`
}

// Verdict sums up what Verify read.
type Verdict struct {
	Files, Rows int
	Problems    int // without those that were repaired
}

// Verify reads the whole log and reports what is wrong with it, file by file.
// With repair a last line without an end gets one, and nothing else is changed.
// Memory grows with the rows of two days, by some twenty bytes each, and with
// the number of writers. Errors are as those of Scan, and those of report.
func Verify(ctx context.Context, dir string, now time.Time, repair bool, report func(Finding) error) (Verdict, error) {
	files, err := dayFiles(dir)
	if err != nil {
		return Verdict{}, err
	}
	v := &verifier{
		scanner: scanner{ctx: ctx, dir: dir, query: &Query{}, files: files},
		report:  report, seed: maphash.MakeSeed(), writers: map[string]uint64{}, torn: map[int]int64{}, lost: map[uint64]struct{}{},
	}
	v.damaged = func(at place) error {
		if torn, ok := v.torn[at.file]; ok && torn == at.offset {
			return nil // reported as torn
		}
		return v.find(at, Damaged, "no row")
	}
	for i := range files {
		if err := v.file(i, now, repair); err != nil {
			return v.verdict, err
		}
	}
	return v.verdict, nil
}

type verifier struct {
	scanner
	report  func(Finding) error
	verdict Verdict

	seed       maphash.Seed
	day        time.Time
	ids        map[uint64]struct{} // of the rows of day
	idsBefore  map[uint64]struct{} // of the day before it in the log
	writers    map[string]uint64   // number of each one's last row
	latest     time.Time           // end of a row in the present file
	torn       map[int]int64       // where the last line of a file begins that has no end
	lost       map[uint64]struct{} // ids of bridges' rows, which a hub may have too (C81)
	names      [7]string
	spans      [7]wire.Span
	isRepaired bool
}

func (v *verifier) find(at place, p Problem, format string, args ...any) error {
	f := Finding{File: v.files[at.file].name(), Offset: at.offset, Problem: p, Detail: fmt.Sprintf(format, args...), Repaired: v.isRepaired}
	if !f.Repaired {
		v.verdict.Problems++
	}
	return v.report(f)
}

func (v *verifier) file(i int, now time.Time, repair bool) error {
	v.verdict.Files++
	f := v.files[i]
	if !f.day.Equal(v.day) {
		v.idsBefore, v.ids, v.day = v.ids, map[uint64]struct{}{}, f.day
	}
	v.latest = time.Time{}
	if f.day.After(dayOf(now).AddDate(0, 0, 1)) {
		if err := v.find(place{file: i}, Future, "the clock of a writer was ahead, or this one is behind"); err != nil {
			return err
		}
	}
	if err := v.end(i, repair); err != nil {
		return err
	}
	return v.stream([]int{i}, false, runtime.GOMAXPROCS(0), config.LogPiece, v.row)
}

// end looks at the end of a file.
func (v *verifier) end(i int, repair bool) error {
	f, err := v.open(i)
	if f == nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	whole, err := lastLineEnd(f, 0, fi.Size())
	if err != nil || whole == fi.Size() {
		return err
	}
	v.torn[i] = whole
	if repair {
		if err := endLine(filepath.Join(v.dir, v.files[i].name())); err != nil {
			return err
		}
		v.isRepaired = true
		defer func() { v.isRepaired = false }()
	}
	return v.find(place{i, whole}, Torn, "the last line has no end: its writer died, or its disk was full")
}

// endLine ends the last line of a file that has none.
func endLine(path string) error {
	f, err := state.AppendFile(path)
	if err != nil {
		return err
	}
	var last [1]byte
	fi, err := f.Stat()
	if err == nil && fi.Size() > 0 {
		_, err = f.ReadAt(last[:], fi.Size()-1)
	}
	if err == nil && fi.Size() > 0 && last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return errors.Join(err, f.Close())
}

// lastLineEnd is the offset behind the last newline in [from, to) of f; from
// when there is none.
func lastLineEnd(f *os.File, from, to int64) (int64, error) {
	buf := make([]byte, min(to-from, config.LogBlock))
	for end := to; end > from; {
		b := buf[:min(end-from, int64(len(buf)))]
		if _, err := f.ReadAt(b, end-int64(len(b))); err != nil {
			return 0, err
		}
		for n := len(b) - 1; n >= 0; n-- {
			if b[n] == '\n' {
				return end - int64(len(b)) + int64(n) + 1, nil
			}
		}
		end -= int64(len(b))
	}
	return from, nil
}

// row judges one row.
func (v *verifier) row(at place, line []byte) error {
	v.verdict.Rows++
	v.names = [7]string{"id", "ts", "latency_ms", "writer", "seq", "dropped", "word"}
	if wire.Lookup(line, v.names[:], v.spans[:]) != nil {
		return v.find(at, Damaged, "a member is there twice")
	}
	id, _ := plainText(v.spans[0].Of(line))
	word, _ := plainText(v.spans[6].Of(line))
	if err := v.id(at, id, word == HubLost); err != nil {
		return err
	}
	if end, ok := endOf(v.spans[1].Of(line), v.spans[2].Of(line)); ok {
		if err := v.time(at, end); err != nil {
			return err
		}
	}
	writer, _ := plainText(v.spans[3].Of(line))
	seq, err := strconv.ParseUint(string(v.spans[4].Of(line)), 10, 64)
	if writer == "" || err != nil {
		return v.find(at, Missing, "the row says not which one of which writer it is")
	}
	dropped, _ := strconv.ParseUint(string(v.spans[5].Of(line)), 10, 64) // absent is 0
	return v.seq(at, writer, seq, dropped)
}

// id notes the id of a row. That of a bridge's may be another's as well.
func (v *verifier) id(at place, id string, bridge bool) error {
	sum := maphash.String(v.seed, id)
	_, today := v.ids[sum]
	_, before := v.idsBefore[sum]
	v.ids[sum] = struct{}{}
	_, other := v.lost[sum]
	if bridge {
		v.lost[sum] = struct{}{}
	}
	if (today || before) && bridge == other {
		return v.find(at, Repeated, "id %s", id)
	}
	return nil
}

func (v *verifier) time(at place, end time.Time) error {
	day := v.files[at.file].day
	early, late := dayOf(end.Add(-config.LogOrder)), dayOf(end.Add(config.LogOrder))
	if day.Before(early) || day.After(late) {
		return v.find(at, Date, "the call ended at %s", end.UTC().Format(time.RFC3339))
	}
	if end.Before(v.latest.Add(-config.LogOrder)) {
		return v.find(at, Order, "the call ended %s before that of a row in front of it", v.latest.Sub(end).Round(time.Second))
	}
	v.latest = later(v.latest, end)
	return nil
}

// seq follows the numbers of a writer. Rows of days that were removed are not
// missing.
func (v *verifier) seq(at place, writer string, seq, dropped uint64) error {
	last, known := v.writers[writer]
	if !known && idTime(writer).Before(v.files[0].day) {
		last = max(seq, dropped+1) - 1 - dropped
	}
	v.writers[writer] = max(last, seq)
	switch {
	case seq <= last:
		return v.find(at, Order, "row %d of writer %s stands behind its row %d", seq, writer, last)
	case seq-last-1 > dropped:
		return v.find(at, Missing, "%d rows of writer %s before its row %d", seq-last-1-dropped, writer, seq)
	case dropped > 0:
		return v.find(at, Dropped, "%d rows of writer %s before its row %d", dropped, writer, seq)
	}
	return nil
}
