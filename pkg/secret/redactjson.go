package secret

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"postern/pkg/wire"
)

// maxNestedJSON bounds how deep JSON texts in strings of JSON are read.
const maxNestedJSON = 4

// unreadable stands for what was to be JSON and is none.
const unreadable = `"[redacted:unreadable]"`

// JSON is raw without secrets, as JSON on one line. Above max bytes it is cut,
// after that, and is JSON still: a string gets its missing bytes behind it as
// [cut:N], an object or array its missing members as its last one. max is at
// least 64; 0 does not cut.
func (r *Redactor) JSON(raw []byte, max int) []byte {
	if !json.Valid(raw) {
		return []byte(unreadable)
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	w := rewriter{in: raw, redaction: r.redaction()}
	w.value()
	if max > 0 && len(w.out) > max {
		return cutJSON(w.out, max)
	}
	return w.out
}

// inner is the JSON text s without its secret members; ok is false when s is
// none, or has none.
func (x redaction) inner(s string) (out string, ok bool) {
	t := strings.TrimSpace(s)
	if x.nested >= maxNestedJSON || len(t) < 2 || t[0] != '{' && t[0] != '[' || !json.Valid([]byte(t)) {
		return s, false
	}
	x.nested++
	w := rewriter{in: []byte(t), redaction: x}
	w.value()
	return string(w.out), w.changed
}

// rewriter copies valid JSON without space and without secrets.
type rewriter struct {
	redaction
	in      []byte
	i       int
	out     []byte
	changed bool
}

// token skips space and returns the byte that is next.
func (w *rewriter) token() byte {
	for w.in[w.i] == ' ' || w.in[w.i] == '\t' || w.in[w.i] == '\n' || w.in[w.i] == '\r' {
		w.i++
	}
	return w.in[w.i]
}

// value copies the value that is next.
func (w *rewriter) value() {
	switch w.token() {
	case '{':
		w.container('}', w.member)
	case '[':
		w.container(']', w.value)
	case '"':
		w.str()
	default:
		literal := w.literal()
		if text, changed := w.text(string(literal), false); changed {
			w.changed = true
			w.out = append(w.out, wire.Quote(text)...)
		} else {
			w.out = append(w.out, literal...)
		}
	}
}

// container copies an object or array, whose items each does.
func (w *rewriter) container(end byte, each func()) {
	w.out = append(w.out, w.in[w.i])
	w.i++
	for w.token() != end {
		if w.in[w.i] == ',' {
			w.out = append(w.out, ',')
			w.i++
		}
		each()
	}
	w.out = append(w.out, end)
	w.i++
}

func (w *rewriter) member() {
	w.token()
	name := w.str()
	w.token() // the colon
	w.i++
	w.out = append(w.out, ':')
	if w.only || !SecretName(name) {
		w.value()
		return
	}
	switch w.token() {
	case 'n', 't', 'f': // null, true and false are no secrets
		w.value()
		return
	}
	start := w.i
	w.skip()
	if value := w.in[start:w.i]; string(value) == `""` {
		w.out = append(w.out, value...)
		return
	}
	marked := []byte(`"` + byMember.mark() + `"`)
	w.changed = w.changed || !bytes.Equal(w.in[start:w.i], marked)
	w.out = append(w.out, marked...)
}

// str copies the string that is next and returns what it is.
func (w *rewriter) str() string {
	start := w.i
	w.skipString()
	raw := w.in[start:w.i]
	s, err := wire.Unquote(raw)
	if err != nil { // a lone surrogate
		_ = json.Unmarshal(raw, &s)
		raw = wire.Quote(s)
	}
	text, changed := w.text(s, false)
	if !changed {
		w.out = append(w.out, raw...)
		return s
	}
	w.changed = true
	w.out = append(w.out, wire.Quote(text)...)
	return s
}

func (w *rewriter) skipString() {
	for w.i++; w.in[w.i] != '"'; w.i++ {
		if w.in[w.i] == '\\' {
			w.i++
		}
	}
	w.i++
}

func (w *rewriter) literal() []byte {
	start := w.i
	for w.i < len(w.in) && !strings.ContainsRune(",:]} \t\r\n", rune(w.in[w.i])) {
		w.i++
	}
	return w.in[start:w.i]
}

// skip passes over the value that is next.
func (w *rewriter) skip() {
	depth := 0
	for {
		switch w.token() {
		case '"':
			w.skipString()
		case '{', '[':
			depth++
			w.i++
		case '}', ']':
			depth--
			w.i++
		case ',', ':':
			w.i++
		default:
			w.literal()
		}
		if depth == 0 {
			return
		}
	}
}
