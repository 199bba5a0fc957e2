package calllog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"postern/pkg/config"
)

// layout is RFC 3339 with nine digits always, so that times also sort as text.
const layout = "2006-01-02T15:04:05.000000000Z"

// appendLine appends r as it stands in the file, newline included, at most
// LogRowBytes.
func (r *Row) appendLine(b []byte) []byte {
	start := len(b)
	b = r.encode(b, config.LogStringBytes)
	if len(b)-start > config.LogRowBytes {
		// Escapes made the strings grow up to sixfold. A quarter of the length
		// fits whatever is in them.
		b = r.encode(b[:start], config.LogStringBytes/4)
	}
	return b
}

// encode writes the members in the order of Row, with texts of at most max
// bytes. By hand, because reflection costs more than the write itself.
func (r *Row) encode(b []byte, max int) []byte {
	m := members{b: append(b, `{"v":`...), max: max}
	m.b = strconv.AppendInt(m.b, int64(r.V), 10)
	m.always("id", r.ID)
	m.name("ts")
	m.b = append(r.TS.UTC().AppendFormat(append(m.b, '"'), layout), '"')
	m.always("writer", r.Writer)
	m.name("seq")
	m.b = strconv.AppendUint(m.b, r.Seq, 10)
	m.name("latency_ms")
	m.float(r.LatencyMS)
	m.millis("queue_ms", r.QueueMS)
	m.millis("start_ms", r.StartMS)

	m.text("caller", r.Caller)
	m.count("level", r.Level)
	m.number("client_pid", r.ClientPID)
	if r.Claimed != nil {
		m.claimed(r.Claimed)
	}
	m.text("session", r.Session)
	m.text("config_hash", r.ConfigHash)
	m.text("launch", r.Launch)
	m.text("scope", r.Scope)
	m.text("project", r.Project)
	m.text("upstream", r.Upstream)
	m.text("tool", r.Tool)
	m.text("tier", r.Tier)
	m.text("via", r.Via)
	m.text("args_hash", r.ArgsHash)
	m.args(r.Args)

	m.always("outcome", string(r.Outcome))
	m.text("step", r.Step)
	m.text("word", r.Word)
	m.text("reason", r.Reason)
	m.text("rule", r.Rule)
	m.number("code", r.Code)
	m.count("request_bytes", r.RequestBytes)
	m.count("response_bytes", r.ResponseBytes)
	m.count("response_tokens_est", r.ResponseTokens)
	m.text("trace_id", r.TraceID)
	m.text("span_id", r.SpanID)
	m.text("parent_span_id", r.ParentSpanID)
	if r.Dropped > 0 {
		m.name("dropped")
		m.b = strconv.AppendUint(m.b, r.Dropped, 10)
	}
	return append(m.b, "}\n"...)
}

// members appends members of an object to b.
type members struct {
	b   []byte
	max int // bytes of a text
}

func (m *members) name(name string) {
	if m.b[len(m.b)-1] != '{' {
		m.b = append(m.b, ',')
	}
	m.b = append(append(append(m.b, '"'), name...), `":`...)
}

func (m *members) always(name, text string) {
	m.name(name)
	m.b = appendText(m.b, shorten(text, m.max))
}

func (m *members) text(name, text string) {
	if text != "" {
		m.always(name, text)
	}
}

func (m *members) count(name string, n int) {
	m.name(name)
	m.b = strconv.AppendInt(m.b, int64(n), 10)
}

func (m *members) number(name string, n int) {
	if n != 0 {
		m.count(name, n)
	}
}

func (m *members) millis(name string, ms float64) {
	if ms != 0 {
		m.name(name)
		m.float(ms)
	}
}

// float writes without an exponent; what is no number in JSON is 0.
func (m *members) float(v float64) {
	if v != v || v < -maxMillis || v > maxMillis {
		v = 0
	}
	m.b = strconv.AppendFloat(m.b, v, 'f', -1, 64)
}

func (m *members) claimed(c *Claimed) {
	m.name("claimed")
	m.b = append(m.b, '{')
	m.text("name", c.Name)
	m.text("version", c.Version)
	m.b = append(m.b, '}')
}

func (m *members) args(raw json.RawMessage) {
	if len(raw) == 0 || len(raw) > config.LogArgsBytes || bytes.IndexByte(raw, '\n') >= 0 || !json.Valid(raw) {
		return
	}
	m.name("args")
	m.b = append(m.b, bytes.ToValidUTF8(raw, []byte("\uFFFD"))...)
}

// appendText appends s as a JSON string. U+2028 and U+2029 are escaped although
// JSON does not ask for it: some readers take them for the end of a line.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += n
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// shorten cuts s to at most max bytes, the last of which then are "…".
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const mark = "…"
	end := max - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.ToValidUTF8(s[:end], "\uFFFD") + mark
}
