package hub

import (
	"fmt"
	"strconv"
	"strings"

	"postern/pkg/proc"
)

// keeperVariable is where the command finds the mark of its keeper.
const keeperVariable = "POSTERN_KEEPER"

// mark says who keeps a process and through what.
type mark struct {
	keeper proc.ID
	fd     int // the reading end of the keeper's pipe
	parent int // pid of the keeper's parent
}

func (m mark) String() string { return fmt.Sprintf("%s.%d.%d", m.keeper, m.fd, m.parent) }

func parseMark(text string) (mark, bool) {
	id, rest, ok := proc.ParseID(text)
	fd, parent, both := strings.Cut(rest, ".")
	n, err1 := strconv.Atoi(fd)
	p, err2 := strconv.Atoi(parent)
	m := mark{keeper: id, fd: n, parent: p}
	if !ok || !both || err1 != nil || err2 != nil || n < 3 || p < 0 || m.String() != text {
		return mark{}, false
	}
	return m, true
}

// by is whether the parent of this process made the mark. One that may not be
// looked at, as where /proc hides it, is known by its pid: a kept process that
// takes itself for none would start the next one without end.
func (m mark) by(parent proc.ID) bool {
	return m.keeper == parent || m.keeper.PID == parent.PID && parent.Start == 0
}

// in is environ with m, and without a mark that was there before.
func (m mark) in(environ []string) []string {
	out := make([]string, 0, len(environ)+1)
	for _, e := range environ {
		if !strings.HasPrefix(e, keeperVariable+"=") {
			out = append(out, e)
		}
	}
	return append(out, keeperVariable+"="+m.String())
}
