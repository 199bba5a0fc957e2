package pool

import (
	"context"
	"testing"
	"testing/synctest"
)

// Who waits for its turn waits for all before it, whichever ends first; a call that
// ended without a turn of its own is passed over, and one that gives up lets go.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Order
		first, refused, second, third := o.Join(), o.Join(), o.Join(), o.Join()
		var came []string
		turn := func(name string, ctx context.Context, k *Ticket, s stage) {
			k.await(ctx, s)
			came = append(came, name)
			k.reach(s)
		}
		refused.Over()
		go turn("third", t.Context(), third, over)     // ends with its turn
		go turn("second", t.Context(), second, inLine) // likewise
		synctest.Wait()
		if len(came) > 0 {
			t.Fatalf("%v before the first", came)
		}
		first.reach(inLine)
		synctest.Wait()
		if len(came) != 1 || came[0] != "second" {
			t.Fatalf("%v, not the second", came)
		}
		first.Over()
		synctest.Wait()
		if len(came) != 1 {
			t.Fatalf("%v while the second is in line", came)
		}
		second.Over()
		second.reach(inLine) // does not take it back
		synctest.Wait()
		if len(came) != 2 {
			t.Fatalf("%v, without the third", came)
		}
		if third.before != nil {
			t.Error("what is over is kept")
		}

		ahead, behind := o.Join(), o.Join()
		ctx, cancel := context.WithCancel(t.Context())
		go turn("given up", ctx, behind, over) // ends with ctx
		synctest.Wait()
		cancel()
		synctest.Wait()
		if came[len(came)-1] != "given up" {
			t.Errorf("%v", came)
		}
		ahead.Over()
		var none *Ticket
		none.Turn(t.Context())
		none.Over()
	})
}

// What is over is not kept, whether or not it waited for its turn: a session may
// have any number of calls that end before.
func TestOrderKeepsNothing(t *testing.T) {
	var o Order
	for range 1000 {
		o.Join().Over()
	}
	head := o.Join()
	if head.before != nil {
		t.Error("calls that are over are kept")
	}
	for range 1000 {
		o.Join().Over()
	}
	if last := o.Join(); last.before != head {
		t.Error("between a call and the one it waits for others are kept")
	}
}
