package gateway

import (
	"fmt"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// filter is what a stream of notifications carries: changes of lists, updates of
// resources, states of tasks.
type filter struct {
	groups []string // of lists, as listKind.group names them
	uris   []string
	tasks  []string
}

// listGroups are the groups that a filter can name, in the order in which it is
// written.
func listGroups() []string {
	return []string{toolList.group(), promptList.group(), resourceList.group()}
}

// flag is the member of a filter that asks for the changes of a group.
func flag(group string) string { return group + "ListChanged" }

// The other members of a filter; the second is of the tasks extension.
const (
	urisMember  = "resourceSubscriptions"
	tasksMember = "taskIds"
)

// readFilter reads what a subscriptions/listen asks for. Members that it does
// not know are passed over: nothing will be sent for them, and what the agent is
// told does not name them.
func readFilter(params []byte) (filter, error) {
	var f filter
	var at [1]wire.Span
	if err := wire.Lookup(params, []string{"notifications"}, at[:]); err != nil {
		return f, err
	}
	raw := at[0].Of(params)
	if !wire.IsObject(raw) {
		return f, fmt.Errorf("%s needs params.notifications, an object", listenMethod)
	}
	var in [5]wire.Span
	names := []string{urisMember, tasksMember}
	for _, group := range listGroups() {
		names = append(names, flag(group))
	}
	if err := wire.Lookup(raw, names, in[:]); err != nil {
		return f, err
	}
	for i, group := range listGroups() {
		switch value := in[2+i].Of(raw); string(value) {
		case "true":
			f.groups = append(f.groups, group)
		case "false", "null", "":
		default:
			return f, fmt.Errorf("notifications.%s is not a boolean", flag(group))
		}
	}
	var err error
	if f.uris, err = readTexts(in[0].Of(raw), urisMember); err == nil {
		f.tasks, err = readTexts(in[1].Of(raw), tasksMember)
	}
	return f, err
}

// readTexts reads an array of strings, each of them once.
func readTexts(raw []byte, member string) (texts []string, err error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	seen := map[string]bool{}
	odd := wire.EachElement(raw, func(v wire.Span) bool {
		text, bad := wire.Unquote(v.Of(raw))
		switch {
		case bad != nil:
			err = fmt.Errorf("notifications.%s holds something else than strings", member)
		case len(seen) == config.StreamItems && !seen[text]:
			err = fmt.Errorf("notifications.%s has more than %d entries", member, config.StreamItems)
		case !seen[text]:
			seen[text] = true
			texts = append(texts, text)
		}
		return err == nil
	})
	if odd != nil {
		return nil, fmt.Errorf("notifications.%s is not an array", member)
	}
	return texts, err
}

// empty reports whether nothing will ever be sent.
func (f *filter) empty() bool { return len(f.groups)+len(f.uris)+len(f.tasks) == 0 }

// hasURI reports whether a resource is among those of the filter, or lies below
// one: a server may name the part that changed.
func (f *filter) hasURI(uri string) bool {
	return slices.ContainsFunc(f.uris, func(whole string) bool {
		rest, below := strings.CutPrefix(uri, whole)
		return below && (rest == "" || strings.HasSuffix(whole, "/") || strings.IndexByte("/?#", rest[0]) >= 0)
	})
}

// json is the filter as the agent is told of it.
func (f *filter) json() []byte {
	var o object
	for _, group := range f.groups {
		o.raw(flag(group), []byte("true"))
	}
	for _, list := range []struct {
		member string
		texts  []string
	}{{urisMember, f.uris}, {tasksMember, f.tasks}} {
		if len(list.texts) > 0 {
			o.raw(list.member, quoteAll(list.texts))
		}
	}
	if o.b == nil {
		return []byte("{}")
	}
	return o.bytes()
}

func quoteAll(texts []string) []byte {
	out := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, wire.Quote(text)...)
	}
	return append(out, ']')
}
