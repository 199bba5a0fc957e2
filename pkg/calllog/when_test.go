package calllog

import (
	"errors"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParseTime(t *testing.T) { // MB-232
	kolkata, newYork, beirut := zone(t, "Asia/Kolkata"), zone(t, "America/New_York"), zone(t, "Asia/Beirut")
	now := time.Date(2026, 3, 9, 3, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		text         string
		zone         *time.Location
		since, until string // UTC
	}{
		{"90m", kolkata, "2026-03-09T02:00:00Z", "2026-03-09T02:00:00Z"},
		{"1h30m", newYork, "2026-03-09T02:00:00Z", "2026-03-09T02:00:00Z"},
		{"1d", newYork, "2026-03-08T03:30:00Z", "2026-03-08T03:30:00Z"}, // 24 hours, also over a change of the clocks
		{"2w", kolkata, "2026-02-23T03:30:00Z", "2026-02-23T03:30:00Z"},
		{"0s", kolkata, "2026-03-09T03:30:00Z", "2026-03-09T03:30:00Z"},
		{"now", kolkata, "2026-03-09T03:30:00Z", "2026-03-09T03:30:00Z"},
		{"today", kolkata, "2026-03-08T18:30:00Z", "2026-03-09T18:30:00Z"},
		{"today", newYork, "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"}, // 23 hours long
		{"yesterday", newYork, "2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z"},
		{"2026-03-08", newYork, "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"2026-03-08", kolkata, "2026-03-07T18:30:00Z", "2026-03-08T18:30:00Z"},
		{"2022-03-27", beirut, "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"}, // its midnight was skipped
		{"2026-03-08T14:30", newYork, "2026-03-08T18:30:00Z", "2026-03-08T18:30:00Z"},
		{"2026-03-08 14:30", newYork, "2026-03-08T18:30:00Z", "2026-03-08T18:30:00Z"},
		{"2026-03-08T14:30:15.5", kolkata, "2026-03-08T09:00:15.5Z", "2026-03-08T09:00:15.5Z"},
		{"2026-03-08T02:30Z", newYork, "2026-03-08T02:30:00Z", "2026-03-08T02:30:00Z"},
		{"2026-03-08T02:30:00+05:30", newYork, "2026-03-07T21:00:00Z", "2026-03-07T21:00:00Z"},
	} {
		since, err := ParseSince(tt.text, now.In(tt.zone))
		if got := since.UTC().Format(time.RFC3339Nano); err != nil || got != tt.since {
			t.Errorf("since %s in %s: %s, want %s, %v", tt.text, tt.zone, got, tt.since, err)
		}
		until, err := ParseUntil(tt.text, now.In(tt.zone))
		if got := until.UTC().Format(time.RFC3339Nano); err != nil || got != tt.until {
			t.Errorf("until %s in %s: %s, want %s, %v", tt.text, tt.zone, got, tt.until, err)
		}
	}
	for _, text := range []string{"", "5", "d", "-1h", "-1d", "9999999d", "tomorrow", "2026-02-30", "2026-3-8", "2026-03-08T2:30", "2026-03-08T25:00", "2026-03-08T02:30", "08.03.2026", "1h2026"} {
		_, err := ParseSince(text, now.In(newYork))
		var want *TimeError
		if !errors.As(err, &want) || want.Text != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"90m", "1d", "today", "2026-03-08", "2026-03-08T02:30", "2026-03-08T2:3", "2026-03-08T02:30:00.5+05:30", "9w"} {
		f.Add(text)
	}
	now := time.Date(2026, 3, 9, 3, 30, 0, 0, time.Local)
	f.Fuzz(func(t *testing.T, text string) {
		since, err1 := ParseSince(text, now)
		until, err2 := ParseUntil(text, now)
		if (err1 == nil) != (err2 == nil) || err1 == nil && until.Before(since) {
			t.Errorf("%q: %v %v, %v %v", text, since, err1, until, err2)
		}
	})
}
