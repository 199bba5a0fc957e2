package upstream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/wire"
)

// R44: time stands still while at least one question is open.
func TestStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Standstill
		check := func(want time.Duration) {
			t.Helper()
			if got := s.Total(); got != want {
				t.Errorf("stood still %v, want %v", got, want)
			}
		}
		time.Sleep(time.Second)
		check(0)
		if s.resumed() != nil {
			t.Error("it stands still for nobody")
		}
		first := s.Begin()
		time.Sleep(time.Second)
		check(time.Second)
		ended := s.resumed()
		second := s.Begin()
		time.Sleep(time.Second)
		first()
		first()
		time.Sleep(time.Second)
		check(3 * time.Second)
		select {
		case <-ended:
			t.Error("it goes on with a question open")
		default:
		}
		second()
		<-ended
		time.Sleep(time.Second)
		check(3 * time.Second)
		third := s.Begin()
		time.Sleep(time.Second)
		third()
		check(4 * time.Second)
	})
}

func TestStandstillConcurrent(t *testing.T) {
	var s Standstill
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				end := s.Begin()
				last := s.Total()
				s.resumed()
				end()
				if s.Total() < last {
					t.Error("it got less")
				}
			}
		})
	}
	all.Wait()
	if s.resumed() != nil {
		t.Error("it stands still for nobody")
	}
}

// mute is a client without a process, for clocks: what it writes goes nowhere.
func mute(t *testing.T) *Client {
	c := &Client{
		o: Options{Server: "demo"}, epoch: time.Now(), log: newStderrLog("", nil),
		calls: map[uint64]*pending{}, down: make(chan struct{}), state: ready,
		w: wire.NewWriter(io.Discard, wire.WriterOptions{MaxMessage: 1 << 20, MaxQueue: 1 << 20}),
	}
	t.Cleanup(func() { c.w.Close(patience) })
	return c
}

// R44: the timeout of a call does not run while a question is open, whenever that
// opens and however often, and however little is left of it.
func TestTimeoutStandsStill(t *testing.T) {
	const limit = 10 * time.Second
	type span struct{ from, to time.Duration }
	for _, tc := range []struct {
		questions []span
		progress  time.Duration // when one comes; 0 is none
		want      time.Duration
	}{
		{nil, 0, limit},
		{[]span{{time.Second, 5 * time.Second}}, 0, 14 * time.Second},
		{[]span{{limit - 1, time.Hour}}, 0, time.Hour + 1},
		{[]span{{0, time.Minute}}, 0, time.Minute + limit},
		{[]span{{time.Second, 3 * time.Second}, {2 * time.Second, 4 * time.Second}, {6 * time.Second, 7 * time.Second}}, 0, 14 * time.Second},
		{[]span{{time.Second, 20 * time.Second}}, 15 * time.Second, 30 * time.Second},
		{[]span{{6 * time.Second, 20 * time.Second}}, 5 * time.Second, 29 * time.Second},
	} {
		t.Run(fmt.Sprint(tc.questions, tc.progress), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, still := mute(t), &Standstill{}
				began := time.Now()
				for _, q := range tc.questions {
					if q.from == 0 {
						end := still.Begin()
						time.AfterFunc(q.to, end)
						continue
					}
					time.AfterFunc(q.from, func() { time.AfterFunc(q.to-q.from, still.Begin()) })
				}
				if tc.progress > 0 {
					time.AfterFunc(tc.progress, func() { c.step([]byte(`{"progressToken":1}`)) })
				}
				call := Call{Method: "m", Params: []byte(`{"_meta":{"progressToken":5}}`), Token: wire.Span{Start: 26, End: 27}, Timeout: limit, Standstill: still}
				_, err := c.Do(t.Context(), call)
				failure(t, err, Timeout)
				if took := time.Since(began); took != tc.want {
					t.Errorf("it took %v, want %v", took, tc.want)
				}
			})
		})
	}
}

// R44: a call is answered while a question is open, and the limit of its context
// holds in any case.
func TestStandstillHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, still := mute(t), &Standstill{}
		still.Begin()
		call := Call{Method: "m", Timeout: time.Second, Standstill: still}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Do(ctx, call)
		if f := failure(t, err, Timeout); f.Limit != time.Minute {
			t.Errorf("got %+v", f)
		}
		time.AfterFunc(time.Hour, func() {
			m, _ := wire.Parse([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
			(&receiver{c: c}).response(m)
		})
		if _, err := c.Do(t.Context(), call); err != nil {
			t.Error(err)
		}
	})
}
