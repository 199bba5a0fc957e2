package gateway

import "postern/pkg/wire"

// object writes a JSON object whose raw values keep their bytes.
type object struct{ b []byte }

func (o *object) raw(name string, value []byte) {
	sep := byte(',')
	if o.b == nil {
		sep = '{'
	}
	o.b = append(append(o.b, sep), wire.Quote(name)...)
	o.b = append(append(o.b, ':'), value...)
}

func (o *object) text(name, value string) { o.raw(name, wire.Quote(value)) }

// optional leaves an empty text out.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) bytes() []byte { return append(o.b, '}') }
