package pool

import (
	"postern/pkg/wire"
)

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// filter is what a modern server is listened to for: changes of those lists that
// it says change, of what is subscribed to, and of open tasks. nil is nothing.
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
	if uris := i.uris(); len(uris) > 0 {
		add("resourceSubscriptions", quoted(uris))
	}
	if ids := i.taskIDs(); len(ids) > 0 && i.hasTasks() {
		add("taskIds", quoted(ids))
	}
	if b == nil {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// quoted is a list of texts.
func quoted(texts []string) []byte {
	b := []byte{'['}
	for n, s := range texts {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, wire.Quote(s)...)
	}
	return append(b, ']')
}

// extensionTasks is the modern era's tasks.
const extensionTasks = "io.modelcontextprotocol/tasks"

// hasTasks reports whether a modern server tells of tasks that are listened for.
func (i *Instance) hasTasks() bool {
	var at [1]wire.Span
	capabilities := i.client.Info().Capabilities
	if !i.modern.Load() || wire.Lookup(capabilities, []string{"extensions"}, at[:]) != nil {
		return false
	}
	return declares(at[0].Of(capabilities), extensionTasks, false)
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
