package wire

import (
	"strconv"
	"strings"
)

// decimal is the exact value of a number literal: digits × 10^exp, digits
// without zeros at either end and empty for zero.
type decimal struct {
	neg    bool
	digits string
	exp    int
}

// maxExponent bounds exponents that are computed with; larger ones are compared
// as they are written.
const maxExponent = 1 << 30

// parseDecimal reads a valid number literal; false when it is none or its
// exponent is out of bounds.
func parseDecimal(lit []byte) (d decimal, ok bool) {
	s := scan{b: lit}
	if end := s.value(0, 0); end != len(lit) || !isID(lit) || lit[0] == '"' {
		return d, false
	}
	text := string(lit)
	if text[0] == '-' {
		d.neg, text = true, text[1:]
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exp, err := strconv.Atoi(text[i+1:])
		if err != nil || exp > maxExponent || exp < -maxExponent {
			return d, false
		}
		d.exp, text = exp, text[:i]
	}
	if i := strings.IndexByte(text, '.'); i >= 0 {
		d.exp -= len(text) - i - 1
		text = text[:i] + text[i+1:]
	}
	text = strings.TrimLeft(text, "0")
	d.digits = strings.TrimRight(text, "0")
	d.exp += len(text) - len(d.digits)
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// key writes the value so that equal values have equal keys.
func (d decimal) key() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.neg {
		sign = "-"
	}
	if d.exp == 0 {
		return sign + d.digits
	}
	return sign + d.digits + "e" + strconv.Itoa(d.exp)
}
