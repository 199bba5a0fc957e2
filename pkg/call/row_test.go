package call

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
)

// hashing is plain with the arguments' hash in each row, and no more of them.
var hashing = strings.Replace(plain, "version: 1\n", "version: 1\nlog: {args: hash}\n", 1)

// C80: what a row says of the call, its session and what it was judged by.
func TestRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hashing, map[string]string{"project/.mcp.json": repository})
	w.allow("docs", config.ClassRead)
	s, err := w.host.Open(SessionOptions{Project: w.project, Via: "mcp-call", ClientPID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Claim("someone", "9.9")
	begin := time.Now()
	request := tool("docs__slow", `{"ms":50}`)
	request.LineBytes = 123
	a, row := w.answered(s, request)
	v := s.View()
	want := calllog.Row{
		V: 1, ID: row.ID, Writer: row.Writer, Seq: 1, TS: row.TS, LatencyMS: row.LatencyMS, StartMS: row.StartMS, ArgsHash: row.ArgsHash,
		Level: 2, ClientPID: 4711, Claimed: row.Claimed, Session: s.ID, ConfigHash: v.Config.Hash, Launch: v.Server("docs").Declared.Digest,
		Scope: "project", Project: w.project, Upstream: "docs", Tool: "slow", Tier: "read", Via: "mcp-call",
		Outcome: "ok", RequestBytes: 123, ResponseBytes: len(a.Reply.Raw), ResponseTokens: (len(a.Reply.Raw) + 3) / 4,
	}
	if !reflect.DeepEqual(row, want) {
		t.Errorf("got  %+v\nwant %+v", row, want)
	}
	if row.Claimed == nil || *row.Claimed != (calllog.Claimed{Name: "someone", Version: "9.9"}) {
		t.Errorf("claimed %+v", row.Claimed)
	}
	if row.ArgsHash == "" || row.ID == "" || row.Writer == "" {
		t.Errorf("got %+v", row)
	}
	if row.LatencyMS < 50 || row.StartMS <= 0 || row.StartMS > row.LatencyMS || row.TS.Before(begin.Add(-time.Second)) || row.TS.After(time.Now()) {
		t.Errorf("times of %+v", row)
	}
	_, row = w.answered(w.session(false), tool("fake__slow", "{}"))
	if row.Scope != "user" || row.Project != "" || row.Tier != "write" || row.Claimed != nil || row.ClientPID != 0 || row.Session == s.ID || row.Via != "direct" {
		t.Errorf("got %+v", row)
	}
}

// C80: with log.args none there is no hash.
func TestRowWithoutHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(plain, "version: 1\n", "version: 1\nlog: {args: none}\n", 1), nil)
	s := w.session(false)
	if _, row := w.answered(s, tool("fake__echo", `{"a":1}`)); row.ArgsHash != "" {
		t.Errorf("hash %s", row.ArgsHash)
	}
}

// C80: two spellings of the same arguments are found as one.
func TestRowsOfTwoSpellings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hashing, nil)
	s := w.session(false)
	_, one := w.answered(s, tool("fake__echo", `{"a":1,"b":"é"}`))
	_, two := w.answered(s, tool("fake__echo", `{ "b" : "\u00e9", "a" : 1.0 }`))
	_, other := w.answered(s, tool("fake__echo", `{"a":1,"b":"e"}`))
	if one.ArgsHash == "" || one.ArgsHash != two.ArgsHash || one.ArgsHash == other.ArgsHash {
		t.Errorf("hashes %s, %s, %s", one.ArgsHash, two.ArgsHash, other.ArgsHash)
	}
	for _, row := range w.rows() {
		if strings.Contains(row.ArgsHash, "é") || row.Outcome != "ok" {
			t.Errorf("row %+v", row)
		}
	}
}

// C6: without a place to write, calls work and the operator is told once.
func TestNoLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plain, nil)
	w.host.Close()
	w.write("state/calls.taken", "")
	w.dirs.State = w.path("state/calls.taken")
	w.open()
	s := w.session(false)
	for range 3 {
		s.Do(t.Context(), tool("fake__echo", "{}"), func(a Answer) {
			if a.Refusal != nil {
				t.Errorf("refused: %v", a.Refusal)
			}
		})
		s.Do(t.Context(), tool("fake__nope", "{}"), func(a Answer) {
			if a.Refusal == nil || a.Refusal.Word != UnknownTool {
				t.Errorf("got %+v", a)
			}
		})
	}
	told := 0
	for _, line := range w.warnings() {
		if strings.Contains(line, "not logged") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times: %q", told, w.warnings())
	}
}
