package call

import (
	"fmt"
	"strings"
	"testing"

	"postern/pkg/config"
	"postern/pkg/mcptest"
)

// R61: a server cannot list a URI that is the mark of another one, and so answer
// for it.
func TestMarkedURIsStayTheirServers(t *testing.T) {
	t.Parallel()
	yaml := strings.Replace(two, "a: {command: $FAKE, args: [-more,", "a: {command: $FAKE, args: [-more, -resources, $WORK/claims, -templates, $WORK/forms,", 1)
	files := twoFiles()
	files["claims"] = `[{"uri":"fake://text"},{"uri":"postern+b:fake://text"},{"uri":"postern+none:x"}]`
	files["forms"] = `[{"uriTemplate":"postern+b:{+any}"},{"uriTemplate":"fake://item/{id}"}]`
	w := newWorld(t, yaml, files)
	w.list(false, "a")
	w.list(false, "b")
	s := w.session(false)
	v := s.View()
	if got, want := shown(v.VisibleResources()), "fake://text postern+a:postern+b:fake://text postern+none:x postern+b:fake://text b://one b://one"; got != want {
		t.Errorf("resources: %s", got)
	}
	if got, want := shown(v.VisibleTemplates()), "postern+a:postern+b:{+any} fake://item/{id} postern+b:fake://item/{id} b://{+path}"; got != want {
		t.Errorf("templates: %s", got)
	}
	for uri, want := range map[string]string{
		"postern+b:fake://text": "b", "postern+a:postern+b:fake://text": "a", "postern+none:x": "a", "postern+b:b://x": "b",
	} {
		r := Request{Method: methodRead, Params: []byte(fmt.Sprintf(`{"uri":%q,"_meta":{"fake/result":{"contents":[]}}}`, uri))}
		if _, row := w.answered(s, r); row.Upstream != want {
			t.Errorf("%s was read from %s", uri, row.Upstream)
		}
	}
	only := w.agent(&person{}, SessionOptions{Only: "a"})
	if got, want := shown(only.View().VisibleResources()), "fake://text postern+b:fake://text postern+none:x"; got != want {
		t.Errorf("alone: %s", got)
	}
}

// A URI that is longer than any that is listed is kept nowhere and sent nowhere.
func TestLongURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, two, twoFiles())
	w.list(false, "b")
	for _, o := range []SessionOptions{{}, {Only: "b"}} {
		s := w.agent(&person{}, o)
		long := "b://" + strings.Repeat("x", config.MaxURIBytes)
		for _, r := range []Request{
			{Method: methodRead, Params: []byte(`{"uri":"` + long + `"}`)},
			{Method: methodSubscribe, Params: []byte(`{"uri":"` + long + `"}`)},
			{Method: methodUnsubscribe, Exposed: long, Params: []byte(`{"uri":"` + long + `"}`)},
			{Method: methodComplete, Params: []byte(`{"ref":{"type":"ref/resource","uri":"` + long + `"}}`)},
		} {
			refusal, _ := w.refused(s, r, InvalidArguments)
			if len(refusal.Message) > config.MaxURIBytes {
				t.Error("the message is as long")
			}
		}
	}
	if n := len(mcptest.Events(t, w.events, "start")); n != 1 {
		t.Errorf("%d starts", n)
	}
}
