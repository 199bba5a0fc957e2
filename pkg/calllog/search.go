package calllog

import (
	"bytes"
	"io"
	"sort"
	"time"

	"postern/pkg/config"
)

// narrow returns the part of a file in which the wanted rows begin, found by
// halving. The rows of a file are ordered by their end, give or take LogOrder: a
// row that began at Since or later also ended after it, and one that began
// before Until ended at most LogLongestCall later.
func (q *Query) narrow(f io.ReaderAt, size int64) (from, to int64) {
	from, to = 0, size
	blocks := int((size + config.LogBlock - 1) / config.LogBlock)
	if blocks < 4 {
		return from, to
	}
	if !q.Since.IsZero() {
		since := q.Since.Add(-config.LogOrder)
		from = config.LogBlock * int64(sort.Search(blocks, func(i int) bool {
			b := readBlock(f, i)
			return !b.whole || !b.last.Before(since)
		}))
	}
	if !q.Until.IsZero() {
		until := q.Until.Add(config.LogOrder + config.LogLongestCall)
		to = min(size, config.LogBlock*int64(sort.Search(blocks, func(i int) bool {
			b := readBlock(f, i)
			return b.rows > 0 && !b.first.Before(until)
		})))
	}
	return from, to
}

// block is what is known of the rows that begin in one block of a file.
type block struct {
	first, last time.Time // earliest and latest end
	rows        int
	whole       bool // all of them are known, and there is one
}

func readBlock(f io.ReaderAt, i int) block {
	at := config.LogBlock * int64(i)
	base := max(0, at-1)
	buf := make([]byte, config.LogBlock+(8<<10)) // the last row ends in what follows
	n, _ := f.ReadAt(buf, base)
	buf = buf[:n]
	pos := 0
	if at > 0 {
		pos = bytes.IndexByte(buf, '\n') + 1
		if pos == 0 {
			return block{}
		}
	}
	var b block
	for base+int64(pos) < at+config.LogBlock {
		n := bytes.IndexByte(buf[pos:], '\n')
		if n < 0 {
			return b // also at the end of the file: nothing lies behind it
		}
		if end, ok := rowEnd(buf[pos : pos+n]); ok {
			if b.rows == 0 || end.Before(b.first) {
				b.first = end
			}
			b.last = later(b.last, end)
			b.rows++
		}
		pos += n + 1
	}
	b.whole = b.rows > 0
	return b
}
