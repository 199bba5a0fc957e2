package policy

import (
	"slices"
	"strings"
)

// A server reads a URI that an agent wrote, and may see another resource in it
// than its text names: "file:///open/../secret" is the secret, and so is
// "file:///%73ecret". Whether it does nobody knows here. What may be meant is
// therefore denied and asked about like what is written, and chosen by `tools`
// only if all of it is.

// spellings is what a URI may mean besides what it says; both are nil for most.
type spellings struct {
	any []string // for deny and ask
	all []string // for tools: what leads out of where the text says it is
}

// spellingsOf reads a URI the ways servers do.
func spellingsOf(uri string) (s spellings) {
	if isPlain(uri) {
		return s
	}
	scheme, body, suffix := cutURI(uri)
	scheme = strings.ToLower(scheme)
	query, _, fragment := strings.Cut(suffix, "#")
	once := decoded(body)
	texts := []string{body, once, decoded(decoded(once))}
	out := slices.ContainsFunc(texts, hasDots)
	for _, text := range texts {
		for _, collapse := range []bool{false, true} {
			for n, form := range placed(scheme, text, collapse) {
				s.any = appendNew(s.any, uri, form+suffix, form+query, form, strings.TrimSuffix(form, "/"))
				if out && n < 2 { // the others are of servers that overlook the host
					s.all = appendNew(s.all, uri, form+suffix)
				}
			}
		}
	}
	bare := strings.TrimSuffix(uri, suffix)
	if fragment {
		s.all = appendNew(s.all, uri, bare+query)
	}
	if scheme == "file://" && query != "" { // no server makes anything of it
		s.all = appendNew(s.all, uri, bare)
	}
	return s
}

// isPlain reports whether a URI has nothing that could be read in two ways.
func isPlain(uri string) bool {
	scheme, body, suffix := cutURI(uri)
	if suffix != "" || strings.ContainsAny(body, `%\`) || strings.HasSuffix(body, "/") || strings.Contains(body, "//") || hasDots(body) {
		return false
	}
	host, _, _ := strings.Cut(body, "/")
	if scheme == "file://" {
		return host == ""
	}
	return host != "" && strings.ToLower(scheme+host) == scheme+host
}

// cutURI takes a URI apart: the scheme with what ends it, the rest, and query and
// fragment with what begins them.
func cutURI(uri string) (scheme, body, suffix string) {
	if i := strings.IndexAny(uri, ":/?#"); i >= 0 && uri[i] == ':' {
		scheme, uri = uri[:i+1], uri[i+1:]
		if rest, ok := strings.CutPrefix(uri, "//"); ok {
			scheme, uri = scheme+"//", rest
		}
	}
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		return scheme, uri[:i], uri[i:]
	}
	return scheme, uri, ""
}

// hasDots reports whether a path has segments that mean another place.
func hasDots(path string) bool {
	if !strings.Contains(path, ".") {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(path, isSlash), func(s string) bool { return s == "." || s == ".." })
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// placed is where a text leads: as a path as a whole, behind a host, and without
// one, be it empty or, of a file, any.
func placed(scheme, text string, collapse bool) []string {
	text = strings.ReplaceAll(text, `\`, "/")
	whole := resolved(text, collapse)
	host, path, _ := strings.Cut(text, "/")
	path = resolved("/"+path, collapse)
	forms := []string{scheme + whole, scheme + strings.ToLower(host) + path, scheme + strings.TrimLeft(whole, "/")}
	if scheme == "file://" {
		forms = append(forms, scheme+path)
	}
	return forms
}

// resolved is a path without its dot segments and, if collapse is set, without
// empty ones. A slash that it begins or ends with stays.
func resolved(path string, collapse bool) string {
	var out []string
	rooted := strings.HasPrefix(path, "/")
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == ".." && len(out) > 0:
			out = out[:len(out)-1]
		case s == "..", s == ".":
		case s == "" && collapse && !last:
			continue
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	path = strings.Join(out, "/")
	if rooted {
		path = "/" + path
	}
	return path
}

// decoded is a text with each %XX as the byte that it stands for.
func decoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }

// appendNew appends those that are neither there nor the URI itself.
func appendNew(list []string, uri string, more ...string) []string {
	for _, s := range more {
		if s != uri && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
