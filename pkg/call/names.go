package call

import (
	"slices"
)

// Remarks are what the operator of a process would be told at the start of a session
// in this project, each once: what is wrong with the configuration and with the
// records of trust (R90), and what the host does without (C6). Without a secret.
func (h *Host) Remarks(project string) (all []string) {
	for _, d := range h.load(project).Diagnostics {
		if text := h.redactor.Text(d.String()); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if _, err := h.trust.Records(project); err != nil {
		all = append(all, h.redactor.Text(noTrust(err)))
	}
	return append(all, h.without...)
}

func noTrust(err error) string { return "no trust record is in force: " + err.Error() }

// Names are the variables that servers of a session opened with o could use of
// its agent's environment (C30), in order and each once: of the servers that o's
// policies serve and that may start, what trust.Records.Wanted says. It is asked
// before Open, which gets the values, and reads files but starts nothing. Errors
// are those of Open.
func (h *Host) Names(o SessionOptions) ([]string, error) {
	c, who, err := h.basis(o)
	if err != nil {
		return nil, err
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
