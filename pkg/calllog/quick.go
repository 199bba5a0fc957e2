package calllog

import (
	"bytes"
	"strings"
	"time"
)

// quick turns lines away that need no reading: those that begin and end as the
// rows of this package do and in which the text that a filter asks for does not
// stand anywhere, or which began at another time. All others are judged in full.
// It is what lets a scan keep up with the disk.
type quick struct {
	since, until string     // as in a row; "" = no bound
	needles      [][]string // for each filter that has such texts: one of them must be there
	latency      []*Filter  // intervals; the member stands near the beginning
}

func newQuick(q *Query) quick {
	var k quick
	if y := q.Since.UTC().Year(); !q.Since.IsZero() && y < 10000 {
		k.since = q.Since.UTC().Format(layout)
	}
	if y := q.Until.UTC().Year(); !q.Until.IsZero() && y >= 0 {
		k.until = q.Until.UTC().Format(layout)
	}
	for i := range q.Filters {
		f := &q.Filters[i]
		if f.interval {
			k.latency = append(k.latency, f)
		}
		if n := f.needles(); n != nil {
			k.needles = append(k.needles, n)
		}
	}
	return k
}

// needles are texts of which one stands in every line that f matches; nil = none
// are known.
func (f *Filter) needles() []string {
	var all []string
	for _, g := range f.globs {
		longest := ""
		for part := range strings.FieldsFuncSeq(g, func(r rune) bool { return !isPlain(r) }) {
			if len(part) > len(longest) {
				longest = part
			}
		}
		if longest == g && strings.Trim(g, "-.0123456789") != "" {
			longest = `"` + g + `"` // whole, and no number: it is a string
		}
		if len(longest) < 3 {
			return nil
		}
		all = append(all, longest)
	}
	return all
}

// isPlain tells the characters that JSON can only write as themselves or as
// \uXXXX.
func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
}

// Where things stand in the rows of this package.
const (
	headID = `{"v":1,"id":"`
	headTS = `","ts":"`
	atTS   = len(headID) + 26 + len(headTS)
	endTS  = atTS + len(layout)
	tail   = `"response_tokens_est":`
	loss   = `,"dropped":`
	// Only the writer and a number stand between the time and this one.
	latency = `,"latency_ms":`
)

// unwanted is true only for a row that the query does not want.
func (k *quick) unwanted(line []byte) bool {
	if len(line) <= endTS || string(line[:len(headID)]) != headID || string(line[atTS-len(headTS):atTS]) != headTS || !endsRow(line) {
		return false
	}
	ts := line[atTS:endTS]
	if ts[len(ts)-1] != 'Z' || line[endTS] != '"' {
		return false
	}
	if _, err := time.Parse(time.RFC3339Nano, string(ts)); err != nil {
		return false
	}
	if string(ts) < k.since || k.until != "" && string(ts) >= k.until {
		return true
	}
	for _, f := range k.latency {
		if raw := number(line[endTS:], latency); len(raw) > 0 && !f.match(raw) {
			return true
		}
	}
	for _, needles := range k.needles {
		if !containsOne(line, needles) {
			return !bytes.Contains(line, []byte(`\u`)) // which could be one of its letters
		}
	}
	return false
}

// endsRow reports whether line ends as a row does: half a row does not.
func endsRow(line []byte) bool {
	rest, ok := bytes.CutSuffix(line, []byte("}"))
	if cut, more := bytes.CutSuffix(trimNumber(rest), []byte(loss)); more {
		ok, rest = ok && !bytes.HasSuffix(rest, []byte(loss)), cut
	}
	digits := len(rest)
	rest = trimNumber(rest)
	return ok && len(rest) < digits && bytes.HasSuffix(rest, []byte(tail))
}

func trimNumber(b []byte) []byte {
	n := len(b)
	for n > 0 && '0' <= b[n-1] && b[n-1] <= '9' {
		n--
	}
	return b[:n]
}

func containsOne(line []byte, needles []string) bool {
	for _, n := range needles {
		if bytes.Contains(line, []byte(n)) {
			return true
		}
	}
	return false
}

// number is the number behind the first name in line.
func number(line []byte, name string) []byte {
	at := bytes.Index(line, []byte(name)) + len(name)
	if at < len(name) {
		return nil
	}
	end := at
	for end < len(line) && (line[end] == '.' || '0' <= line[end] && line[end] <= '9') {
		end++
	}
	return line[at:end]
}
