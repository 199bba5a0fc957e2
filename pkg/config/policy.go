package config

import "slices"

func policyFields() []field[Policy] {
	return []field[Policy]{
		{"servers", userOnly, "Servers", func(r *reader, p *Policy, n *node, path string) { p.Servers = r.patterns(n, path, checkGlob) }},
		{"tools", userOnly, "Tools", func(r *reader, p *Policy, n *node, path string) { p.Tools = r.patterns(n, path, CheckPattern) }},
		{"deny", userOnly, "Deny", func(r *reader, p *Policy, n *node, path string) { p.Deny = r.patterns(n, path, CheckPattern) }},
		{"ask", userOnly, "Ask", func(r *reader, p *Policy, n *node, path string) { p.Ask = r.patterns(n, path, CheckPattern) }},
		{"allow", userOnly, "Allow", readAllow},
		{"exposure", userOnly, "Exposure", readExposure},
		{"max_description_chars", userOnly, "MaxDescriptionChars", func(r *reader, p *Policy, n *node, path string) {
			p.MaxDescriptionChars = r.integer(n, path, 0, MaxDescriptionChars)
		}},
		{"max_result_bytes", userOnly, "MaxResultBytes", func(r *reader, p *Policy, n *node, path string) {
			if n.kind == kindNumber && n.text == "0" {
				p.MaxResultBytes = 0
				return
			}
			p.MaxResultBytes = int(r.size(n, path, MinResultBytes, MaxResultBytes))
		}},
		{name: "ask_via", where: userOnly}, {name: "top_k", where: userOnly},
		{name: "facade", where: userOnly}, {name: "models", where: userOnly},
	}
}

func readExposure(r *reader, p *Policy, n *node, path string) {
	if n.kind == kindString && n.text == "top_k" {
		r.fail(n.pos, path, "top_k is not supported yet; write auto, full or lazy")
		return
	}
	p.Exposure, _ = choice(r, n, path, "auto", "full", "lazy")
}

func readPolicies(r *reader, u *userFile, n *node, path string) {
	if n.kind == kindNull || !r.want(n, path, kindMapping) {
		return
	}
	if len(u.policies)+len(n.members) > MaxPolicies {
		r.fail(n.pos, path, "more than %d policies", MaxPolicies)
		return
	}
	for _, m := range n.members {
		where := join(path, m.name)
		if err := checkName(m.name); err != nil {
			r.fail(m.pos, where, "%s", err)
			continue
		}
		if !u.once(r, m.pos, path, m.name) {
			continue
		}
		p := &Policy{At: r.place(m.pos), Allow: []Tier{TierRead},
			Exposure: "auto", MaxDescriptionChars: DefaultDescriptionChars, MaxResultBytes: DefaultResultBytes}
		readFields(r, p, m.value, where, policyFields())
		u.policies[m.name] = p
	}
}

// readAllow reads the tiers. An empty list would not mean what it says, since
// a policy without the field allows reading.
func readAllow(r *reader, p *Policy, n *node, path string) {
	tiers := list(r, n, path, 4, func(n *node, path string) (Tier, bool) {
		return choice(r, n, path, TierRead, TierWrite, TierExecute, TierAdmin)
	})
	if n.kind == kindList && len(n.items) == 0 {
		r.fail(n.pos, path, "is empty; to allow nothing deny \"*\"")
	}
	slices.SortFunc(tiers, func(a, b Tier) int { return rank(a) - rank(b) })
	p.Allow = slices.Compact(tiers)
}

func rank(t Tier) int {
	return slices.Index([]Tier{TierRead, TierWrite, TierExecute, TierAdmin}, t)
}

func readDefaults(r *reader, u *userFile, n *node, path string) {
	d := &Defaults{TrustLevel: AnonymousLevel}
	readFields(r, d, n, path, []field[Defaults]{
		{"policy", userOnly, "Policy", func(r *reader, d *Defaults, n *node, path string) {
			if r.want(n, path, kindString) {
				d.Policy = n.text
			}
		}},
		{"trust_level", userOnly, "TrustLevel", func(r *reader, d *Defaults, n *node, path string) {
			d.TrustLevel = r.integer(n, path, 0, MaxLevel)
		}},
		{name: "require_pin", where: userOnly},
	})
	if n.kind == kindMapping && n.get("policy") == nil {
		r.fail(n.pos, path, "policy is missing; without one defaults mean nothing")
	}
	u.defaults = d
}
