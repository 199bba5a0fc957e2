package calllog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"postern/pkg/config"
)

// line is a row as this package writes it.
func line(r Row) []byte {
	r.V, r.ID, r.Writer, r.TS = Version, NewID(noon), NewID(noon), noon
	return bytes.TrimSuffix(r.appendLine(nil), []byte("\n"))
}

// TestQuickKnowsOurRows: what this package writes is turned away without being
// read. A member added at the end of a row must be added to quick as well.
func TestQuickKnowsOurRows(t *testing.T) { // F11
	full := Row{Outcome: OK, Tool: "get_issue", Claimed: &Claimed{Name: "a\"\n"}, Args: json.RawMessage(`{"a":"\"latency_ms\":1,"}`), LatencyMS: 5, Reason: "é"}
	lossy := full
	lossy.Dropped = 3
	for _, r := range []Row{{}, full, lossy} {
		for _, q := range []Query{
			{Filters: []Filter{mustFilter(t, "outcome=denied")}},
			{Filters: []Filter{mustFilter(t, "tool=put*")}},
			{Filters: []Filter{mustFilter(t, "latency=1s..")}},
			{Filters: []Filter{mustFilter(t, "latency=7ms..8ms")}},
			{Since: noon.Add(1)},
			{Until: noon},
		} {
			m := newMatcher(&q)
			if l := line(r); !m.quick.unwanted(l) {
				t.Errorf("%+v does not turn away %s", q, l)
			}
		}
	}
}

// TestQuickIsCareful: whatever might be wanted, or might be no row, is read.
func TestQuickIsCareful(t *testing.T) { // C83
	l := string(line(Row{Outcome: Denied, Tool: "get_issue", LatencyMS: 5, Dropped: 2}))
	for _, text := range []string{
		strings.Replace(l, "denied", `\u0064enied`, 1),
		strings.Replace(l, `"outcome":"`, `"outcome" : "`, 1),
		l + "}", l[:len(l)-1], l[:len(l)-2], l[:len(l)-12], l[:200], "", "{", "}",
		strings.Replace(l, `","ts":"2026-09`, `","ts":"2026-19`, 1),
		strings.Replace(l, `"id"`, `"ID"`, 1),
	} {
		for _, q := range []Query{{Filters: []Filter{mustFilter(t, "outcome=denied")}}, {Filters: []Filter{mustFilter(t, "outcome=timeout")}}, {Until: noon}} {
			m := newMatcher(&q)
			row, wanted := m.judge([]byte(text))
			wantRow, wantWanted := m.read([]byte(text))
			if row != wantRow || wanted != wantWanted {
				t.Errorf("%s: %v %v, want %v %v", text, row, wanted, wantRow, wantWanted)
			}
		}
	}
}

// FuzzQuick: what quick turns away is not wanted by whoever reads it.
func FuzzQuick(f *testing.F) {
	l := string(line(Row{Outcome: Denied, Tool: "get_issue", LatencyMS: 5, Dropped: 2, Args: json.RawMessage(`{"outcome":"ok"}`)}))
	f.Add(l, "outcome=denied", int64(0))
	f.Add(l, "tool=get*,x", int64(-1))
	f.Add(strings.Replace(l, "denied", `\u0064enied`, 1), "outcome=den*", int64(1))
	f.Add(l, "latency=5ms..6ms", int64(0))
	f.Add(l, "latency=6ms..", int64(0))
	f.Add(l, "text~issue", int64(0))
	f.Add(l, "level=0", int64(0))
	f.Fuzz(func(t *testing.T, text, arg string, since int64) {
		filter, err := ParseFilter(arg)
		if err != nil {
			return
		}
		m := newMatcher(&Query{Since: noon.Add(time.Duration(since)), Filters: []Filter{filter}})
		if !m.quick.unwanted([]byte(text)) {
			return
		}
		if _, wanted := m.read([]byte(text)); wanted {
			t.Errorf("%s turns %s away", arg, text)
		}
	})
}

func TestNeedles(t *testing.T) {
	for arg, want := range map[string]string{
		"outcome=denied": `["denied"]`, "outcome=denied,time*": `["denied"] [time]`, "tool=a*": "", "tool=*issue*x": "[issue]",
		"caller=": "", "caller=x": `["x"]`, "level=222": "[222]", "project=/srv/repo": "[repo]", "tool=日本語": "", "latency=1s..": "", "text~abc": "",
	} {
		f := mustFilter(t, arg)
		got := strings.Trim(fmt.Sprintf("%v", f.needles()), "[]")
		if got != strings.NewReplacer("[", "", "]", "").Replace(want) {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}

// hourly is a log of one file with a row every six seconds, which ended up to
// six seconds out of order.
func hourly(hours int) string {
	var b strings.Builder
	start := at("01T00:00:00")
	for i := range hours * 600 {
		r := Row{V: Version, ID: fmt.Sprint(i), TS: start.Add(time.Duration(i^1) * 6 * time.Second), LatencyMS: float64(i % 7 * 100), Outcome: OK}
		b.Write(r.appendLine(nil))
	}
	return b.String()
}

// TestSearchByTime: a search by time finds what reading everything finds, and
// reads little.
func TestSearchByTime(t *testing.T) { // F11, MB-228
	text := hourly(12)
	hole := strings.Repeat("\x00", 300_000) + "\n" // as a crash leaves behind
	half := len(text) / 2
	half += strings.IndexByte(text[half:], '\n') + 1
	for _, content := range []string{text, text[:half] + hole + text[half:]} {
		for _, bounds := range [][2]time.Duration{{5 * time.Hour, 0}, {0, 3 * time.Hour}, {5*time.Hour + 7*time.Second, 5*time.Hour + 9*time.Second}, {13 * time.Hour, 0}, {0, 1}, {6 * time.Hour, 7 * time.Hour}} {
			q := Query{}
			if bounds[0] != 0 {
				q.Since = at("01T00:00:00").Add(bounds[0])
			}
			if bounds[1] != 0 {
				q.Until = at("01T00:00:00").Add(bounds[1])
			}
			dir := logOf(t, map[string]string{"2026-09-01.jsonl": content})
			_, stats := scan(t, dir, q)
			want := 0
			m := newMatcher(&q)
			for l := range strings.SplitSeq(content, "\n") {
				if _, wanted := m.judge([]byte(l)); wanted {
					want++
				}
			}
			if stats.Rows != want {
				t.Errorf("%v: %d rows, want %d", bounds, stats.Rows, want)
			}
			if from, to := q.narrow(strings.NewReader(content), int64(len(content))); bounds[0] == 6*time.Hour && int(to-from) > len(content)/2 {
				t.Errorf("%v: %d bytes of %d are read", bounds, to-from, len(content))
			}
		}
	}
}

// FuzzSearch: whatever is in a file whose rows are in order, no row is lost.
func FuzzSearch(f *testing.F) {
	f.Add(uint64(1), 3000, 2000, 900)
	f.Add(uint64(7), 0, 100000, 17)
	f.Add(uint64(3), 0, 1000, 4999)
	f.Fuzz(func(t *testing.T, seed uint64, since, until, gap int) {
		var b strings.Builder
		end := at("01T00:00:00")
		for i := 0; b.Len() < 6*config.LogBlock; i++ {
			seed = seed*6364136223846793005 + 1442695040888963407
			end = end.Add(time.Duration(seed>>40%uint64(max(1, gap%5000)+1)) * time.Millisecond)
			latency := float64(seed >> 44 % 900_000)
			r := Row{V: Version, ID: fmt.Sprint(i), TS: end.Add(-time.Duration(latency) * time.Millisecond), LatencyMS: latency, Reason: strings.Repeat("x", int(seed>>50%900))}
			b.Write(r.appendLine(nil))
		}
		q := Query{Since: at("01T00:00:00").Add(time.Duration(since) * time.Second), Until: at("01T00:00:00").Add(time.Duration(until) * time.Second)}
		from, to := q.narrow(strings.NewReader(b.String()), int64(b.Len()))
		m, pos := newMatcher(&q), int64(0)
		for l := range strings.SplitSeq(b.String(), "\n") {
			if _, wanted := m.read([]byte(l)); wanted && (pos < from || pos >= to) {
				t.Fatalf("the row at %d is outside [%d, %d)", pos, from, to)
			}
			pos += int64(len(l)) + 1
		}
	})
}
