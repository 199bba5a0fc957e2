package call

import (
	"slices"
)

// Names are the variables that servers of a session opened with o could use of
// its agent's environment (C30), in order and each once: of the servers that o's
// policies serve and that may start, what trust.Records.Wanted says. It is asked
// before Open, which gets the values, and reads files but starts nothing. Errors
// are those of Open.
func (h *Host) Names(o SessionOptions) ([]string, error) {
	c := h.load(o.Project)
	who, err := subject(c, o.Policy)
	if err != nil {
		return nil, err
	}
	if o.Only != "" && !c.Refused && c.Server(o.Only) == nil {
		return nil, &UnknownServerError{ID: o.Only}
	}
	hub, _ := h.environment()
	v := &View{Config: c, records: h.records(o.Project), subject: who}
	var names []string
	for _, d := range c.Servers {
		s := &Server{Declared: d}
		if o.Only != "" && d.ID != o.Only || !v.Serves(s) {
			continue
		}
		names = append(names, v.records.Wanted(d, hub)...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
