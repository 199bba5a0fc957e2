package secret

// Bounds of what is known of owners that are gone: what a server of theirs still
// says, and rows that are not written yet, comes soon.
const (
	goneOwners = 100       // the last so many
	goneBytes  = 256 << 10 // of their values, unless it is one owner alone
)

// AddFor is Add, or AddCredentials, for values that an owner brings along and nobody
// else has, as an agent does: they are known until some time after Forget(owner).
// Nobody is the owner "".
func (r *Redactor) AddFor(owner string, credentials bool, values ...string) {
	if owner == "" {
		r.values.add(values)
	} else {
		r.values.addFor(owner, values)
	}
	switch {
	case !credentials:
	case owner == "":
		r.credentials.add(values)
	default:
		r.credentials.addFor(owner, values)
	}
}

// Forget says that an owner is gone. Its values stay known as long as it is one of
// the last that are.
func (r *Redactor) Forget(owner string) {
	r.values.forget(owner)
	r.credentials.forget(owner)
}

// owned is the values of owners in a vocabulary, whose lock guards it.
type owned struct {
	by    map[string]map[string]bool // by owner
	count map[string]int             // how many owners have a value
	gone  []string                   // owners, the newest at the end
	bytes int                        // of the values of those
}

func (v *vocabulary) addFor(owner string, values []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	mine := v.owned.by[owner]
	for _, value := range values {
		if mine[value] || v.known[value] {
			continue
		}
		for _, part := range worthwhile(value) {
			if mine[part] || v.known[part] {
				continue
			}
			if mine == nil {
				mine = v.owned.begin(owner)
			}
			mine[part] = true
			if v.owned.count[part]++; v.owned.count[part] == 1 {
				v.found = nil
			}
		}
	}
}

func (o *owned) begin(owner string) map[string]bool {
	if o.by == nil {
		o.by, o.count = map[string]map[string]bool{}, map[string]int{}
	}
	o.by[owner] = map[string]bool{}
	return o.by[owner]
}

func (v *vocabulary) forget(owner string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	o := &v.owned
	if o.by[owner] == nil {
		return
	}
	o.gone = append(o.gone, owner)
	o.bytes += size(o.by[owner])
	for len(o.gone) > goneOwners || o.bytes > goneBytes && len(o.gone) > 1 {
		first := o.gone[0]
		o.gone = append(o.gone[:0], o.gone[1:]...)
		o.bytes -= size(o.by[first])
		for part := range o.by[first] {
			if o.count[part]--; o.count[part] == 0 {
				delete(o.count, part)
				v.found = nil
			}
		}
		delete(o.by, first)
	}
}

func size(values map[string]bool) (n int) {
	for value := range values {
		n += len(value)
	}
	return n
}
