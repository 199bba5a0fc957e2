package proc

import (
	"os"
	"runtime"
	"testing"
)

// Only what String writes is an ID: a mark that was made by hand names nobody.
func TestParseID(t *testing.T) {
	for text, want := range map[string]struct {
		id   ID
		rest string
		ok   bool
	}{
		"7.12":            {ID{7, 12}, "", true},
		"7.0":             {ID{7, 0}, "", true},
		"7.12.a1b2c3d4-1": {ID{7, 12}, "a1b2c3d4-1", true},
		"7.12.a.b":        {ID{7, 12}, "a.b", true},
		"7.12.":           {ID{7, 12}, "", true},
		"":                {}, "7": {}, "7.": {}, ".12": {}, "7.x": {}, "x.12": {}, "-7.12": {}, "0.12": {},
		"07.12": {}, "7.012": {}, "+7.12": {}, "7.-1": {}, " 7.12": {}, "7. 12": {},
		"99999999999999999999.1": {}, "7.99999999999999999999999": {}, "test.tmp.x": {},
	} {
		id, rest, ok := ParseID(text)
		if id != want.id || rest != want.rest || ok != want.ok {
			t.Errorf("%q: %v %q %v", text, id, rest, ok)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("7.12.a-1")
	f.Add("7.12")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		id, rest, ok := ParseID(text)
		if !ok {
			return
		}
		if whole := id.String() + "." + rest; id.PID < 1 || text != whole && text+"." != whole {
			t.Errorf("%q is %v and %q", text, id, rest)
		}
	})
}

// This process knows itself; outside Linux without its start.
func TestSelf(t *testing.T) {
	id := Self()
	if id.PID != os.Getpid() || (id.Start != 0) != (runtime.GOOS == "linux") || id != Self() {
		t.Errorf("we are %v", id)
	}
}
