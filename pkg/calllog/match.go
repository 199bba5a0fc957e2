package calllog

import (
	"slices"
	"strconv"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// matcher judges lines by one query. It keeps its buffers between lines.
type matcher struct {
	quick        quick
	since, until time.Time
	filters      []Filter
	names        []string    // of the members it reads: v, ts, then those of filters
	spans        []wire.Span // of those members in the present line
	at           []int       // of each filter, its index in names; -1 for text
}

func newMatcher(q *Query) *matcher {
	m := &matcher{quick: newQuick(q), since: q.Since, until: q.Until, filters: q.Filters, names: []string{"v", "ts"}}
	for _, f := range q.Filters {
		if f.text != nil {
			m.at = append(m.at, -1)
			continue
		}
		i := slices.Index(m.names, f.member)
		if i < 0 {
			i = len(m.names)
			m.names = append(m.names, f.member)
		}
		m.at = append(m.at, i)
	}
	m.spans = make([]wire.Span, len(m.names))
	return m
}

// judge reports whether line is a row at all, and whether the query wants it. A
// row is a JSON object with a version and a start time, in which no member that
// is read can be taken for two.
func (m *matcher) judge(line []byte) (row, wanted bool) {
	if m.quick.unwanted(line) {
		return true, false
	}
	return m.read(line)
}

// read is judge by reading the whole line.
func (m *matcher) read(line []byte) (row, wanted bool) {
	if wire.Lookup(line, m.names, m.spans) != nil {
		return false, false
	}
	v := m.spans[0].Of(line)
	if len(v) == 0 || v[0] < '1' || v[0] > '9' {
		return false, false
	}
	start, ok := parseTS(m.spans[1].Of(line))
	if !ok {
		return false, false
	}
	if start.Before(m.since) || !m.until.IsZero() && !start.Before(m.until) {
		return true, false
	}
	for i := range m.filters {
		f := &m.filters[i]
		if f.text != nil && !f.text.Match(line) || f.text == nil && !f.match(m.spans[m.at[i]].Of(line)) {
			return true, false
		}
	}
	return true, true
}

// rowEnd is when the call of a row ended, which is what the rows of a file are
// ordered by.
func rowEnd(line []byte) (end time.Time, ok bool) {
	var spans [2]wire.Span
	if wire.Lookup(line, []string{"ts", "latency_ms"}, spans[:]) != nil {
		return time.Time{}, false
	}
	return endOf(spans[0].Of(line), spans[1].Of(line))
}

// endOf is rowEnd from the raw values.
func endOf(ts, latency []byte) (end time.Time, ok bool) {
	start, ok := parseTS(ts)
	if !ok {
		return time.Time{}, false
	}
	ms, err := strconv.ParseFloat(string(latency), 64)
	if err != nil || ms < 0 {
		ms = 0
	}
	ms = min(ms, float64(config.LogLongestCall/time.Millisecond))
	return start.Add(time.Duration(ms * float64(time.Millisecond))), true
}

// parseTS reads the raw value of a start time.
func parseTS(raw []byte) (time.Time, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(raw[1:len(raw)-1]))
	return t, err == nil
}
