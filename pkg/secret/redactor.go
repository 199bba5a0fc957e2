package secret

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// minValue is the length below which a value is left alone: hiding every "1"
// would make all texts unreadable, and hide nothing.
const minValue = 6

// rule is why a part of a text is taken out, the stronger reason first.
type rule uint8

const (
	byValue  rule = iota // it is a value that a reference was replaced by
	byMember             // it stands under a name that says it is secret
	byShape              // it looks like a credential of a known kind
	byQuery              // the same name in a URL or an assignment
)

// ruleNames are what stands in a text in place of what was taken out.
var ruleNames = [...]string{byValue: "value", byMember: "member", byShape: "shape", byQuery: "query"}

// mark is what a part that falls under r becomes.
func (r rule) mark() string { return "[redacted:" + ruleNames[r] + "]" }

// Redactor takes secrets out of texts and JSON (S5): values it was told of, and
// what looks like a secret by its name or shape. Each becomes [redacted:RULE],
// see the package doc. What it returns it returns unchanged the next time. The
// zero Redactor knows no values; so does a nil one, which can be told none. Its
// methods may be called concurrently.
type Redactor struct {
	values, credentials vocabulary
}

// Add makes values known from now on, in whatever form they show up. Values of
// less than 6 bytes are left out. Of a value of several lines each line counts
// as well, of one that is JSON each member with a secret name.
func (r *Redactor) Add(values ...string) { r.values.add(values) }

// AddCredentials is Add for values that are credentials for certain, because of
// their name or of where they are kept.
func (r *Redactor) AddCredentials(values ...string) {
	r.values.add(values)
	r.credentials.add(values)
}

// vocabulary is a set of values that grows.
type vocabulary struct {
	mu    sync.RWMutex
	known map[string]bool
	owned owned
	found *matcher // of all of them; nil when it has to be made again
}

func (v *vocabulary) add(values []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, value := range values {
		if v.known[value] {
			continue
		}
		for _, part := range worthwhile(value) {
			if v.known[part] {
				continue
			}
			if v.known == nil {
				v.known = map[string]bool{}
			}
			v.known[part], v.found = true, nil
		}
	}
}

// matcher is the one for the values known now; nil when there are none.
func (v *vocabulary) matcher() *matcher {
	v.mu.RLock()
	m, none := v.found, len(v.known)+len(v.owned.count) == 0
	v.mu.RUnlock()
	if m != nil || none {
		return m
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found == nil {
		all := maps.Clone(v.known)
		if all == nil {
			all = map[string]bool{}
		}
		for value := range v.owned.count {
			all[value] = true
		}
		v.found = newMatcher(all)
	}
	return v.found
}

// worthwhile is the parts of a value that are long enough to be hidden.
func worthwhile(value string) []string {
	return slices.DeleteFunc(parts(value), func(part string) bool { return len(part) < minValue || strings.TrimSpace(part) == "" })
}

// parts are a value and what of it may show up alone: secret members, lines, and
// what tools that write base64 put into one line of 64 or 76 digits, which is 48
// or 57 bytes. Blanks may become plus signs on the way into a URL.
func parts(value string) []string {
	all := []string{value}
	if strings.HasPrefix(strings.TrimSpace(value), "{") && gjson.Valid(value) {
		all = secretMembers(all, gjson.Parse(value), maxNestedJSON)
	}
	for _, v := range all {
		all = append(all, strings.TrimSpace(v), strings.ReplaceAll(v, " ", "+"))
		for line := range strings.Lines(v) {
			all = append(all, strings.TrimSpace(line))
		}
		for _, width := range []int{48, 57} {
			for chunk := range slices.Chunk([]byte(v), width) {
				if len(v) > width {
					all = append(all, string(chunk))
				}
			}
		}
	}
	return all
}

// secretMembers adds the members of an object that have secret names.
func secretMembers(all []string, object gjson.Result, deep int) []string {
	object.ForEach(func(name, v gjson.Result) bool {
		switch {
		case v.Type == gjson.String && SecretName(name.Str):
			all = append(all, v.Str)
		case v.IsObject() && deep > 0:
			all = secretMembers(all, v, deep-1)
		}
		return true
	})
	return all
}

// redaction is what one use of r begins with.
func (r *Redactor) redaction() redaction {
	if r == nil {
		return redaction{}
	}
	return redaction{values: r.values.matcher()}
}

// Text is s without secrets. A text that is JSON, such as a line of a structured
// log, loses its secret members as well.
func (r *Redactor) Text(s string) string {
	text, _ := r.redaction().text(s, false)
	return text
}

// redaction is one use of a Redactor, with the values of its beginning.
type redaction struct {
	values *matcher
	only   bool // nothing but values
	nested int  // JSON texts in JSON texts around this
}

// text is s without secrets; changed tells whether there were any. open says
// that s was cut off at its end.
func (x redaction) text(s string, open bool) (out string, changed bool) {
	out = s
	// What is taken out can leave the beginning of a shape behind it; more than
	// that there is not to find, so the second time is the last.
	for range 2 {
		next := x.round(out, open)
		if next == out {
			break
		}
		out, changed, open = next, true, false
	}
	if inner, ok := x.inner(out); ok {
		return inner, true
	}
	return out, changed
}

// round takes out once what it finds between marks.
func (x redaction) round(s string, open bool) string {
	if !strings.Contains(s, "[redacted:") {
		return x.between(s, open)
	}
	var b strings.Builder
	for s != "" {
		start, end := nextMark(s)
		b.WriteString(x.between(s[:start], open && start == len(s)))
		b.WriteString(s[start:end])
		s = s[end:]
	}
	return b.String()
}

// between takes secrets out of a text without marks.
func (x redaction) between(s string, open bool) string {
	var found []span
	if !x.only {
		found = append(shapes(s), assignments(s)...)
	}
	if x.values != nil {
		found = append(found, x.values.values(s, open)...)
	}
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, f := range ordered(found) {
		b.WriteString(s[at:f.start])
		b.WriteString(f.rule.mark())
		at = f.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// nextMark is where the first mark in s stands; its end when there is none.
func nextMark(s string) (start, end int) {
	for from := 0; ; {
		i := strings.Index(s[from:], "[redacted:")
		if i < 0 {
			return len(s), len(s)
		}
		from += i
		for r := range ruleNames {
			if mark := rule(r).mark(); strings.HasPrefix(s[from:], mark) {
				return from, from + len(mark)
			}
		}
		from++
	}
}
