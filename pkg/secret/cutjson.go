package secret

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"postern/pkg/wire"
)

// cutStrings are the bytes left of each string of JSON that is too long, tried
// in this order: one long text must not cost the short ones beside it.
var cutStrings = [...]int{1024, 256, 64}

// smallest is the room that anything can be cut to.
const smallest = 24

// cutJSON makes valid JSON without space at most max bytes long, and valid still.
func cutJSON(raw []byte, max int) []byte {
	for _, limit := range cutStrings {
		c := cutter{in: raw, strings: limit}
		c.value(math.MaxInt32)
		if len(c.out) <= max {
			return c.out
		}
	}
	c := cutter{in: raw, strings: cutStrings[len(cutStrings)-1]}
	c.value(max)
	return c.out
}

// cutter copies as much of valid JSON as there is room for.
type cutter struct {
	in      []byte
	i       int
	out     []byte
	strings int
}

// value copies the value that is next into at most room bytes, of which there
// are smallest or more.
func (c *cutter) value(room int) {
	start := c.i
	switch c.in[c.i] {
	case '{':
		c.container(room, '}')
	case '[':
		c.container(room, ']')
	case '"':
		c.skip()
		c.text(c.in[start:c.i], room)
	default:
		c.skip()
		if literal := c.in[start:c.i]; len(literal) <= room {
			c.out = append(c.out, literal...)
		} else {
			c.out = append(c.out, `"[cut:`+strconv.Itoa(len(literal))+`]"`...)
		}
	}
}

// container copies items as long as there is room for the smallest form of one
// more, the note on those left out, and the end.
func (c *cutter) container(room int, end byte) {
	limit := len(c.out) + room
	c.out = append(c.out, c.in[c.i])
	c.i++
	for c.in[c.i] != end {
		comma := c.in[c.i] == ','
		if comma {
			c.i++
		}
		left := limit - len(c.out) - 1 - 1 - smallest // but for comma, end and note
		if end == '}' {
			left -= c.name() + 1
		}
		if left < smallest {
			c.missing(end, comma)
			break
		}
		if comma {
			c.out = append(c.out, ',')
		}
		if end == '}' {
			start := c.i
			c.skip()
			c.text(c.in[start:c.i], math.MaxInt32)
			c.i++
			c.out = append(c.out, ':')
		}
		c.value(left)
	}
	c.out = append(c.out, end)
	c.i++
}

// name is the room that the name that is next needs.
func (c *cutter) name() int {
	look := cutter{in: c.in, i: c.i, strings: c.strings}
	start := look.i
	look.skip()
	look.text(c.in[start:look.i], math.MaxInt32)
	return len(look.out)
}

// missing passes over the rest of a container and notes how many items that is.
func (c *cutter) missing(end byte, comma bool) {
	n := 0
	for c.in[c.i] != end {
		if c.in[c.i] == ',' {
			c.i++
		}
		c.skip()
		if end == '}' {
			c.i++
			c.skip()
		}
		n++
	}
	if comma {
		c.out = append(c.out, ',')
	}
	if end == '}' {
		c.out = append(c.out, `"[cut]":`+strconv.Itoa(n)...)
	} else {
		c.out = append(c.out, `"[cut:`+strconv.Itoa(n)+`]"`...)
	}
}

// text copies a string, cut where it is longer than strings are to be, or than
// there is room.
func (c *cutter) text(raw []byte, room int) {
	if len(raw) <= min(room, c.strings+2) {
		c.out = append(c.out, raw...)
		return
	}
	s, err := wire.Unquote(raw)
	if err != nil {
		_ = json.Unmarshal(raw, &s)
	}
	for keep := min(room, c.strings, len(s)); ; keep = keep * 3 / 4 { // escapes need room too
		head := headOf(s, keep)
		quoted := wire.Quote(head + "[cut:" + strconv.Itoa(len(s)-len(head)) + "]")
		if keep == 0 || len(quoted) <= min(room, c.strings+smallest) {
			c.out = append(c.out, quoted...)
			return
		}
	}
}

// headOf is the beginning of s, at most n bytes, that cuts no character and no mark.
func headOf(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	head := s[:n]
	if i := strings.LastIndexByte(head, '['); i >= 0 {
		if start, end := nextMark(s[i:]); start == 0 && i+end > n {
			head = head[:i]
		}
	}
	return head
}

// skip passes over the value that is next.
func (c *cutter) skip() {
	w := rewriter{in: c.in, i: c.i}
	w.skip()
	c.i = w.i
}
