package calllog

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"postern/pkg/config"
)

// place is where a line begins: in which of the scanner's files, at which byte.
type place struct {
	file   int
	offset int64
}

// emitter takes a wanted row. The bytes are valid only during the call.
type emitter func(at place, row []byte) error

// stream reads files one after the other, in the order of their rows or in
// reverse, and gives their wanted rows in that order. jobs goroutines judge
// pieces of at most length bytes, two for each, so that memory does not grow
// with the files.
func (s *scanner) stream(files []int, reverse bool, jobs int, length int64, emit emitter) error {
	if reverse {
		files = slices.Clone(files)
		slices.Reverse(files)
	}
	work := make(chan *piece, 2*jobs)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() { // ends when work is closed
			m := newMatcher(s.query)
			for p := range work {
				p.judge(m)
				p.ready <- struct{}{}
			}
		})
	}
	q := queue{cursor: cursor{s: s, files: files, reverse: reverse, length: length}, work: work, room: 2 * jobs}
	defer func() {
		close(work)
		workers.Wait() // for at most the pieces under way
		q.close()
	}()
	for {
		p := q.next()
		if p == nil {
			return nil
		}
		if p.err != nil {
			return p.err
		}
		if err := s.emit(p, reverse, emit); err != nil {
			return err
		}
		if err := q.done(p); err != nil {
			return err
		}
	}
}

// queue holds the pieces under way, in order.
type queue struct {
	cursor   cursor
	work     chan<- *piece
	room     int // pieces that may be under way
	underway []*piece
	free     []*piece
	open     []*os.File
	ended    bool
}

// next waits for the next piece in order; nil = there are no more.
func (q *queue) next() *piece {
	for !q.ended && len(q.underway) < q.room {
		p := &piece{ready: make(chan struct{}, 1)}
		if n := len(q.free); n > 0 {
			p, q.free = q.free[n-1], q.free[:n-1]
		}
		ok, err := q.cursor.next(p)
		if q.ended = !ok; !ok && err == nil {
			break
		}
		q.underway = append(q.underway, p)
		if err != nil { // said when the rows before it were given
			p.err = err
			p.ready <- struct{}{}
			break
		}
		if len(q.open) == 0 || q.open[len(q.open)-1] != p.f {
			q.open = append(q.open, p.f)
		}
		q.work <- p // has room for all
	}
	if len(q.underway) == 0 {
		return nil
	}
	p := q.underway[0]
	q.underway = q.underway[1:]
	<-p.ready
	return p
}

// done takes a piece back, and closes its file when it was the last of it.
func (q *queue) done(p *piece) error {
	q.free = append(q.free, p)
	if !p.final {
		return nil
	}
	q.open = q.open[1:]
	return p.f.Close()
}

func (q *queue) close() {
	for _, f := range q.open {
		_ = f.Close() // only read from
	}
}

// emit gives the rows of one piece and counts its damage.
func (s *scanner) emit(p *piece, reverse bool, emit emitter) error {
	if reverse {
		slices.Reverse(p.lines)
	}
	for _, l := range p.lines {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		at := place{p.file, p.base + int64(l.start)}
		if l.row {
			if hidden, err := s.hides(p.buf[l.start:l.end]); err != nil || hidden {
				if err != nil {
					return err
				}
				continue
			}
			if err := emit(at, p.buf[l.start:l.end]); err != nil {
				return err
			}
			continue
		}
		if !s.quiet {
			s.stats.Skipped++
		}
		if s.damaged != nil {
			if err := s.damaged(at); err != nil {
				return err
			}
		}
	}
	return s.ctx.Err()
}

// read gives the wanted rows of all files, oldest first or newest first.
func (s *scanner) read(reverse bool, emit emitter) error {
	all := runs(s.files)
	if reverse {
		slices.Reverse(all)
	}
	for _, streams := range all {
		var err error
		if len(streams) == 1 {
			err = s.stream(streams[0], reverse, runtime.GOMAXPROCS(0), config.LogPiece, emit)
		} else {
			err = s.merge(streams, reverse, emit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runs divides the files into runs that are read one after the other. The
// streams of a run are read side by side: a day on which several wrote files of
// their own is such a run; days with one stream are one stream together.
func runs(files []dayFile) [][][]int {
	var all [][][]int
	for i := 0; i < len(files); {
		var streams [][]int
		day := i
		for ; i < len(files) && files[i].day.Equal(files[day].day); i++ {
			if i == day || files[i].owner != files[i-1].owner {
				streams = append(streams, nil)
			}
			streams[len(streams)-1] = append(streams[len(streams)-1], i)
		}
		if n := len(all); n > 0 && len(streams) == 1 && len(all[n-1]) == 1 {
			all[n-1][0] = append(all[n-1][0], streams[0]...)
			continue
		}
		all = append(all, streams)
	}
	return all
}
