package policy

import (
	"testing"

	"postern/pkg/config"
)

// R53: a resource is denied however its URI is spelled: what a server may read in
// it counts, too.
func TestDeniedURIsInOtherSpellings(t *testing.T) {
	p := config.Policy{At: "f:9", Servers: patterns("f:2", "x"), Allow: allTiers, Deny: patterns("f:1",
		"resource:x/file:///secret/*", "resource:x/file:///etc/shadow", "resource:x/notes://secret/*", "resource:x/db://Table")}
	s := Subject{Level: 3, Policies: []*Policy{compile(t, &p)}}
	for uri, want := range map[string]Verdict{
		"file:///secret/x":                  Deny,
		"file:///open/../secret/x":          Deny,
		"file:///open/%2e%2e/secret/x":      Deny,
		"file:///open/..%2fsecret/x":        Deny,
		"file:///open/%252e%252e/secret/x":  Deny,
		`file:///open\..\secret\x`:          Deny,
		"file:///./secret/x":                Deny,
		"file:////secret/x":                 Deny,
		"file:///open//../../secret/x":      Deny,
		"file:///%73ecret/x":                Deny,
		"FILE:///secret/x":                  Deny,
		"file://localhost/secret/x":         Deny,
		"file:///etc/shadow":                Deny,
		"file:///etc/shadow#x":              Deny,
		"file:///etc/shadow?x":              Deny,
		"file:///etc/shadow/":               Deny,
		"file:///etc/shadow/.":              Deny,
		"notes://open/../secret/x":          Deny,
		"notes://open/%2E%2E/secret/x":      Deny,
		"notes://SECRET/x":                  Deny,
		"file:///open/x":                    Allow,
		"file:///open/secret/x":             Allow,
		"file:///secret":                    Allow,
		"file:///secret/../open":            Deny, // it is written there
		"file:///open/a..b/%20?q=/secret/#": Allow,
		"notes://open/x/../y":               Allow,
		"db://table":                        Allow,
		"secret":                            Allow,
		"%":                                 Allow,
		"":                                  Allow,
	} {
		if d := Decide(s, ofKind(ResourceKind, uri)); d.Verdict != want {
			t.Errorf("%q: %+v", uri, d)
		}
		if _, refused := RefusedByName(s, ofKind(ResourceKind, uri)); refused != (want == Deny) {
			t.Errorf("%q by name: %v", uri, refused)
		}
	}
	if d := Decide(s, ofKind(PromptKind, "file:///open/../secret/x")); d.Verdict != Allow {
		t.Errorf("a prompt: %+v", d)
	}
}

// R53: `tools` does not choose what leads out of what it names; what was written
// to the letter it does.
func TestChosenURIsStayWhereTheyAre(t *testing.T) {
	p := config.Policy{At: "f:9", Servers: patterns("f:2", "x"), Allow: allTiers, Tools: patterns("f:3",
		"resource:x/file:///open/*", "resource:x/file:///*.md", "resource:x/notes://open/*", "resource:x/db://t?q=*",
		"resource:x/web://get/https://h/*", "resource:x/ui://w#a", "resource:x/odd://a/../b")}
	s := Subject{Level: 3, Policies: []*Policy{compile(t, &p)}}
	for uri, want := range map[string]Verdict{
		"file:///open/x":               Allow,
		"file:///open/":                Allow,
		"file:///open/a%20b":           Allow,
		"file:///open/x/../y":          Allow,
		"file:///open/../secret":       Deny,
		"file:///open/%2e%2e/secret":   Deny,
		"file:///open/..%2Fsecret":     Deny,
		"file:///open/%252e./secret":   Deny,
		`file:///open/..\secret`:       Deny,
		"file:///open//../secret":      Deny,
		"file:///secret#.md":           Deny,
		"file:///secret?.md":           Deny,
		"file:///a/b.md":               Allow,
		"notes://open/x":               Allow,
		"notes://open/../secret":       Deny,
		"db://t?q=../x":                Allow,
		"web://get/https://h/x//y":     Allow,
		"web://get/https://h/../other": Deny,
		"ui://w#a":                     Allow,
		"ui://w#b":                     Deny,
		"odd://a/../b":                 Allow,
	} {
		if d := Decide(s, ofKind(ResourceKind, uri)); d.Verdict != want {
			t.Errorf("%q: %+v", uri, d)
		}
	}
}

// What is read in a URI is bounded, and reading it changes no verdict to a milder
// one.
func FuzzSpellings(f *testing.F) {
	for _, uri := range []string{"file:///a/../b", "a:%2e%2e/b?c#d", `\..\`, "://", "%%2e", "x://é/..", "//", "?#", "a/b/.", "\xa3\xa3"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		s := spellingsOf(uri)
		if len(s.any) > 100 || len(s.all) > 14 {
			t.Errorf("%d and %d spellings", len(s.any), len(s.all))
		}
		for _, one := range append(s.any, s.all...) {
			if len(one) > 3*len(uri)+1 { // a byte that is no UTF-8 becomes three
				t.Errorf("%q is longer than %q", one, uri)
			}
		}
		if isPlain(uri) != (s.any == nil && s.all == nil) && isPlain(uri) {
			t.Error("a plain URI has other spellings")
		}
	})
}
