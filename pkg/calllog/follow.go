package calllog

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// Follow is Scan, and then goes on with the wanted rows that are written, in the
// order in which it meets them, until ctx is done or emit fails. It looks every
// LogFollowEvery; idle is called when all that is there was given. Each row comes
// once: over midnight, in files that appear later, and when a file is renamed,
// truncated or replaced. A line counts when it has its end. q.Limit is for the
// rows that are there at the beginning; Newest is not looked at.
func Follow(ctx context.Context, dir string, q Query, emit func(row []byte) error, idle func() error) (Stats, error) {
	return follow(ctx, dir, q, emit, idle, config.LogFollowEvery)
}

func follow(ctx context.Context, dir string, q Query, emit func(row []byte) error, idle func() error, every time.Duration) (Stats, error) {
	q.Newest = false
	fo := &follower{scanner: scanner{ctx: ctx, dir: dir, lost: &lost{}}, now: map[string]*followed{}, match: newMatcher(&q)}
	fo.give = func(_ place, row []byte) error {
		fo.stats.Rows++
		return emit(row)
	}
	defer fo.close()
	if err := fo.begin(q, emit); err != nil {
		return fo.stats, err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := idle(); err != nil {
			return fo.stats, err
		}
		select {
		case <-ctx.Done():
			return fo.stats, ctx.Err()
		case <-tick.C:
		}
		if err := fo.look(); err != nil {
			return fo.stats, err
		}
	}
}

type follower struct {
	scanner // for counting and giving rows
	match   *matcher
	give    emitter
	now     map[string]*followed // the files of the log by name
	gone    []*followed          // files that lost their name, which a writer may not have noticed
	piece   piece
}

// followed is one file and how much of it was dealt with.
type followed struct {
	file   *os.File    // nil = closed, since nobody writes to files of that day
	info   fs.FileInfo // tells it from another one of its name
	offset int64       // where the next line begins
	mark   []byte      // what stands before offset
	gone   time.Time   // when its name was missed
}

// markBytes holds the random part of an id, also in long rows.
const markBytes = 1 << 10

// begin gives the rows that are there and remembers where they end.
func (fo *follower) begin(q Query, emit func([]byte) error) error {
	files, err := dayFiles(fo.dir)
	if err != nil {
		return err
	}
	s := &scanner{ctx: fo.ctx, dir: fo.dir, query: &q, files: files, lost: fo.lost}
	for i := range files {
		f, err := s.open(i)
		if f == nil {
			if err != nil {
				return err
			}
			continue
		}
		t := &followed{file: f}
		fo.now[files[i].name()] = t
		if err := t.toEnd(); err != nil {
			return err
		}
		fo.rest(files, i)
	}
	s.files = q.cover(slices.Clone(files))
	for _, f := range s.files {
		size := int64(0)
		if t := fo.now[f.name()]; t != nil {
			size = t.offset
		}
		s.sizes = append(s.sizes, size)
	}
	err = s.scan(emit)
	fo.stats = s.stats
	return err
}

// toEnd begins behind the last whole line.
func (t *followed) toEnd() (err error) {
	if t.info, err = t.file.Stat(); err != nil {
		return err
	}
	end, err := lastLineEnd(t.file, 0, t.info.Size())
	if err != nil {
		return err
	}
	return t.at(end)
}

// at sets where the next line begins.
func (t *followed) at(offset int64) error {
	mark := make([]byte, min(offset, markBytes))
	if _, err := t.file.ReadAt(mark, offset-int64(len(mark))); err != nil {
		return err
	}
	t.offset, t.mark = offset, mark
	return nil
}

// rest closes the file unless a writer may go on with it under another name,
// which is so for those of the last two days that all write to.
func (fo *follower) rest(files []dayFile, i int) {
	t, newest := fo.now[files[i].name()], files[len(files)-1].day
	if t == nil || t.file == nil || files[i].owner == "" && !files[i].day.Before(newest.AddDate(0, 0, -1)) {
		return
	}
	_ = t.file.Close() // only read from
	t.file = nil
}

// look gives what was written since the last time.
func (fo *follower) look() error {
	files, err := dayFiles(fo.dir)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(files))
	for i := range files {
		name := files[i].name()
		there[name] = true
		if err := fo.lookAt(name); err != nil {
			return err
		}
		fo.rest(files, i)
	}
	for name, t := range fo.now {
		if !there[name] {
			fo.lose(name, t)
		}
	}
	return fo.drain()
}

// lookAt deals with one file by its name.
func (fo *follower) lookAt(name string) error {
	path := filepath.Join(fo.dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return ignoreAbsent(err)
	}
	t := fo.now[name]
	if t != nil && !os.SameFile(t.info, info) {
		fo.lose(name, t)
		t = nil
	}
	if t == nil {
		t = &followed{}
		fo.now[name] = t
	} else if info.Size() == t.offset {
		return nil
	}
	if t.file == nil {
		if t.file, err = state.Open(path, state.Check{Private: true}); err != nil {
			delete(fo.now, name)
			return ignoreAbsent(err)
		}
	}
	return fo.read(t)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lose goes on with a file that has its name no more, as long as a writer may.
func (fo *follower) lose(name string, t *followed) {
	delete(fo.now, name)
	if t.file != nil {
		t.gone = time.Now()
		fo.gone = append(fo.gone, t)
	}
}

func (fo *follower) drain() error {
	for i := len(fo.gone) - 1; i >= 0; i-- {
		t := fo.gone[i]
		if err := fo.read(t); err != nil {
			return err
		}
		if time.Since(t.gone) > 2*config.LogCheckEvery {
			_ = t.file.Close() // only read from
			fo.gone = slices.Delete(fo.gone, i, i+1)
		}
	}
	return nil
}

// read gives the whole lines behind t.offset.
func (fo *follower) read(t *followed) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	t.info = info
	if t.replaced() {
		t.offset, t.mark = 0, nil
	}
	end, err := lastLineEnd(t.file, t.offset, max(t.offset, info.Size()))
	if err != nil || end == t.offset {
		return err
	}
	p := &fo.piece
	for from := t.offset; from < end; from = p.to {
		p.f, p.at, p.to, p.size = t.file, from, min(end, from+config.LogPiece), end
		if p.judge(fo.match); p.err != nil {
			return p.err
		}
		if err := fo.emit(p, false, fo.give); err != nil {
			return err
		}
	}
	return t.at(end)
}

// replaced reports that the file is not the one any more whose first offset
// bytes were read: it was truncated, and may have grown since.
func (t *followed) replaced() bool {
	if t.info.Size() < t.offset {
		return true
	}
	b := make([]byte, len(t.mark))
	_, err := t.file.ReadAt(b, t.offset-int64(len(b)))
	return err != nil || !bytes.Equal(b, t.mark)
}

func (fo *follower) close() {
	for _, t := range fo.now {
		fo.gone = append(fo.gone, t)
	}
	for _, t := range fo.gone {
		if t.file != nil {
			_ = t.file.Close() // only read from
		}
	}
}
