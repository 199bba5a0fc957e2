package cmdmain

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The first interrupt is one, however it comes: from the terminal to this process
// and to its keeper, or to one of them. The second ends the process (K4).
func TestInterrupts(t *testing.T) {
	const term, interrupt, keeper = 't', 'i', 'k'
	for _, tc := range []struct {
		name, come string
		kept       bool
		exits      bool
	}{
		{"one", "i", false, false},
		{"two", "ii", false, true},
		{"two of a service manager", "tt", false, true},
		{"one of the keeper", "k", true, false},
		{"two of the keeper", "kk", true, true},
		{"one at a terminal", "ik", true, false},
		{"one at a terminal, the other way round", "ki", true, false},
		{"two at a terminal", "iki", true, true},
		{"one at a terminal and one to the keeper", "ikk", true, true},
		{"the keeper's death", "ttk", true, false},
		{"the keeper's death, the other way round", "kttt", true, false},
		{"the keeper's death after an interrupt", "ktt", true, false},
		{"an interrupt after the keeper's death", "tki", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				direct, done := make(chan os.Signal), make(chan struct{})
				var handed chan struct{}
				if tc.kept {
					handed = make(chan struct{})
				}
				first, over := 0, make(chan bool, 1)
				go func() { over <- interrupts(direct, handed, done, func() { first++ }) }() // ends with the grace
				begin := time.Now()
				for _, c := range tc.come {
					switch c {
					case term:
						direct <- syscall.SIGTERM
					case interrupt:
						direct <- syscall.SIGINT
					case keeper:
						handed <- struct{}{}
					}
				}
				if exits := <-over; !exits || first != 1 || (time.Since(begin) == 0) != tc.exits {
					t.Errorf("exits %v after %v; told %d times", exits, time.Since(begin), first)
				}
			})
		})
	}
}

// Who takes the signals back is not ended by them, nor by the grace.
func TestInterruptsDone(t *testing.T) {
	for _, n := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			direct, done, over := make(chan os.Signal), make(chan struct{}), make(chan bool, 1)
			go func() { over <- interrupts(direct, nil, done, func() {}) }() // ends with done
			for range n {
				direct <- syscall.SIGINT
			}
			close(done)
			if <-over {
				t.Errorf("it exits after %d", n)
			}
		})
	}
}
