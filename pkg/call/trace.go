package call

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"postern/pkg/wire"
)

// trace is what a request's traceparent said, in lower-case hexadecimal, and the
// span of this call in it; zero without one, for none is invented (R46).
type trace struct{ id, span, parent string }

// note reads a traceparent, if it is one of W3C's; what is none goes on as it is.
func (t *trace) note(raw []byte) {
	text, err := wire.Unquote(raw)
	if err != nil || !isTraceparent(text) {
		return
	}
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails
	*t = trace{id: text[3:35], parent: text[36:52], span: hex.EncodeToString(span[:])}
}

// follow is the traceparent that was noted with our span as the parent of what the
// server does.
func (t *trace) follow(raw []byte) []byte {
	text, err := wire.Unquote(raw)
	if err != nil || !isTraceparent(text) {
		return raw
	}
	return wire.Quote(text[:36] + t.span + text[52:])
}

// isTraceparent reports whether text is a traceparent: version, trace id, parent
// id and flags. A later version may have more behind them.
func isTraceparent(text string) bool {
	const size = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(text) < size || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return false
	}
	version, id, parent, flags := text[:2], text[3:35], text[36:52], text[53:55]
	switch {
	case version == "ff", version == "00" && len(text) != size, len(text) > size && text[size] != '-':
		return false
	case strings.Trim(id, "0") == "", strings.Trim(parent, "0") == "":
		return false
	}
	return strings.Trim(version+id+parent+flags, "0123456789abcdef") == ""
}
