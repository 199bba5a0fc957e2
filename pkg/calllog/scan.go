package calllog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"postern/pkg/state"
)

// Query says which rows are wanted.
type Query struct {
	Since, Until time.Time // start of the call: Since ≤ ts < Until; zero = no bound
	Filters      []Filter  // all must hold
	Limit        int       // the newest so many; 0 = all
	Newest       bool      // newest first; otherwise oldest first
}

// Stats says what a scan saw.
type Stats struct {
	Rows    int // given to emit
	Skipped int // lines that are no row, in what had to be read
}

// errEnough ends a scan whose limit is reached, errStopped one whose rows nobody
// takes any more.
var (
	errEnough  = errors.New("enough rows")
	errStopped = errors.New("stopped")
)

// Scan calls emit with every row in dir that q wants: the very bytes of its
// line, without newline, valid only during the call. Only the files of days
// that can hold such rows are read, in them only the hours, by all processors,
// and memory does not grow with the log nor with q.Limit. Where several have
// written files of their own (C82) their rows are put in the order in which the
// calls ended. Of two rows with one id a bridge's is left out (C81). The error is that of emit, of ctx, or of reading; a folder that
// is not there is an empty log. A file that others can write to is refused with
// *state.UnsafeError (C5).
func Scan(ctx context.Context, dir string, q Query, emit func(row []byte) error) (Stats, error) {
	files, err := dayFiles(dir)
	if err != nil {
		return Stats{}, err
	}
	s := &scanner{ctx: ctx, dir: dir, query: &q, files: q.cover(files), lost: &lost{}}
	err = s.scan(emit)
	return s.stats, err
}

// cover drops the files of days on which no wanted row can have been written. A
// row is written when its call ends, which may be the day after it began.
func (q *Query) cover(files []dayFile) []dayFile {
	return slices.DeleteFunc(files, func(f dayFile) bool {
		return !q.Since.IsZero() && f.day.Before(dayOf(q.Since)) ||
			!q.Until.IsZero() && f.day.After(dayOf(q.Until).AddDate(0, 0, 1))
	})
}

type scanner struct {
	ctx   context.Context
	dir   string
	query *Query
	files []dayFile
	sizes []int64 // bytes of each file that count; nil = all there are
	from  []int64 // of each file, where the rows asked for begin; -1 = there are none; nil = not known
	stats Stats
	quiet bool // lines were counted by an earlier pass

	damaged func(at place) error // nil, or told of each line that is no row
	lost    *lost                // nil = all rows are given
}

func (s *scanner) scan(emit func([]byte) error) error {
	count := func(_ place, row []byte) error {
		if err := emit(row); err != nil {
			return err
		}
		s.stats.Rows++
		if s.stats.Rows == s.query.Limit {
			return errEnough
		}
		return nil
	}
	if s.query.Limit > 0 && !s.query.Newest {
		if found, err := s.findLast(s.query.Limit); err != nil || found == 0 {
			return err
		}
	}
	err := s.read(s.query.Newest, count)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// findLast looks backwards for the places in each file where the newest limit
// rows begin, so that they can be read forwards. It returns how many there are.
func (s *scanner) findLast(limit int) (found int, err error) {
	from := make([]int64, len(s.files))
	for i := range from {
		from[i] = -1
	}
	err = s.read(true, func(at place, _ []byte) error {
		from[at.file] = at.offset
		if found++; found == limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	s.from, s.quiet = from, true
	return found, err
}

// bounds returns the part of an open file whose lines are to be read, and the
// file's size.
func (s *scanner) bounds(i int, f *os.File) (from, to, size int64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, 0, err
	}
	size = fi.Size()
	if s.sizes != nil {
		size = min(size, s.sizes[i])
	}
	from, to = s.query.narrow(f, size)
	if s.from != nil {
		if s.from[i] < 0 {
			return 0, 0, size, nil
		}
		from = max(from, s.from[i])
	}
	return from, to, size, nil
}

// open opens one file; nil without an error when it was removed meanwhile.
func (s *scanner) open(i int) (*os.File, error) {
	f, err := state.Open(filepath.Join(s.dir, s.files[i].name()), state.Check{Private: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}
