//go:build linux || darwin

package hub

import "golang.org/x/sys/unix"

// Private lets nobody else read or write what this process creates from now on.
func Private() { unix.Umask(0o077) }

// NoCoreDumps keeps the memory of this process out of files (S15), and that of what
// it starts: it holds credentials. A limit of 1 and not 0, as with 0 Linux still
// pipes the memory to a program that collects it.
func NoCoreDumps() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		limit.Cur = min(limit.Max, 1)
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit) // lowering is always allowed
	}
}
