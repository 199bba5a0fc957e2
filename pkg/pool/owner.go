package pool

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// OwnerMark is the first part of POSTERN_INSTANCE for this process: pid and
// start time, so that a later process with the same pid is not taken for it.
func OwnerMark() string {
	return fmt.Sprintf("%d.%s", os.Getpid(), startTime(os.Getpid()))
}

// startTime is field 22 of /proc/PID/stat, "0" where there is no such file.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "0"
	}
	return startField(string(data))
}

// startField finds the start time in the text of a stat file. The command name
// may hold blanks and parentheses; fields count from its last ')'.
func startField(stat string) string {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "0"
	}
	return fields[19]
}

// mark names one instance of this owner. Whoever tears an instance down ends
// every process with its mark, so that two pools of one process need different
// ones: p.name tells them apart.
func (p *Pool) mark() string {
	return fmt.Sprintf("%s.%s-%d", p.o.Owner, p.name, p.serial.Add(1))
}

func randomName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
