package call

import (
	"net/url"
	"strings"

	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/wire"
)

// A completion of a resource template names resources. Those that the policies deny
// are not named (R54), as far as it can be known which they are: the template has
// simple expressions only, {x} or {+x}, and the agent said what stands for the others.
// No more than config.MaxValues are looked at, and the rest is left out.

// withhold leaves what is denied out of the values of a completion.
func (c *Call) withhold(result []byte) {
	var at, in [1]wire.Span
	if c.method.name != methodComplete || c.method.kind != policy.ResourceKind || result == nil ||
		wire.Lookup(result, []string{"completion"}, at[:]) != nil || wire.Lookup(at[0].Of(result), []string{"values"}, in[:]) != nil || !in[0].Ok() {
		return
	}
	argument, given := completed(c.Params)
	if argument == "" {
		return
	}
	values := moved(in[0], at[0].Start)
	n := 0
	kept, all, err := wire.KeepElements(values.Of(result), func(v []byte) bool {
		text, err := wire.Unquote(v)
		n++
		return n <= config.MaxValues && (err != nil || !c.denies(argument, text, given))
	})
	if err == nil && !all {
		c.answer.Result = wire.Splice(result, wire.Edit{Span: values, New: kept})
	}
}

// denies reports whether a value makes a URI of the template that is denied, written
// as it is or encoded.
func (c *Call) denies(argument, value string, given map[string]string) bool {
	given[argument] = value
	for _, encode := range []func(string) string{url.PathEscape, func(s string) string { return s }} {
		uri, ok := expand(c.name, given, encode)
		if ok && c.view.decideOn(c.server, policy.ResourceKind, uri).Verdict == policy.Deny {
			return true
		}
	}
	return false
}

// completed is the argument that is completed, and what the agent said of others.
func completed(params []byte) (argument string, given map[string]string) {
	var at [2]wire.Span
	given = map[string]string{}
	if wire.Lookup(params, []string{"argument", "context"}, at[:]) != nil {
		return "", nil
	}
	others := objectIn(at[1].Of(params), "arguments")
	_ = wire.EachMember(others, func(key []byte, v wire.Span) bool { // none: nothing is known of others
		name, err := wire.Unquote(key)
		if value, bad := wire.Unquote(v.Of(others)); err == nil && bad == nil {
			given[name] = value
		}
		return true
	})
	return textIn(at[0].Of(params), "name"), given
}

// expand is a template with what stands for its expressions; false when it has
// others than simple ones, or one that nothing is known of.
func expand(template string, given map[string]string, encode func(string) string) (uri string, ok bool) {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(template, "{")
		if b.WriteString(before); !more {
			return b.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		reserved := strings.HasPrefix(name, "+")
		value, known := given[strings.TrimPrefix(name, "+")]
		if !closed || !known {
			return "", false
		}
		if !reserved {
			value = encode(value)
		}
		b.WriteString(value)
		template = after
	}
}
