package secret

import (
	"net/url"
	"strings"
)

// shape is a credential that is known by how it begins.
type shape struct {
	prefix string
	any    string // one of these bytes follows, if there are any
	end    string // then this
	min    int    // bytes behind that
	plain  int    // the same for one without a digit, which may be a word; 0 is min
}

var knownShapes = []shape{
	{prefix: "gh", any: "pousr", end: "_", min: 8},
	{prefix: "github_pat_", min: 8},
	{prefix: "glpat-", min: 8},
	{prefix: "sk-", min: 10, plain: 20},
	{prefix: "xox", any: "abceoprs", end: "-", min: 8},
	{prefix: "AKIA", min: 12}, {prefix: "ASIA", min: 12},
	{prefix: "AIza", min: 20},
	{prefix: "pst_", min: 8},
}

// shapes finds credentials of known kinds (S5, rule 3).
func shapes(s string) []span {
	var found []span
	found = append(found, pem(s)...)
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "//") {
			i += 2
			if n := userinfo(s[i:]); n > 0 {
				found = append(found, span{i, i + n, byShape})
				i += n
			}
			continue
		}
		if !isWord(s[i]) {
			i++
			continue
		}
		n := 1
		for i+n < len(s) && isWord(s[i+n]) {
			n++
		}
		if at := credential(s[i : i+n]); at < n {
			found = append(found, span{i + at, i + n, byShape})
		}
		i += n
	}
	return found
}

// isWord is what tokens are made of: letters, digits, and what joins them.
func isWord(c byte) bool {
	return isAlnum(c) || c == '_' || c == '-' || c == '.'
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// credential is where in a run of word characters a credential begins, which
// goes to the end of the run; its length when there is none.
func credential(word string) int {
	for from := 0; from < len(word); {
		end := len(word)
		if n := strings.IndexByte(word[from:], '.'); n >= 0 {
			end = from + n
		}
		signed := end < len(word) && strings.IndexByte(word[end+1:], '.') > 0
		for i := from; i < end; i++ {
			if i > 0 && isAlnum(word[i-1]) {
				continue
			}
			if isToken(word[i:]) || signed && end-i >= minJWTHead && strings.HasPrefix(word[i:], "eyJ") {
				return i
			}
		}
		from = end + 1
	}
	return len(word)
}

// minJWTHead is the length of the first of the parts of a JSON web token, which
// is the base64 of an object, and behind which stand two more.
const minJWTHead = 8

func isToken(s string) bool {
	switch s[0] {
	case 'g', 's', 'x', 'A', 'p':
	default:
		return false
	}
	for i := range knownShapes {
		k := &knownShapes[i]
		rest, ok := k.cut(s)
		if ok && len(rest) >= k.min && (len(rest) >= k.plain || strings.ContainsAny(rest, "0123456789")) {
			return true
		}
	}
	return false
}

// cut is s behind what k begins with.
func (k *shape) cut(s string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, k.prefix); !ok || k.any == "" {
		return rest, ok
	}
	if rest == "" || strings.IndexByte(k.any, rest[0]) < 0 {
		return "", false
	}
	return strings.CutPrefix(rest[1:], k.end)
}

// userinfo is the length of `user:pass` at the beginning of an authority, 0 when
// there is none.
func userinfo(s string) int {
	end := strings.IndexAny(s, "/?#\\\"'<> \t\r\n")
	if end < 0 {
		end = len(s)
	}
	at := strings.LastIndexByte(s[:end], '@')
	if at < 0 || strings.IndexByte(s[:at], ':') < 0 {
		return 0
	}
	return at
}

// The lines around what PEM holds.
const (
	pemDashes = "-----"
	pemBegin  = "-----BEGIN "
	pemEnd    = "-----END "
)

// pem finds blocks of PEM. One that does not end goes to the end of the text,
// one that does not begin comes from its beginning: it may be in two parts.
func pem(s string) []span {
	var found []span
	start := 0 // of the block, or of the text before the first
	inside := false
	for at := 0; ; {
		i := strings.Index(s[at:], pemDashes)
		if i < 0 {
			break
		}
		i += at
		switch {
		case strings.HasPrefix(s[i:], pemBegin):
			if !inside {
				start, inside = i, true
			}
			at = i + len(pemBegin)
		case strings.HasPrefix(s[i:], pemEnd):
			at = i + len(pemEnd)
			at += pemRest(s[at:])
			found = append(found, span{start, at, byShape})
			start, inside = at, false
		default:
			at = i + 1
		}
	}
	if inside {
		found = append(found, span{start, len(s), byShape})
	}
	return found
}

// pemRest is the length of the rest of a line that ends a block.
func pemRest(s string) int {
	const longest = 64 // bytes of what the block is called
	line := s[:min(len(s), longest)]
	if i := strings.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	if i := strings.Index(line, pemDashes); i >= 0 {
		return i + len(pemDashes)
	}
	return 0
}

// SecretName reports whether a member, parameter or flag of this name holds a
// secret (S5, rule 2). Case, underscores, hyphens and a plural do not matter.
func SecretName(name string) bool {
	name = strings.ToLower(strings.ToUpper(name)) // both, so that ſ is an s
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name)
	if !strings.HasSuffix(name, "tokens") { // a number of them
		name = strings.TrimSuffix(name, "s")
	}
	for _, end := range []string{"password", "passwd", "secret", "token", "apikey", "accesskey", "privatekey",
		"authorization", "cookie", "credential", "passphrase"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// CredentialName reports whether a variable of this name holds a credential:
// names of variables are short.
func CredentialName(name string) bool {
	if SecretName(name) {
		return true
	}
	name = strings.ToLower(name)
	for _, end := range []string{"key", "pat", "pass", "pwd", "auth", "dsn", "jwt", "bearer"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// SecretArguments are the values that a command line gives to flags with secret
// names, as --NAME=VALUE or as --NAME VALUE.
func SecretArguments(args []string) []string {
	var found []string
	for i, arg := range args {
		flag, value, given := strings.Cut(arg, "=")
		name := strings.TrimLeft(flag, "-")
		switch {
		case name == flag || !SecretName(name):
		case given:
			found = append(found, value)
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			found = append(found, args[i+1])
		}
	}
	return found
}

// longestName bounds the name of an assignment; none is as long.
const longestName = 128

// assignments finds what `name=value` in URLs, command lines and messages gives
// to a secret name, and what headers such as `Authorization: …` hold (S5, rule 4).
func assignments(s string) []span {
	var found []span
	for at := 0; ; {
		i := strings.IndexAny(s[at:], "=:")
		if i < 0 {
			return found
		}
		i += at
		at = i + 1
		name := nameBefore(s[:i])
		if len(name) < len("token") || !SecretName(name) {
			continue
		}
		start, end := assigned(s, i+1)
		if s[i] == ':' {
			start, end = header(s, i+1, name)
		}
		if start < end {
			found = append(found, span{start, end, byQuery})
			at = end
		}
	}
}

// nameBefore is the name that s ends with, decoded as in a URL.
func nameBefore(s string) string {
	s = s[max(0, len(s)-longestName):]
	i := len(s)
	for i > 0 && (isWord(s[i-1]) || s[i-1] == '%') {
		i--
	}
	name := s[i:]
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	return name
}

// assigned is where the value at i stands: to the closing quote, or to the next
// blank or separator.
func assigned(s string, i int) (start, end int) {
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		if n := strings.IndexByte(s[i+1:], s[i]); n >= 0 {
			return i + 1, i + 1 + n
		}
	}
	n := strings.IndexAny(s[i:], "&;,\"'<>)]} \t\r\n")
	if n < 0 {
		return i, len(s)
	}
	return i, i + n
}

// header is where the rest of a header's line stands. Other words with a colon
// behind them are prose: `unexpected token: …`.
func header(s string, i int, name string) (start, end int) {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	switch {
	case strings.HasSuffix(name, "authorization"), strings.HasSuffix(name, "cookie"), strings.HasSuffix(name, "api-key"):
	default:
		return i, i
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	n := strings.IndexAny(s[i:], "\"'\r\n")
	if n < 0 {
		return i, len(s)
	}
	return i, i + n
}
