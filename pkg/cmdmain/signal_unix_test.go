//go:build unix

package cmdmain

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// Who takes the signals over learns of the one that came before.
func TestNotifyHandsOver(t *testing.T) {
	for _, came := range []bool{false, true} {
		ctx, stop := notify(context.Background(), nil, func(code int) { t.Errorf("exit %d", code) })
		if came {
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done() // a signal to ourselves may come later than kill returns; once stopped it would end us
		}
		if got := stop(); got != came || ctx.Err() == nil || stop() != came {
			t.Errorf("came %v: %v, %v", came, got, ctx.Err())
		}
	}
}
