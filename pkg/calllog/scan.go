package calllog

import (
	"context"
	"errors"
	"io"
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

// errEnough ends a scan whose limit is reached.
var errEnough = errors.New("enough rows")

// Scan calls emit with every row in dir that q wants: the very bytes of its
// line, without newline, valid only during the call. Only the files of days
// that can hold such rows are read, and memory does not grow with the log nor
// with q.Limit. The error is that of emit, of ctx, or of reading; a folder that
// is not there is an empty log. A file that others can write to is refused with
// *state.UnsafeError (C5).
func Scan(ctx context.Context, dir string, q Query, emit func(row []byte) error) (Stats, error) {
	files, err := dayFiles(dir)
	if err != nil {
		return Stats{}, err
	}
	s := &scanner{ctx: ctx, dir: dir, files: q.cover(files), match: newMatcher(&q)}
	count := func(row []byte) error {
		if err := emit(row); err != nil {
			return err
		}
		s.stats.Rows++
		if s.stats.Rows == q.Limit {
			return errEnough
		}
		return nil
	}
	switch {
	case q.Newest:
		err = s.backward(func(_ place, row []byte) error { return count(row) })
	case q.Limit > 0:
		err = s.last(q.Limit, count)
	default:
		err = s.forward(place{}, count)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
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

// place is where a line begins: in which of the scanner's files, at which byte.
type place struct {
	file   int
	offset int64
}

type scanner struct {
	ctx   context.Context
	dir   string
	files []dayFile
	match *matcher
	stats Stats
	quiet bool // lines were counted by an earlier pass
}

// last gives the newest limit rows, oldest first: it looks backwards for the
// place where they begin, then reads on from there.
func (s *scanner) last(limit int, emit func([]byte) error) error {
	var from place
	found := 0
	err := s.backward(func(at place, _ []byte) error {
		found++
		if found == limit {
			from = at
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || found == 0 {
		return err
	}
	s.quiet = true
	return s.forward(from, func(row []byte) error {
		if err := emit(row); err != nil {
			return err
		}
		if found--; found == 0 {
			return errEnough // rows written since the first pass are not asked for
		}
		return nil
	})
}

func (s *scanner) forward(from place, emit func([]byte) error) error {
	for i := from.file; i < len(s.files); i++ {
		if err := s.forwardFile(i, from.offset, emit); err != nil {
			return err
		}
		from.offset = 0
	}
	return nil
}

func (s *scanner) forwardFile(i int, offset int64, emit func([]byte) error) error {
	f, err := s.open(i)
	if f == nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	lines := newForward(f)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := s.line(line, err, emit); err != nil {
			return err
		}
	}
}

func (s *scanner) backward(emit func(place, []byte) error) error {
	for i := len(s.files) - 1; i >= 0; i-- {
		if err := s.backwardFile(i, emit); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) backwardFile(i int, emit func(place, []byte) error) error {
	f, err := s.open(i)
	if f == nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	lines := newBackward(f, fi.Size())
	for {
		line, at, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := s.line(line, err, func(row []byte) error { return emit(place{i, at}, row) }); err != nil {
			return err
		}
	}
}

// open opens one file; nil without an error when it was removed meanwhile.
func (s *scanner) open(i int) (*os.File, error) {
	f, err := state.Open(filepath.Join(s.dir, s.files[i].name()), state.Check{Private: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// line deals with one line, or with what stood in the place of one.
func (s *scanner) line(line []byte, err error, emit func([]byte) error) error {
	if stop := s.ctx.Err(); stop != nil {
		return stop
	}
	if err != nil && !errors.Is(err, errLongLine) {
		return err
	}
	row, wanted := false, false
	if err == nil {
		if blank(line) {
			return nil
		}
		row, wanted = s.match.judge(line)
	}
	if !row && !s.quiet {
		s.stats.Skipped++
	}
	if !wanted {
		return nil
	}
	return emit(line)
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
