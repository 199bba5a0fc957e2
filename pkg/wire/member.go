package wire

import (
	"strconv"
	"strings"
)

// MemberError says that a member that would be read is ambiguous: another
// reader of the same bytes could take another value for it.
type MemberError struct {
	Name string // the wanted name
	Case bool   // true: there in another case; false: there twice
}

func (e *MemberError) Error() string {
	if e.Case {
		return "member " + strconv.Quote(e.Name) + " is there in another case"
	}
	return "member " + strconv.Quote(e.Name) + " is there twice"
}

// Lookup finds members of an object: spans[i] becomes where the value of
// names[i] stands in obj, absent when it is not there. Both slices have the same
// length; names are ASCII. A *MemberError when a wanted name is there twice or in
// another case, a *SyntaxError when obj is no JSON object. It does not allocate
// unless a member name is escaped or outside ASCII.
func Lookup(obj []byte, names []string, spans []Span) error {
	clear(spans)
	var bad *MemberError
	err := eachMember(obj, func(key []byte, plain bool, v Span) bool {
		for i, name := range names {
			switch matchKey(key, plain, name) {
			case variant:
				bad = &MemberError{Name: name, Case: true}
			case equal:
				if spans[i].Ok() {
					bad = &MemberError{Name: name}
				}
				spans[i] = v
			}
		}
		return bad == nil
	})
	if err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	return nil
}

// EachMember calls fn for the members of an object in order, with the raw
// quoted key and the span of the value in obj, until fn returns false. A
// *SyntaxError when what was read of obj is no JSON object.
func EachMember(obj []byte, fn func(key []byte, value Span) bool) error {
	return eachMember(obj, func(key []byte, _ bool, v Span) bool { return fn(key, v) })
}

func eachMember(obj []byte, fn func(key []byte, plain bool, value Span) bool) error {
	s := scan{b: obj}
	i := s.space(0)
	if s.byte(i) != '{' {
		return &SyntaxError{Offset: i, Reason: "no JSON object"}
	}
	more := s.byte(s.space(i+1)) != '}'
	for i = s.space(i + 1); more; {
		keyEnd, plain := s.str(i)
		if keyEnd < 0 {
			break
		}
		start := s.colon(keyEnd)
		if start < 0 {
			break
		}
		end := s.value(start, 1)
		if end < 0 || s.badUTF8 > 0 {
			break
		}
		if !fn(obj[i:keyEnd:keyEnd], plain, Span{start, end}) {
			return nil
		}
		i, more = s.next(end, '}')
	}
	return s.finish(i)
}

// EachElement calls fn with the span of each element of an array in order until
// fn returns false. A *SyntaxError when what was read of arr is no JSON array.
func EachElement(arr []byte, fn func(value Span) bool) error {
	s := scan{b: arr}
	i := s.space(0)
	if s.byte(i) != '[' {
		return &SyntaxError{Offset: i, Reason: "no JSON array"}
	}
	more := s.byte(s.space(i+1)) != ']'
	for i = s.space(i + 1); more; {
		end := s.value(i, 1)
		if end < 0 || s.badUTF8 > 0 {
			break
		}
		if !fn(Span{i, end}) {
			return nil
		}
		i, more = s.next(end, ']')
	}
	return s.finish(i)
}

// KeepElements is an array with those elements that keep is true for, as they are.
// all says that none was left out. Errors are those of EachElement.
func KeepElements(arr []byte, keep func(element []byte) bool) (kept []byte, all bool, err error) {
	kept, all = []byte{'['}, true
	err = EachElement(arr, func(v Span) bool {
		switch {
		case !keep(v.Of(arr)):
			all = false
		case len(kept) > 1:
			kept = append(append(kept, ','), v.Of(arr)...)
		default:
			kept = append(kept, v.Of(arr)...)
		}
		return true
	})
	return append(kept, ']'), all, err
}

// next passes over what follows a member or element: a comma and there is more,
// or nothing, and the closing bracket is next.
func (s *scan) next(i int, closing byte) (at int, more bool) {
	i = s.space(i)
	switch s.byte(i) {
	case ',':
		return s.space(i + 1), true
	case closing:
		return i, false
	}
	return s.fail(i, "no , or closing bracket"), false
}

// finish checks that the closing bracket at i is the last of the text.
func (s *scan) finish(i int) error {
	if err := s.syntaxError(); err != nil {
		return err
	}
	if end := s.space(i + 1); end != len(s.b) {
		return &SyntaxError{Offset: end, Reason: "text after the value"}
	}
	return nil
}

// IsObject reports whether the first byte of raw that is not space is '{'.
func IsObject(raw []byte) bool {
	s := scan{b: raw}
	return s.byte(s.space(0)) == '{'
}

type match uint8

const (
	differs match = iota
	equal
	variant // equal but for the case
)

// matchKey compares a raw key with a name of ASCII letters. Case is folded as
// Unicode does, because encoding/json does: "ſ" is an s to it.
func matchKey(key []byte, plain bool, name string) match {
	if n := len(key) - 2; n < len(name) || n > 6*len(name) {
		return differs // \uXXXX is the longest way to write a character
	}
	if !plain {
		s, err := Unquote(key)
		switch {
		case err != nil || !strings.EqualFold(s, name):
			return differs
		case s == name:
			return equal
		}
		return variant
	}
	if len(key) != len(name)+2 {
		return differs
	}
	m := equal
	for i := range len(name) {
		if c, n := key[i+1], name[i]; c != n {
			if c^n != 0x20 || !isLetter(n) {
				return differs
			}
			m = variant
		}
	}
	return m
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
