package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"postern/pkg/config"
)

// Exposed is the name under which a server's tool is shown, a pure function of
// the two original names (R60): at most limit bytes of [A-Za-z0-9_-]. Where the
// plain joining could also be the joining of two other names, would be too long
// or has other characters, a hash of both names ends it. limit is held between
// config.MinNameMax and config.MaxNameMax.
//
// Two tools can still have one exposed name, if a server names a tool after the
// hash of another's. Whoever routes by exposed names keeps a map, in which the
// first owner stays, and never takes a name apart (MB-130).
func Exposed(server, tool string, limit int) string {
	limit = min(max(limit, config.MinNameMax), config.MaxNameMax)
	joined := server + "__" + tool
	if unambiguous(server, tool) && len(joined) <= limit && plain(joined) {
		return joined
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	short := rewrite(joined)
	if keep := limit - 9; len(short) > keep {
		short = short[:keep]
	}
	return short + "_" + hex.EncodeToString(sum[:4])
}

// unambiguous says that the first "__" of the joined name is the separator.
func unambiguous(server, tool string) bool {
	return !strings.Contains(server, "__") && !strings.HasSuffix(server, "_") && !strings.HasPrefix(tool, "_")
}

func plain(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// rewrite puts one _ for each character that providers refuse.
func rewrite(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && nameByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}
