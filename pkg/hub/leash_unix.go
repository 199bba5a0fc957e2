//go:build linux || darwin

package hub

import (
	"os"

	"golang.org/x/sys/unix"

	"postern/pkg/proc"
)

// Attach takes the keeper's mark out of the environment of this process, and
// returns the leash when the mark is meant for it; nil when this process has no
// keeper. It is called once, before anything else is opened.
func Attach() *Leash {
	takeName()
	text, ok := os.LookupEnv(keeperVariable)
	if !ok {
		return nil
	}
	_ = os.Unsetenv(keeperVariable)
	m, ok := parseMark(text)
	if !ok || !m.by(parent()) || !isPipe(m.fd) {
		return nil // inherited from a process that was kept, or made up
	}
	unix.CloseOnExec(m.fd)
	ends := make(chan struct{})
	go watch(os.NewFile(uintptr(m.fd), "keeper"), ends) // ends when the keeper has, or with the process
	return &Leash{Parent: m.parent, Ends: ends}
}

// parent is the process that started this one, as far as it is known.
func parent() proc.ID { return identify(os.Getppid()) }

func isPipe(fd int) bool {
	var st unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY && unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

func watch(pipe *os.File, ends chan<- struct{}) {
	defer pipe.Close()
	one := make([]byte, 1)
	for {
		_, err := pipe.Read(one)
		ends <- struct{}{}
		if err != nil {
			return
		}
	}
}
