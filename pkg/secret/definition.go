package secret

// A server may say a credential that it was given in what it tells about itself.
// That is recorded and shown as it is otherwise, so only what is a credential for
// certain is taken out of it: the folder a server works in may stand there.

// Definition is JSON of a server's own about itself without credentials it was
// told of with AddCredentials; raw itself when there are none in it.
func (r *Redactor) Definition(raw []byte) []byte {
	x := r.onlyCredentials()
	if x.values == nil || len(x.values.values(string(raw), false)) == 0 {
		return raw
	}
	w := rewriter{in: raw, redaction: x}
	w.value()
	return w.out
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
