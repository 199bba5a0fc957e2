package secret

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// S5: what an owner brings along is hidden as long as it is there and some time
// after, and then forgotten; what others have too, or is known for good, stays.
func TestValuesOfOwners(t *testing.T) {
	var r Redactor
	hides := func(value string, want bool) {
		t.Helper()
		if got := r.Text("it is " + value + " here"); strings.Contains(got, value) == want {
			t.Errorf("hidden %v: %s", want, got)
		}
	}
	r.Add("for-good")
	r.AddFor("", false, "of-nobody")
	r.AddFor("first", true, "of-first", "for-good", "of-both")
	r.AddFor("second", false, "of-both", "tiny")
	r.AddFor("stays", false, "of-stays")
	if got := string(r.Definition([]byte(`{"description":"of-first of-both"}`))); strings.Contains(got, "of-first") {
		t.Errorf("a credential is not one: %s", got)
	}
	r.Forget("first")
	r.Forget("first?")
	hides("of-first", true)
	for n := range goneOwners {
		owner := fmt.Sprint("owner", n)
		r.AddFor(owner, false, "value-of-"+owner)
		r.Forget(owner)
	}
	hides("of-first", false)
	hides("of-both", true)
	hides("of-stays", true)
	hides("for-good", true)
	hides("of-nobody", true)
	r.Forget("second")
	for n := range goneOwners {
		owner := fmt.Sprint("again", n)
		r.AddFor(owner, true, "value-of-"+owner)
		r.Forget(owner)
	}
	hides("of-both", false)
	if got := string(r.Definition([]byte(`{"description":"of-first of-both"}`))); !strings.Contains(got, "of-first") {
		t.Errorf("still a credential: %s", got)
	}
}

// However many owners come and go, and however much they bring, what is kept is
// bounded.
func TestManyOwners(t *testing.T) {
	var r Redactor
	r.AddFor("large", false, strings.Repeat("x", 2*goneBytes))
	r.Forget("large")
	for n := range 2000 {
		owner := fmt.Sprint(n)
		r.AddFor(owner, true, strings.Repeat(owner+"-", 100), owner+"-short")
		r.Forget(owner)
	}
	for _, v := range []*vocabulary{&r.values, &r.credentials} {
		if o := &v.owned; len(o.by) > goneOwners || len(o.gone) != len(o.by) || o.bytes > goneBytes || len(v.known) != 0 || len(o.count) > 100*goneOwners {
			t.Errorf("%d owners, %d gone, %d bytes, %d values", len(o.by), len(o.gone), o.bytes, len(o.count))
		}
	}
}

func TestOwnersAtTheSameTime(t *testing.T) {
	var r Redactor
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for k := range 50 {
				owner := fmt.Sprint(n, "-", k)
				r.AddFor(owner, k%2 == 0, "value-of-"+owner, "of-everybody")
				if got := r.Text("value-of-" + owner + " of-everybody"); strings.Contains(got, "of-") {
					t.Errorf("got %s", got)
				}
				r.Forget(owner)
			}
		})
	}
	all.Wait()
}
