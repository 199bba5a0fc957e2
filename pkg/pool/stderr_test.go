package pool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"postern/pkg/config"
)

// C83: a server of one session leaves a file with each session. They do not stay for
// good, those of servers that are known do.
func TestStderrLogsOfManySessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.pool.o.StderrDir
	if dir == "" {
		t.Fatal("there is no folder")
	}
	a := w.approve(w.server())
	now := time.Now()
	make := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const old = config.StderrLife + time.Hour
	known := make(filepath.Base(w.pool.StderrLog("fake", a.Key())), old)
	gone := []string{make("fake@00000000.log", old), make("fake@00000000.log.1", old)}
	stays := []string{known, make("notes.log", old), make("fake@x.txt", old), make("fake@11111111.log.1", time.Hour)}
	for n := range config.StderrFiles - 1 {
		make(fmt.Sprintf("fake@2%07d.log", n), time.Minute)
	}
	gone = append(gone, make("fake@33333333.log", 2*time.Hour))
	w.get(a) // which has the steward look
	until(t, "old ones are gone", func() bool {
		for _, path := range gone {
			if _, err := os.Stat(path); err == nil {
				return false
			}
		}
		return true
	})
	for _, path := range stays {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// What comes before the first start is done once and to its end, also when the
// server that was to be the first is given up: the others wait for it.
func TestFirstOutlivesTheFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := fakeWorld(t)
		release, cut := make(chan struct{}), false
		w.pool.o.First = func(ctx context.Context) {
			select {
			case <-release:
			case <-ctx.Done():
				cut = true
			}
		}
		first := make(chan error, 1)
		go func() { first <- w.call("s", w.approve(w.server())) }()
		synctest.Wait()
		w.pool.Kill("fake")
		killed(t, <-first)
		if n, _ := w.pool.Start(t.Context(), "none"); n != 0 || f.started() != 0 {
			t.Error("something was started")
		}
		go func() { _, err := w.pool.Start(t.Context(), "fake", w.approve(w.server())); first <- err }()
		synctest.Wait()
		if cut || f.started() != 0 {
			t.Errorf("cut off: %v; starts that did not wait: %d", cut, f.started())
		}
		close(release)
		if err := <-first; err != nil || f.started() != 1 {
			t.Errorf("%v, %d starts", err, f.started())
		}
	})
}

// Close does not wait for what comes before a first start that nobody wants.
func TestCloseBeforeTheFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWorld(t)
		w.pool.o.First = func(ctx context.Context) { <-ctx.Done() }
		first := make(chan error, 1)
		go func() { first <- w.call("s", w.approve(w.server())) }()
		synctest.Wait()
		w.pool.Close()
		if err := <-first; err == nil {
			t.Error("it started")
		}
	})
}
