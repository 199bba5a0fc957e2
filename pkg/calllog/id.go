package calllog

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// NewID makes the id of a row: 26 lower-case letters and digits, the first ten
// from now in milliseconds, so that ids sort by time, the others random.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand ends the process instead
	// Digits stand before letters in this alphabet as in ASCII; the standard
	// one has them the other way round and would not sort.
	return base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding).EncodeToString(b[:])
}
