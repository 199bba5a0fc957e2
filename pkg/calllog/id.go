package calllog

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// idEncoding has digits before letters, as in ASCII; the standard alphabet has
// them the other way round and would not sort. It is never changed.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// IDBytes is how long the id of a row is.
const IDBytes = 26

// NewID makes the id of a row: 26 lower-case letters and digits, the first ten
// from now in milliseconds, so that ids sort by time, the others random.
func NewID(now time.Time) string { return string(AppendID(make([]byte, 0, IDBytes), now)) }

// AppendID is NewID behind what is in dst.
func AppendID(dst []byte, now time.Time) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand ends the process instead
	return idEncoding.AppendEncode(dst, b[:])
}

// IsID reports whether a text is the id of a row, as NewID makes them.
func IsID(text string) bool { return len(text) == IDBytes && !idTime(text).IsZero() }

// idTime is the time that an id of NewID begins with; zero for any other text.
func idTime(id string) time.Time {
	b, err := idEncoding.DecodeString(id)
	if err != nil || len(b) != 16 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b) >> 16))
}
