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
	if f.has("tty") {
		s.log.add("tty", openTerminal())
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

// grandchild starts processes that are the fake server's own. They inherit every
// pipe and end with -life.
func (s *server) grandchild(kind string) error {
	switch kind {
	case "group", "session":
		return s.descendant(kind == "session", false)
	case "hidden":
		return s.descendant(true, true)
	case "browser":
		return s.descendant(true, false, "-children", "7")
	}
	return fmt.Errorf("no grandchild of kind %q", kind)
}

// descendant starts a process that sleeps. A hidden one has no environment and
// is started by a process that ends at once.
func (s *server) descendant(session, hidden bool, more ...string) error {
	args := append([]string{"-sleep", "-life", s.o.life.String(), "-events", s.o.events}, more...)
	if s.o.faults.has("ignore-term") {
		args = append(args, "-fault", "ignore-term")
	}
	if hidden {
		args = append(args, "-orphan")
	}
	c := exec.Command(executable(), args...)
	c.Args[0] = Name
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if s.o.orphan {
		c.Env = []string{}
	}
	if session && !hidden {
		if err := ownSession(c); err != nil {
			return err
		}
	}
	if hidden {
		return c.Run()
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.log.add("grandchild", strconv.Itoa(c.Process.Pid))
	return nil
}

// sleepOn is the life of a descendant.
func (s *server) sleepOn(life <-chan time.Time) (int, error) {
	if s.o.orphan {
		return 0, s.descendant(true, false)
	}
	for i := range s.o.children {
		if err := s.descendant(i%3 == 1, i%3 == 2); err != nil {
			return 0, err
		}
	}
	<-life
	return 0, nil
}

// openTerminal opens the controlling terminal, and says why it cannot.
func openTerminal() string {
	t, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return err.Error()
	}
	_ = t.Close()
	return "opened"
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }
