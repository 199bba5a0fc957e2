package pool

import (
	"postern/pkg/wire"
)

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// filter is what a modern server is listened to for: changes of those lists that
// it says change, and of what is subscribed to. nil is nothing.
func (i *Instance) filter() []byte {
	var b []byte
	add := func(name string, value []byte) {
		b = append(append(append(append(b, `,"`...), name...), `":`...), value...)
	}
	capabilities := i.client.Info().Capabilities
	for _, list := range []string{"tools", "prompts", "resources"} {
		if flag(capabilities, list, "listChanged") {
			add(list+"ListChanged", []byte("true"))
		}
	}
	var uris []byte
	for _, uri := range i.uris() {
		uris = append(append(uris, ','), wire.Quote(uri)...)
	}
	if uris != nil {
		uris[0] = '['
		add("resourceSubscriptions", append(uris, ']'))
	}
	if b == nil {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// flag reports whether a member of a capability is true.
func flag(capabilities []byte, name, member string) bool {
	var at [1]wire.Span
	if wire.Lookup(capabilities, []string{name}, at[:]) != nil {
		return false
	}
	in := at[0].Of(capabilities)
	return wire.Lookup(in, []string{member}, at[:]) == nil && string(at[0].Of(in)) == "true"
}

// agrees reports whether what a server agreed to has a resource in it.
func agrees(agreed []byte, uri string) (found bool) {
	var at [1]wire.Span
	if wire.Lookup(agreed, []string{"resourceSubscriptions"}, at[:]) != nil {
		return false
	}
	list := at[0].Of(agreed)
	_ = wire.EachElement(list, func(v wire.Span) bool { // no list: nothing is in it
		s, err := wire.Unquote(v.Of(list))
		found = found || err == nil && s == uri
		return !found
	})
	return found
}

// withoutSubscription takes out of a notification what names our own listen, and
// the _meta that was there for nothing else; whoever it is passed on to listens,
// if at all, under another id. Every other byte stays.
func withoutSubscription(m wire.Message) wire.Message {
	params := m.ParamsBytes()
	var at, id [1]wire.Span
	if wire.Lookup(params, []string{"_meta"}, at[:]) != nil || !at[0].Ok() {
		return m
	}
	meta := at[0].Of(params)
	if wire.Lookup(meta, []string{metaSubscription}, id[:]) != nil || !id[0].Ok() {
		return m
	}
	members := 0
	_ = wire.EachMember(meta, func([]byte, wire.Span) bool { members++; return true }) // Lookup has read it
	edits, base := wire.Removals(meta, id[0]), m.Params.Start+at[0].Start
	if members == 1 {
		edits, base = wire.Removals(params, at[0]), m.Params.Start
	}
	for n := range edits {
		edits[n].Span.Start += base
		edits[n].Span.End += base
	}
	clean, err := wire.Parse(wire.Splice(m.Raw, edits...))
	if err != nil {
		return m
	}
	return clean
}
