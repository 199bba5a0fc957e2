package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"postern/pkg/secret"
)

// want reports whether n is of kind k, and says so when it is not.
func (r *reader) want(n *node, path string, k kind) bool {
	switch {
	case n.kind == k:
		return true
	case n.kind == kindBad:
		r.fail(n.pos, path, "%s", n.text)
	case n.kind == kindNull:
		r.fail(n.pos, path, "has no value; write one or take the field away")
	case k == kindString && (n.kind == kindNumber || n.kind == kindBool):
		r.fail(n.pos, path, "must be a string: write %q in quotes", n.text)
	default:
		r.fail(n.pos, path, "must be %s, not %s", k, n.kind)
	}
	return false
}

// text reads a string of at most most bytes that may stand in an argument or a
// path: no NUL. Its content is never shown, it may be a secret.
func (r *reader) text(n *node, path string, most int) (string, bool) {
	switch {
	case !r.want(n, path, kindString):
		return "", false
	case len(n.text) > most:
		r.fail(n.pos, path, "longer than %d bytes", most)
		return "", false
	case strings.ContainsRune(n.text, 0):
		r.fail(n.pos, path, "holds a NUL character")
		return "", false
	}
	return n.text, true
}

// list reads each item of a list by read, which says what is wrong with it.
func list[T any](r *reader, n *node, path string, most int, read func(n *node, path string) (T, bool)) []T {
	if !r.want(n, path, kindList) {
		return nil
	}
	if len(n.items) > most {
		r.fail(n.pos, path, "more than %d entries", most)
		return nil
	}
	out := make([]T, 0, len(n.items))
	for i, item := range n.items {
		if v, ok := read(item, fmt.Sprintf("%s[%d]", path, i)); ok {
			out = append(out, v)
		}
	}
	return out
}

// template reads text with references. Where the text may itself be a secret
// the message leaves it out.
func (r *reader) template(n *node, path string, most int, hide bool) (string, bool) {
	if hide && (n.kind == kindNumber || n.kind == kindBool) {
		r.fail(n.pos, path, "must be a string: write it in quotes")
		return "", false
	}
	s, ok := r.text(n, path, most)
	if !ok {
		return "", false
	}
	if err := checkTemplate(s); err != nil {
		if hide {
			r.fail(n.pos, path, "%s", err.Why)
		} else {
			r.fail(n.pos, path, "%s", err.Error())
		}
		return "", false
	}
	return s, true
}

func checkTemplate(s string) *secret.SyntaxError {
	if _, err := secret.ParseTemplate(s); err != nil {
		return err.(*secret.SyntaxError)
	}
	return nil
}

// variable reads the name of an environment variable.
func (r *reader) variable(n *node, path string) (string, bool) {
	if !r.want(n, path, kindString) {
		return "", false
	}
	return n.text, r.variableName(n.pos, path, n.text)
}

func (r *reader) variableName(at pos, path, name string) bool {
	switch {
	case !secret.ValidName(name):
		r.fail(at, path, "not a variable's name: letters, digits and _ only, no digit first")
	case secret.Withheld(name):
		r.fail(at, path, "reaches no server: it steers postern itself")
	default:
		return true
	}
	return false
}

// duration reads a wait with its unit, above zero and at most most, and
// doubts a very short one.
func (r *reader) duration(n *node, path string, most time.Duration) time.Duration {
	d := r.span(n, path, most)
	if d > 0 {
		r.doubtShort(n.pos, path, d)
	}
	return d
}

// durationOrNever is duration, and 0 for never.
func (r *reader) durationOrNever(n *node, path string, most time.Duration) time.Duration {
	if (n.kind == kindNumber || n.kind == kindString) && strings.TrimRight(n.text, "hms") == "0" {
		return 0
	}
	return r.duration(n, path, most)
}

// span reads a span of time with its unit, above zero and at most most.
func (r *reader) span(n *node, path string, most time.Duration) time.Duration {
	if n.kind == kindNumber {
		r.fail(n.pos, path, "a duration needs a unit: write %ss or %sms", n.text, n.text)
		return 0
	}
	if !r.want(n, path, kindString) {
		return 0
	}
	d, err := time.ParseDuration(n.text)
	switch {
	case err != nil:
		r.fail(n.pos, path, "%.40q is no duration: write one like 500ms, 60s or 15m", n.text)
	case d <= 0 || d > most:
		r.fail(n.pos, path, "must be above 0 and at most %s", most)
	default:
		return d
	}
	return 0
}

// doubtShort warns of a wait so short that its unit was probably mistaken.
func (r *reader) doubtShort(at pos, path string, d time.Duration) {
	if d < ShortTimeout {
		r.warn(at, path, "%s is very short; is the unit right?", d)
	}
}

// size reads a number of bytes, plain or with KiB, MiB or GiB.
func (r *reader) size(n *node, path string, least, most int64) int64 {
	v, ok := int64(0), false
	switch n.kind {
	case kindNumber:
		v, ok = whole(n.text)
	case kindString:
		v, ok = parseSize(n.text)
	default:
		r.want(n, path, kindString)
		return 0
	}
	switch {
	case !ok:
		r.fail(n.pos, path, "%.40q is no size: write bytes, or a number with KiB, MiB or GiB", n.text)
	case v < least || v > most:
		r.fail(n.pos, path, "must be from %s to %s", formatSize(least), formatSize(most))
	default:
		return v
	}
	return 0
}

func parseSize(s string) (int64, bool) {
	digits := strings.TrimRight(s, "BGKMi")
	shift, known := map[string]int{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[s[len(digits):]]
	v, ok := whole(strings.TrimSuffix(digits, " "))
	if !known || !ok || v < 0 || v > math.MaxInt64>>shift {
		return 0, false
	}
	return v << shift, true
}

// formatSize is the shortest exact spelling that parseSize reads.
func formatSize(v int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if v > 0 && v&(1<<unit.shift-1) == 0 {
			return strconv.FormatInt(v>>unit.shift, 10) + unit.name
		}
	}
	return strconv.FormatInt(v, 10)
}

// whole reads decimal digits only: 010, 1_000 and 0x10 mean different things
// in different YAML versions.
func whole(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}

// integer reads a whole number in a range.
func (r *reader) integer(n *node, path string, least, most int) int {
	if !r.want(n, path, kindNumber) {
		return 0
	}
	v, ok := whole(n.text)
	if !ok || v < int64(least) || v > int64(most) {
		r.fail(n.pos, path, "must be a whole number from %d to %d", least, most)
		return 0
	}
	return int(v)
}

// boolean reads true or false; other only stands in for a value that is wrong.
func (r *reader) boolean(n *node, path string, other bool) bool {
	if n.kind == kindString {
		switch strings.ToLower(n.text) {
		case "yes", "no", "on", "off", "true", "false":
			r.fail(n.pos, path, "must be true or false, without quotes")
			return other
		}
	}
	if !r.want(n, path, kindBool) {
		return other
	}
	return strings.EqualFold(n.text, "true")
}

// choice reads one of a few words.
func choice[T ~string](r *reader, n *node, path string, words ...T) (T, bool) {
	if !r.want(n, path, kindString) {
		return "", false
	}
	known := make([]string, len(words))
	for i, w := range words {
		if known[i] = string(w); n.text == known[i] {
			return w, true
		}
	}
	r.add(Diagnostic{Line: n.pos.line, Column: n.pos.column, Field: path,
		Problem: "must be one of " + strings.Join(known, ", "), Nearest: nearest(n.text, known)})
	return "", false
}
