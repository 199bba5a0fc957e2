package pool

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"postern/pkg/proc"
)

// OwnerMark is the first part of POSTERN_INSTANCE for this process: pid and
// start time, so that a later process with the same pid is not taken for it.
func OwnerMark() string { return proc.Self().String() }

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
