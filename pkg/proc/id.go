package proc

import (
	"strconv"
	"strings"
)

// ID is one process for its whole life.
type ID struct {
	PID   int
	Start uint64 // clock ticks from boot to its start; 0 where the system does not tell
}

// String is PID.Start, such as 4242.187232, which ParseID reads.
func (id ID) String() string {
	return strconv.Itoa(id.PID) + "." + strconv.FormatUint(id.Start, 10)
}

// ParseID reads an ID from the beginning of text. rest is what follows the dot
// behind it, "" when nothing does. Only what String writes is an ID.
func ParseID(text string) (id ID, rest string, ok bool) {
	pid, after, found := strings.Cut(text, ".")
	if !found {
		return ID{}, "", false
	}
	start, rest, _ := strings.Cut(after, ".")
	n, err1 := strconv.Atoi(pid)
	s, err2 := strconv.ParseUint(start, 10, 64)
	id = ID{PID: n, Start: s}
	if err1 != nil || err2 != nil || n < 1 || id.String() != pid+"."+start {
		return ID{}, "", false
	}
	return id, rest, true
}
