package secret

import (
	"encoding/json"

	"postern/pkg/wire"
)

// A server may say a credential that it was given in what it tells about itself.
// That is recorded and shown as it is otherwise, so only what is a credential for
// certain is taken out of it: the folder a server works in may stand there.

// Definition is JSON of a server's own about itself without credentials it was
// told of with AddCredentials; every other byte is kept (R4), and raw itself when
// there are none in it.
func (r *Redactor) Definition(raw []byte) []byte {
	x := r.onlyCredentials()
	if x.values == nil || len(x.values.values(string(raw), false)) == 0 {
		return raw
	}
	w := rewriter{in: raw, redaction: x}
	for w.i < len(raw) {
		w.keep()
	}
	return w.out
}

// keep copies what is next, and but for a string or literal with a credential in
// it as it is written.
func (w *rewriter) keep() {
	start := w.i
	var said string
	switch w.in[w.i] {
	case '{', '}', '[', ']', ',', ':', ' ', '\t', '\r', '\n':
		w.out = append(w.out, w.in[w.i])
		w.i++
		return
	case '"':
		w.skipString()
		_ = json.Unmarshal(w.in[start:w.i], &said) // checked; a lone surrogate is replaced in what is looked at
	default:
		said = string(w.literal())
	}
	if text, changed := w.text(said, false); changed {
		w.out = append(w.out, wire.Quote(text)...)
		return
	}
	w.out = append(w.out, w.in[start:w.i]...)
}

// Instructions is the same for a text.
func (r *Redactor) Instructions(text string) string {
	x := r.onlyCredentials()
	if x.values == nil {
		return text
	}
	text, _ = x.text(text, false)
	return text
}

func (r *Redactor) onlyCredentials() redaction {
	if r == nil {
		return redaction{}
	}
	return redaction{values: r.credentials.matcher(), only: true}
}
