package calllog

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/wire"
)

// Filter is one condition on a row. Of several all must hold.
type Filter struct {
	member   string   // of the row; "" with text
	globs    []string // one must match the value; absent counts as ""
	low      float64  // latency only: low ≤ value < high, milliseconds
	high     float64
	interval bool
	text     *regexp.Regexp // text~ only: it must match somewhere in the line
}

// FilterError says why an argument is no filter.
type FilterError struct {
	Arg     string // as it was given
	Problem string
	Nearest string // what was probably meant, "" when nothing is close
}

func (e *FilterError) Error() string {
	text := fmt.Sprintf("filter %q: %s", e.Arg, e.Problem)
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q", e.Nearest)
	}
	return text
}

// FilterNames are the words that may stand before "=" in a filter. All but
// latency are the names of row members.
func FilterNames() []string {
	return []string{"caller", "id", "latency", "level", "outcome", "project", "scope", "session", "step", "tier", "tool", "upstream", "via", "word"}
}

// ParseFilter reads NAME=VALUE or text~REGEX, which is looked for in the row as
// it stands in the log. VALUE is one or more patterns with commas
// between them, in which * stands for any run of characters and ? for one; an
// empty VALUE finds rows without that member. A latency is an interval: 500ms..
// or ..2s or 100ms..1s, its upper end outside. Errors are *FilterError.
func ParseFilter(arg string) (Filter, error) {
	if expr, ok := strings.CutPrefix(arg, "text~"); ok {
		return parseText(arg, expr)
	}
	name, value, ok := strings.Cut(arg, "=")
	names := FilterNames()
	if !ok {
		return Filter{}, &FilterError{Arg: arg, Problem: "not of the form NAME=VALUE or text~REGEX, NAME being one of " + strings.Join(names, ", ")}
	}
	if !slices.Contains(names, name) {
		return Filter{}, &FilterError{Arg: arg, Problem: "no such field; there are " + strings.Join(names, ", "), Nearest: config.Nearest(name, names)}
	}
	if name == "latency" {
		return parseLatency(arg, value)
	}
	f := Filter{member: name, globs: strings.Split(value, ",")}
	if name == "outcome" {
		if err := checkOutcomes(arg, f.globs); err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

func parseText(arg, expr string) (Filter, error) {
	if expr == "" {
		return Filter{}, &FilterError{Arg: arg, Problem: "an empty expression is in every row"}
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Filter{}, &FilterError{Arg: arg, Problem: err.Error()}
	}
	return Filter{text: re}, nil
}

// checkOutcomes refuses an outcome that no row can have: an empty answer would
// read as "there were none".
func checkOutcomes(arg string, globs []string) error {
	var known []string
	for _, o := range Outcomes() {
		known = append(known, string(o))
	}
	for _, g := range globs {
		matches := func(o string) bool { return policy.Match(g, o) }
		if !slices.ContainsFunc(known, matches) {
			return &FilterError{Arg: arg, Problem: fmt.Sprintf("%q is no outcome; there are %s", g, strings.Join(known, ", ")), Nearest: config.Nearest(g, known)}
		}
	}
	return nil
}

func parseLatency(arg, value string) (Filter, error) {
	low, high, ok := strings.Cut(value, "..")
	if !ok || low == "" && high == "" {
		return Filter{}, &FilterError{Arg: arg, Problem: "a latency is an interval such as 500ms.. or 100ms..2s"}
	}
	f := Filter{member: "latency_ms", interval: true, high: maxMillis}
	for _, end := range []struct {
		text string
		to   *float64
	}{{low, &f.low}, {high, &f.high}} {
		if end.text == "" {
			continue
		}
		d, err := time.ParseDuration(end.text)
		if err != nil || d < 0 {
			return Filter{}, &FilterError{Arg: arg, Problem: fmt.Sprintf("%q is no duration such as 500ms or 2s", end.text)}
		}
		*end.to = float64(d) / float64(time.Millisecond)
	}
	if f.low >= f.high {
		return Filter{}, &FilterError{Arg: arg, Problem: "the interval is empty"}
	}
	return f, nil
}

// maxMillis is above every duration a row can have.
const maxMillis = 1e18

// match judges the raw JSON value of the filter's member, nil when absent.
func (f *Filter) match(raw []byte) bool {
	if f.interval {
		v, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && f.low <= v && v < f.high
	}
	text, ok := plainText(raw)
	return ok && slices.ContainsFunc(f.globs, func(g string) bool { return policy.Match(g, text) })
}

// plainText is a string's content, a number's digits, and "" for null and for
// what is not there. Nothing else has a text.
func plainText(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return "", true
	case raw[0] == '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return string(raw[1 : len(raw)-1]), true
		}
		s, err := wire.Unquote(raw)
		return s, err == nil
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		return string(raw), true
	}
	return "", false
}
