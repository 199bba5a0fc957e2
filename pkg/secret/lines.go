package secret

import "strings"

// maxPEMLines ends a block of PEM that does not end by itself.
const maxPEMLines = 256

// Lines redacts a text that comes line by line, such as what a server writes to
// standard error. It is used by one goroutine at a time.
type Lines struct {
	r   *Redactor
	pem int // lines that the open block of PEM may have still
}

// Lines begins such a text.
func (r *Redactor) Lines() *Lines { return &Lines{r: r} }

// Line is the next line without secrets, without its newline as it came. cut
// says that the line was longer: then the beginning of a value at its end
// counts as one.
func (l *Lines) Line(line string, cut bool) string {
	inside := l.pem > 0
	if inside {
		l.pem--
	}
	begin, end := strings.LastIndex(line, pemBegin), strings.LastIndex(line, pemEnd)
	if begin > end {
		l.pem = maxPEMLines
	} else if end >= 0 {
		l.pem = 0
	} else if inside {
		return byShape.mark()
	}
	text, _ := l.r.redaction().text(line, cut)
	return text
}
