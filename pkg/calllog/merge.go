package calllog

import (
	"bytes"
	"container/heap"
	"iter"
	"time"

	"postern/pkg/config"
)

// lane is one stream of a merge. It is opened only when a row of it can be the
// next one: the log of a network file system may have thousands of files.
type lane struct {
	files []int
	key   time.Time // of row; before it is opened, a bound on all its rows
	at    place
	row   []byte
	next  func() (place, []byte, bool) // nil = not opened
	stop  func()
	err   error
}

// lanes is a heap: the lane whose row is the next one first.
type lanes struct {
	all     []*lane
	reverse bool
}

func (l *lanes) Len() int { return len(l.all) }
func (l *lanes) Less(i, j int) bool {
	if l.reverse {
		return l.all[i].key.After(l.all[j].key)
	}
	return l.all[i].key.Before(l.all[j].key)
}
func (l *lanes) Swap(i, j int) { l.all[i], l.all[j] = l.all[j], l.all[i] }
func (l *lanes) Push(x any)    { l.all = append(l.all, x.(*lane)) }
func (l *lanes) Pop() any {
	n := len(l.all) - 1
	x := l.all[n]
	l.all = l.all[:n]
	return x
}

// merge reads streams side by side and gives their rows in the order in which
// the calls ended, or in reverse.
func (s *scanner) merge(streams [][]int, reverse bool, emit emitter) error {
	h := &lanes{reverse: reverse}
	for _, files := range streams {
		h.all = append(h.all, &lane{files: files, key: s.bound(files, reverse)})
	}
	heap.Init(h)
	defer func() {
		for _, l := range h.all {
			if l.next != nil {
				l.stop()
			}
		}
	}()
	for h.Len() > 0 {
		l := h.all[0]
		if l.next == nil {
			l.next, l.stop = iter.Pull2(s.rows(l, reverse))
		} else if err := emit(l.at, l.row); err != nil {
			return err
		}
		var ok bool
		if l.at, l.row, ok = l.next(); !ok {
			heap.Pop(h)
			if l.err != nil {
				return l.err
			}
			continue
		}
		if end, ok := rowEnd(l.row); ok {
			l.key = end
		}
		heap.Fix(h, 0)
	}
	return nil
}

// rows is stream as an iterator; its error is left in l.
func (s *scanner) rows(l *lane, reverse bool) iter.Seq2[place, []byte] {
	return func(yield func(place, []byte) bool) {
		l.err = s.stream(l.files, reverse, 1, config.LogBlock, func(at place, row []byte) error {
			if !yield(at, row) {
				return errStopped
			}
			return nil
		})
	}
}

// bound is a time that no row of a stream lies before, or after when read in
// reverse. What cannot be told is opened at once.
func (s *scanner) bound(files []int, reverse bool) (t time.Time) {
	i := files[0]
	if reverse {
		i, t = files[len(files)-1], time.Now().AddDate(1000, 0, 0)
	}
	f, err := s.open(i)
	if f == nil || err != nil {
		return t
	}
	defer f.Close()
	if reverse {
		if fi, err := f.Stat(); err == nil {
			t = fi.ModTime().Add(config.LogOrder)
		}
		return t
	}
	head := make([]byte, 16<<10)
	n, _ := f.ReadAt(head, 0)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	if end, ok := rowEnd(line); ok {
		t = end.Add(-config.LogOrder)
	}
	return t
}
