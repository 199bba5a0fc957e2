package call

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
	"postern/pkg/upstream"
)

// R44: max_timeout does not count the time in which a question was open, not even
// when it ends in it; what else ends a call is told apart.
func TestBound(t *testing.T) {
	const limit = 10 * time.Second
	server := &Server{Declared: &config.Server{ID: "s", MaxTimeout: limit}}
	for name, c := range map[string]struct {
		questions []time.Duration // begin and end of each, since the call began
		want      time.Duration
	}{
		"none":               {nil, limit},
		"in the middle":      {[]time.Duration{2 * time.Second, 5 * time.Second}, limit + 3*time.Second},
		"at the end":         {[]time.Duration{9 * time.Second, time.Minute}, limit + 51*time.Second},
		"two":                {[]time.Duration{time.Second, 2 * time.Second, 8 * time.Second, 28 * time.Second}, limit + 21*time.Second},
		"from the beginning": {[]time.Duration{0, 20 * time.Minute}, limit + 20*time.Minute},
		"for ever":           {[]time.Duration{0, 24 * time.Hour}, limit + config.MaxStandstill},
		"one behind the other": {[]time.Duration{
			0, 14 * time.Minute, 14*time.Minute + 1, 28 * time.Minute, 28*time.Minute + 1, 42 * time.Minute, 42*time.Minute + 1, 56 * time.Minute,
		}, limit + config.MaxStandstill},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Session{}
				before := s.still.Begin()
				time.Sleep(time.Minute)
				before() // an earlier question is none of this call's
				call := &Call{session: s, times: times{begin: time.Now()}}
				for i := 0; i < len(c.questions); i += 2 {
					time.AfterFunc(c.questions[i], func() {
						time.AfterFunc(c.questions[i+1]-c.questions[i], s.still.Begin())
					})
				}
				ctx := call.bounded(context.Background(), server)
				defer ctx.end()
				<-ctx.Done()
				took := time.Since(call.times.begin)
				if took < c.want || took > c.want+questionLook {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				var tooLong *errTooLong
				if !errors.As(context.Cause(ctx), &tooLong) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("%v, because of %v", ctx.Err(), context.Cause(ctx))
				}
				if end, ok := ctx.Deadline(); !ok || end.Sub(call.times.begin) != c.want {
					t.Errorf("the deadline is %v", end.Sub(call.times.begin))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(context.Background())
		ctx := (&Call{session: &Session{}, times: times{begin: time.Now()}}).bounded(parent, server)
		defer ctx.end()
		cancel(&upstream.Cancelled{Reason: "enough"})
		if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) || context.Cause(ctx).Error() != "enough" {
			t.Errorf("%v, because of %v", ctx.Err(), context.Cause(ctx))
		}
	})
}

// A question that nobody answers is over some day, so that neither its server nor
// the calls whose time stands still wait for ever.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &person{}
		s := &Session{o: SessionOptions{Agent: p}}
		begin := time.Now()
		_, err := s.asked(t.Context(), methodElicit, nil, nil)
		var cause *upstream.Cancelled
		if !errors.As(err, &cause) || !strings.Contains(cause.Reason, "nobody answered") || time.Since(begin) != config.QuestionLife {
			t.Errorf("%v, after %v", err, time.Since(begin))
		}
		if s.still.Total() != config.QuestionLife {
			t.Errorf("time stood still for %v", s.still.Total())
		}
	})
}
