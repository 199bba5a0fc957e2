package upstream

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// escapes are the control sequences of terminals: colours, cursor, titles.
var escapes = sync.OnceValue(func() *regexp.Regexp { // not made at each start
	return regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[ -/]*[0-~])`)
})

// clean makes foreign text fit for a message: valid UTF-8, without terminal
// control sequences, and without characters that act or hide, other than newlines.
func clean(s string) string {
	s = strings.ToValidUTF8(escapes().ReplaceAllString(s, ""), "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// lastLines is the end of s, at most max bytes, whole lines where that leaves
// any.
func lastLines(s string, max int) string {
	s = strings.Trim(s, "\n")
	if len(s) <= max {
		return s
	}
	s = s[len(s)-max:]
	if _, after, ok := strings.Cut(s, "\n"); ok {
		return after
	}
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
