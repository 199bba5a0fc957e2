package pool

import (
	"testing"
	"time"

	"postern/pkg/config"
)

// R24: what opens the breaker, what closes it, and who decides while it is open.
// A word is one event: ask = a call asks and is let through, no = it is refused,
// probe = it is the one that decides; answer and fail are of an ordinary call,
// good and bad of the probe, gone gives the probe up; start and nostart are
// starts; a number is seconds that pass.
func TestBreaker(t *testing.T) {
	for _, c := range []struct{ name, events string }{
		{"failures in a row", "ask fail fail ask fail no"},
		{"an answer between", "fail fail answer fail fail ask"},
		{"cooldown", "fail fail fail no 9 no 1 probe no"},
		{"good probe", "fail fail fail 10 probe good ask fail fail ask fail no"},
		{"bad probe", "fail fail fail 10 probe bad no 9 no 1 probe"},
		{"probe given up", "fail fail fail 10 probe no gone probe good ask"},
		{"late failure of an earlier call", "fail fail fail 9 fail 1 probe fail no"},
		{"late answer of an earlier call", "fail fail fail no answer ask"},
		{"starts count", "nostart nostart ask nostart no"},
		{"starts and calls", "fail nostart fail no"},
		{"a start undoes starts", "nostart nostart nostart no start ask fail fail ask fail no"},
		{"a start does not undo calls", "fail fail start ask fail no start no"},
		{"a start as the probe", "nostart nostart nostart 10 nostart no 9 no 1 probe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := breaker{limit: config.Breaker{Failures: 3, Cooldown: 10 * time.Second}}
			now := time.Unix(1, 0)
			for k, event := range words(c.events) {
				if !b.event(event, &now) {
					t.Fatalf("event %d, %s: %+v", k, event, b)
				}
			}
		})
	}
}

// event does one event, and reports whether a question was answered as it says.
func (b *breaker) event(event string, now *time.Time) bool {
	switch event {
	case "ask", "no", "probe":
		ok, probe := b.admit(*now)
		return ok == (event != "no") && probe == (event == "probe")
	case "answer", "good":
		b.answered()
	case "fail":
		b.failed(*now, false)
	case "bad":
		b.failed(*now, true)
	case "gone":
		b.released()
	case "start":
		b.started()
	case "nostart":
		b.startFailed(*now)
	default:
		*now = now.Add(time.Duration(event[0]-'0') * time.Second)
		if event == "10" {
			*now = now.Add(9 * time.Second)
		}
	}
	return true
}

// How long calls still fail is told in whole seconds, after which one may try.
func TestSeconds(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		0: time.Second, 1: time.Second, time.Second: time.Second, time.Second + 1: 2 * time.Second,
		29*time.Second + 999*time.Millisecond: 30 * time.Second, 5 * time.Minute: 5 * time.Minute,
	} {
		if got := seconds(left); got != want {
			t.Errorf("%v: %v, want %v", left, got, want)
		}
	}
}
