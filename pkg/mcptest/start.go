package mcptest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// noise is every kind of line that servers print beside the protocol.
const noise = "Server listening...\ninfo: ready\n\n\x1b[32mok\x1b[0m\n{not json\n123\n\"str\"\nnull\n{\"level\":\"info\"}\n"

// begin does what comes before the first line is read; over means that the
// process ends with status.
func (s *server) begin() (status int, over bool, err error) {
	f := s.o.faults
	s.log.add("start", strconv.Itoa(os.Getppid()))
	if line, ok := f["stderr-line"]; ok {
		_, _ = io.WriteString(s.stderr, line+"\n")
	}
	if n, _ := strconv.Atoi(f["stderr"]); n > 0 {
		_, _ = io.WriteString(s.stderr, strings.Repeat(strings.Repeat("e", 99)+"\n", n/100+1)[:n])
	}
	if f.has("bom") {
		s.out.raw([]byte("\ufeff"))
	}
	if banner, ok := f["banner"]; ok {
		if banner == "" {
			banner = noise
		}
		s.out.raw([]byte(strings.TrimSuffix(banner, "\n") + "\n"))
	}
	if kind, ok := f["grandchild"]; ok {
		if err := s.grandchild(kind); err != nil {
			return 0, false, err
		}
	}
	if delay, ok := f["start-delay"]; ok {
		d, err := time.ParseDuration(delay)
		if err != nil {
			return 0, false, err
		}
		time.Sleep(d)
	}
	if status, ok := f["exit-at-start"]; ok {
		n, err := strconv.Atoi(status)
		return n, true, err
	}
	return 0, false, nil
}

// grandchild starts a process that is the fake server's own child. It inherits
// every pipe and ends with -life.
func (s *server) grandchild(kind string) error {
	args := []string{"-sleep", "-life", s.o.life.String()}
	if s.o.faults.has("ignore-term") {
		args = append(args, "-fault", "ignore-term")
	}
	c := exec.Command(executable(), args...)
	c.Args[0] = Name
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	switch kind {
	case "group":
	case "session":
		if err := ownSession(c); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no grandchild of kind %q", kind)
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.log.add("grandchild", strconv.Itoa(c.Process.Pid))
	return nil
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }
