package call

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/secret"
)

// keyed is a host with nothing but a key and a Redactor.
func keyed(key []byte, values ...string) *Host {
	h := &Host{redactor: &secret.Redactor{}, key: func() []byte { return key }}
	h.redactor.Add(values...)
	return h
}

// logged is the row that is written for arguments in the mode redacted.
func logged(h *Host, arguments string) calllog.Row {
	s := &Session{host: h}
	r := calllog.Row{}
	s.logArguments(&Call{view: &View{Config: &config.Config{Log: config.Log{Args: "redacted"}}}, arguments: []byte(arguments)}, &r)
	h.finishRow(&r)
	return r
}

// C80: the hash is of the canonical form: spelling does not matter, values do.
func TestArgsHash(t *testing.T) {
	h := keyed(make([]byte, 32))
	same := [][]string{
		{`{"a":1,"b":"x"}`, `{ "b":"\u0078", "a":1.0 }`, `{"b":"x","a":1e0}`},
		{``, `{}`, `{ }`},
		{`{"n":9007199254740993}`},
		{`{"n":9007199254740992}`},
		{`{"a":[1,2]}`}, {`{"a":[2,1]}`},
	}
	seen := map[string]int{}
	for n, group := range same {
		for _, arguments := range group {
			hash := logged(h, arguments).ArgsHash
			if len(hash) != len("sha256:")+64 {
				t.Fatalf("%s: %q", arguments, hash)
			}
			if other, known := seen[hash]; known && other != n {
				t.Errorf("%s has the hash of group %d", arguments, other)
			}
			seen[hash] = n
		}
	}
	if len(seen) != len(same) {
		t.Errorf("%d hashes for %d values", len(seen), len(same))
	}
	if got := logged(h, `{"a":1,"a":2}`).ArgsHash; got != "" {
		t.Errorf("arguments without a canonical form: %s", got)
	}
}

// C80: what the row does not show cannot be guessed from its hash.
func TestHashOfWhatIsHidden(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	h := keyed(key, "hidden-value")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(`{"a":1,"password":"1234"}`))
	want := "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
	if r := logged(h, `{"password":"1234", "a":1}`); r.ArgsHash != want || string(r.Args) != `{"password":"[redacted:member]","a":1}` {
		t.Errorf("%s %s", r.ArgsHash, r.Args)
	}
	for _, arguments := range []string{`{"a":"x hidden-value"}`, `{"a":"` + strings.Repeat("x", 5000) + `"}`, `{"a":"` + strings.Repeat("x", config.LogArgsInput) + `"}`} {
		if r := logged(h, arguments); !strings.HasPrefix(r.ArgsHash, "hmac-sha256:") || len(r.Args) > config.LogArgsBytes || !json.Valid(r.Args) {
			t.Errorf("%.40s: %s %.100s", arguments, r.ArgsHash, r.Args)
		}
		if r := logged(keyed(nil, "hidden-value"), arguments); r.ArgsHash != "" || r.Args == nil {
			t.Errorf("without a key: %.40s: %s %.100s", arguments, r.ArgsHash, r.Args)
		}
	}
	if r := logged(keyed(nil), `{"a":1}`); !strings.HasPrefix(r.ArgsHash, "sha256:") {
		t.Errorf("%s", r.ArgsHash)
	}
}

// Of arguments that are very long the small members are kept.
func TestShortened(t *testing.T) {
	big := strings.Repeat("x", config.LogArgsInput)
	for in, want := range map[string]string{
		`{"path":"/a","content":"` + big + `","mode":7}`: `{"path":"/a","content":"[cut:65538]","mode":7}`,
		`["` + big + `"]`:         `"[cut:65540]"`,
		`{"` + big + `":1}`:       `{"[cut]":1}`,
		`{"a":1,"` + big + `":1}`: `{"a":1,"[cut]":1}`,
	} {
		if got := string(shortened([]byte(in))); got != want {
			t.Errorf("%.30s: %s", in, got)
		}
	}
	var many strings.Builder
	for range 1000 {
		many.WriteString(`,"` + strings.Repeat("n", 50) + `":"` + big[:100] + `"`)
	}
	if got := shortened([]byte("{" + many.String()[1:] + "}")); len(got) > config.LogArgsInput+100 || !json.Valid(got) || !bytes.Contains(got, []byte(`"[cut]":`)) {
		t.Errorf("%d bytes, valid %v", len(got), json.Valid(got))
	}
}

// C80, MB-218: by default a row has its arguments without secrets, those of a
// server that was never started included; in no part of a row are there any.
func TestRowsAreRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `version: 1
servers:
  fake: {command: $FAKE, args: [-events, $WORK/events]}
  other: {command: $FAKE, env: {A: "${OTHER_KEY}", B: literal-env-value}, env_file: other.env, agent_env: [OTHER_KEY]}
`+allowAll, map[string]string{"config/other.env": "UNUSED=value-of-env-file\n"})
	w.host.Close()
	w.environ = append(w.environ, "OTHER_KEY=agent-env-value")
	w.open()
	s := w.session(false)
	s.Claim("name with agent-env-value", "literal-env-value")
	a, row := w.answered(s, tool("fake__echo", `{"text":"a literal-env-value b","api_key":"k","more":["agent-env-value",1.0],"file":"value-of-env-file"}`))
	if want := `{"text":"a [redacted:value] b","api_key":"[redacted:member]","more":["[redacted:value]",1.0],"file":"[redacted:value]"}`; string(row.Args) != want {
		t.Errorf("%s", row.Args)
	}
	if !bytes.Contains(a.Reply.Raw, []byte("agent-env-value")) {
		t.Error("the answer of a tool is not the gateway's to change")
	}
	if row.Claimed.Name != "name with [redacted:value]" || row.Claimed.Version != "[redacted:value]" {
		t.Errorf("claimed %+v", row.Claimed)
	}
	_, row = w.refused(s, tool("agent-env-value", "{}"), UnknownTool)
	if row.Tool != "[redacted:value]" || string(row.Args) != "{}" {
		t.Errorf("%+v", row)
	}
	w.host.Close()
	for _, value := range []string{"agent-env-value", "literal-env-value", "value-of-env-file"} {
		w.noneHolds(w.dirs.State, value)
	}
	if _, err := os.Stat(filepath.Join(w.dirs.State, "key")); err != nil {
		t.Errorf("no key for the hash of what is hidden: %v", err)
	}
}

// A key that cannot be believed costs the hashes, and is said once.
func TestUnreadableKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hashing, map[string]string{"state/key": "short"})
	s := w.session(false)
	for range 3 {
		if _, row := w.answered(s, tool("fake__echo", `{"a":1}`)); row.ArgsHash != "" || row.Args != nil {
			t.Errorf("%s %s", row.ArgsHash, row.Args)
		}
	}
	told := 0
	for _, text := range w.warnings() {
		if strings.Contains(text, "without a hash") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %q", told, w.warnings())
	}
}

func BenchmarkLogArguments(b *testing.B) { // on the path of a call
	h := keyed(make([]byte, 32))
	s := &Session{host: h}
	c := &Call{view: &View{Config: &config.Config{Log: config.Log{Args: "redacted"}}}, arguments: []byte(`{"path":"/home/me/notes/today.md","limit":20}`)}
	for b.Loop() {
		var r calllog.Row
		s.logArguments(c, &r)
	}
}

func BenchmarkFinishRow(b *testing.B) { // on the log's goroutine
	h := keyed(make([]byte, 32), "0123456789abcdef0123456789abcdef", "another-value", "hunter2hunter2")
	for b.Loop() {
		h.finishRow(&calllog.Row{Args: []byte(`{"path":"/home/me/notes/today.md","limit":20}`), Claimed: &calllog.Claimed{Name: "claude-code", Version: "2.1.0"}})
	}
}
