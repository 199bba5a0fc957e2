package calllog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TimeError says why a text is no point in time.
type TimeError struct{ Text, Problem string }

func (e *TimeError) Error() string { return fmt.Sprintf("%q: %s", e.Text, e.Problem) }

// ParseSince reads where an interval begins. Text is a duration before now (90m,
// 1h30m, 2d, 1w), today or yesterday, a date, a date and a time, or an RFC 3339
// time. Without a zone it is in now's location; a date alone is its first
// moment. Errors are *TimeError.
func ParseSince(text string, now time.Time) (time.Time, error) { return parseTime(text, now, 0) }

// ParseUntil reads where an interval ends, which lies just outside of it. It is
// as ParseSince, but a date alone, today and yesterday stand for the end of that
// day, so that the day they name belongs to the interval.
func ParseUntil(text string, now time.Time) (time.Time, error) { return parseTime(text, now, 1) }

func parseTime(text string, now time.Time, days int) (time.Time, error) {
	switch text {
	case "now":
		return now, nil
	case "today":
		return midnight(now, days), nil
	case "yesterday":
		return midnight(now, days-1), nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		y, m, d := date.Date()
		return midnight(time.Date(y, m, d, 12, 0, 0, 0, now.Location()), days), nil
	}
	joined := strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, joined); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if read, err := time.Parse(layout, joined); err == nil {
			return local(text, read, now.Location())
		}
	}
	if d, ok := parseAgo(text); ok {
		return now.Add(-d), nil
	}
	return time.Time{}, &TimeError{text, "not a time: write 90m, 2d, yesterday, 2026-03-08, 2026-03-08T14:30 or 2026-03-08T14:30:00Z"}
}

// local takes the clock time of read as one of zone, if it exists there.
func local(text string, read time.Time, zone *time.Location) (time.Time, error) {
	y, m, d := read.Date()
	t := time.Date(y, m, d, read.Hour(), read.Minute(), read.Second(), read.Nanosecond(), zone)
	if t.Hour() != read.Hour() || t.Minute() != read.Minute() {
		return time.Time{}, &TimeError{text, "the clocks of " + zone.String() + " skipped this time: write it with an offset such as Z or +01:00"}
	}
	return t, nil
}

// midnight is the first moment of the day that lies days after t's. Where the
// clocks skip midnight that is one o'clock.
func midnight(t time.Time, days int) time.Time {
	y, m, d := t.Date()
	first := time.Date(y, m, d+days, 0, 0, 0, 0, t.Location())
	if want := time.Date(y, m, d+days, 12, 0, 0, 0, t.Location()).Day(); first.Day() != want {
		first = first.Add(time.Hour)
	}
	return first
}

// parseAgo reads a duration that may also be in days and weeks of 24 hours.
func parseAgo(text string) (time.Duration, bool) {
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(number, 10, 12) // some four thousand: eleven years of days
			return time.Duration(n) * time.Duration(hours) * time.Hour, err == nil
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
