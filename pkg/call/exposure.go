package call

import "postern/pkg/config"

// Exposure is how much of tools and results reaches an agent's context (R63,
// R69).
type Exposure struct {
	Mode                string // auto, full or lazy
	MaxDescriptionChars int    // of a tool's description in a list; 0 = never trimmed
	MaxResultBytes      int    // of one result; 0 = never cut
}

// Exposure is what the session's policies say in this view. Of several the
// stricter value holds each time: lazy before auto before full, and the smaller
// number, where 0 is the largest. Without any policy it is the default.
func (s *Session) Exposure(v *View) Exposure {
	var out *Exposure
	for _, name := range policyNames(v.Config, s.o.Policy) {
		if p := v.Config.Policies[name]; p != nil {
			out = narrower(out, Exposure{p.Exposure, p.MaxDescriptionChars, p.MaxResultBytes})
		}
	}
	if out == nil {
		return Exposure{"auto", config.DefaultDescriptionChars, config.DefaultResultBytes}
	}
	return *out
}

func narrower(a *Exposure, b Exposure) *Exposure {
	if a == nil {
		return &b
	}
	if strictness(a.Mode) > strictness(b.Mode) {
		b.Mode = a.Mode
	}
	b.MaxDescriptionChars = smaller(a.MaxDescriptionChars, b.MaxDescriptionChars)
	b.MaxResultBytes = smaller(a.MaxResultBytes, b.MaxResultBytes)
	return &b
}

func strictness(mode string) int {
	switch mode {
	case "full":
		return 0
	case "auto":
		return 1
	}
	return 2
}

func smaller(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
