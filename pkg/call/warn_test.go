package call

import (
	"fmt"
	"testing"
	"time"

	"postern/pkg/config"
)

// What a server makes the gateway warn of is bounded, in memory and on the
// operator's terminal, and the operator of a process that lives for weeks is warned
// of what is new all the same.
func TestWarningsAreBoundedInTime(t *testing.T) {
	t.Parallel()
	const most = 3
	var w warnings
	begin := time.Unix(1e9, 0)
	for _, step := range []struct {
		after time.Duration
		key   string
		want  verdict
	}{
		{0, "a", worthSaying}, {0, "a", known}, {time.Minute, "b", worthSaying},
		{2 * time.Minute, "c", oneTooMany}, {3 * time.Minute, "d", known}, {3 * time.Minute, "a", known},
		{config.WarningsRest, "c", worthSaying}, // it was not said before
		{config.WarningsRest, "a", known},
		{config.WarningsRest + time.Minute, "e", oneTooMany},
		{2*config.WarningsRest - time.Second, "e", known},
		{2 * config.WarningsRest, "e", worthSaying},
		{2 * config.WarningsRest, "b", worthSaying}, // nobody spoke of it for long
		// So few in an hour are never too many.
		{4 * config.WarningsRest, "f", worthSaying}, {5 * config.WarningsRest, "g", worthSaying},
		{6 * config.WarningsRest, "h", worthSaying}, {7 * config.WarningsRest, "h", known},
	} {
		if got := w.of(step.key, most, begin.Add(step.after)); got != step.want {
			t.Errorf("%s after %s: %v, want %v", step.key, step.after, got, step.want)
		}
		if n := len(w.newer) + len(w.older); n > 2*most {
			t.Errorf("%d are kept", n)
		}
	}
}

// The last line that is shown says that there are more.
func TestTooManyWarningsAreSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	for n := range config.MaxWarnings + 100 {
		w.host.warnOnce(fmt.Sprint(n), "once")
	}
	warned := w.warnings()
	if last := warned[len(warned)-1]; len(warned) != config.MaxWarnings || last != tooManyWarnings {
		t.Errorf("%d were shown, the last was %q", len(warned), last)
	}
}
