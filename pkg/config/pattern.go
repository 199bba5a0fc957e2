package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckPattern says what is wrong with the text of a pattern (R53); nil when
// nothing is. The forms are SERVER/TOOL, a joined name SERVER__TOOL,
// resource:SERVER/URI, prompt:SERVER/NAME and exec:COMMAND. In every part `*`
// is any run of characters and `?` one; nothing else is special, so a pattern
// cannot be malformed in itself, only useless: empty in a part, unprintable,
// or too long.
func CheckPattern(text string) error {
	if err := checkGlob(text); err != nil {
		return err
	}
	rest, parts := text, false
	for _, prefix := range []string{"resource:", "prompt:"} {
		if after, ok := strings.CutPrefix(text, prefix); ok {
			rest, parts = after, true
		}
	}
	if after, ok := strings.CutPrefix(text, "exec:"); ok {
		if after == "" {
			return errors.New("exec: must be followed by a command pattern")
		}
		return nil
	}
	server, item, split := strings.Cut(rest, "/")
	switch {
	case parts && !split:
		return errors.New("SERVER/ must follow the prefix")
	case split && (server == "" || item == ""):
		return errors.New("a part beside the / is empty; write * for any")
	}
	return nil
}

// checkGlob is the part of CheckPattern that holds for every list of patterns.
func checkGlob(text string) error {
	switch {
	case text == "":
		return errors.New("an empty pattern matches nothing; take it away")
	case len(text) > MaxPatternBytes:
		return fmt.Errorf("longer than %d bytes", MaxPatternBytes)
	case !utf8.ValidString(text):
		return errors.New("not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("holds a control character")
	}
	return nil
}

// patterns reads a list of patterns that check accepts.
func (r *reader) patterns(n *node, path string, check func(string) error) []Pattern {
	return list(r, n, path, MaxPatterns, func(n *node, path string) (Pattern, bool) {
		if !r.want(n, path, kindString) {
			return Pattern{}, false
		}
		if err := check(n.text); err != nil {
			r.fail(n.pos, path, "%s", err)
			return Pattern{}, false
		}
		return Pattern{Text: n.text, At: r.place(n.pos)}, true
	})
}
