package mcptest

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Blocking calls start with SIGUSR2 and SIGTTOU blocked, which the processes that it
// starts inherit.
func Blocking(t testing.TB, start func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	set, was := unix.Sigset_t{}, unix.Sigset_t{}
	for _, s := range []unix.Signal{unix.SIGUSR2, unix.SIGTTOU} {
		const width = unsafe.Sizeof(set.Val[0]) * 8
		set.Val[uintptr(s-1)/width] |= 1 << (uintptr(s-1) % width)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &was); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil) }()
	start()
}
