package secret

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"postern/pkg/wire"
)

// S5 and MB-220: secrets beside quotes and backslashes, at the end of a string, as
// number, object and name, in two fields; every result parses, and the members
// around are as they were.
func TestJSON(t *testing.T) {
	r := knows(`va"l\ue`, "1234567", "line1-xx\nline2-xx", "plain-value")
	for in, want := range map[string]string{
		`{"a":"x","token":"abc","b":[1,2.50,true,null]}`:       `{"a":"x","token":"[redacted:member]","b":[1,2.50,true,null]}`,
		` { "a" : "say \"va\"l\\ue\" now" , "b" : "\u00e9" } `: `{"a":"say \"[redacted:value]\" now","b":"\u00e9"}`,
		`"end va\"l\\ue"`:                                                    `"end [redacted:value]"`,
		`{"n":1234567,"m":-1234567.5,"k":1234568}`:                           `{"n":"[redacted:value]","m":"-[redacted:value].5","k":1234568}`,
		`{"plain-value":1,"x plain-value":{"y":2}}`:                          `{"[redacted:value]":1,"x [redacted:value]":{"y":2}}`,
		`{"a":"line1-xx\nline2-xx","b":"line2-xx"}`:                          `{"a":"[redacted:value]","b":"[redacted:value]"}`,
		`{"credentials":{"user":"u","n":[1,{}]},"x":1}`:                      `{"credentials":"[redacted:member]","x":1}`,
		`{"password":null,"secret":true,"token":"","api_key":0,"cookie":[]}`: `{"password":null,"secret":true,"token":"","api_key":"[redacted:member]","cookie":"[redacted:member]"}`,
		`{"a":"-----BEGIN KEY-----\nAAAA","b":"BBBB\n-----END KEY-----"}`:    `{"a":"[redacted:shape]","b":"[redacted:shape]"}`,
		`{"body":"{\"password\":\"x\",\"n\":1.0}"}`:                          `{"body":"{\"password\":\"[redacted:member]\",\"n\":1.0}"}`,
		`{"url":"https://h/?a=1&sig=2&token=abc"}`:                           `{"url":"https://h/?a=1&sig=2&token=[redacted:query]"}`,
		`{"\u0074oken":"x"}`:                                                 `{"\u0074oken":"[redacted:member]"}`,
		`{"a":"\ud800"}`:                                                     "{\"a\":\"\uFFFD\"}",
		`[]`:                                                                 `[]`, `{}`: `{}`, `"x"`: `"x"`, `98765432109876543210.0e5`: `98765432109876543210.0e5`, ` null `: `null`,
		`{"token":"[redacted:value]"}`: `{"token":"[redacted:member]"}`,
		`{`:                            `"[redacted:unreadable]"`, ``: `"[redacted:unreadable]"`,
	} {
		if got := string(r.JSON([]byte(in), 0)); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// C80: what is cut is valid JSON still, no longer than allowed, and says so.
func TestJSONIsCut(t *testing.T) {
	long := strings.Repeat("x", 5000)
	var r *Redactor
	for in, want := range map[string][]string{
		`{"path":"/a","content":"` + long + `","mode":7}`:                      {`"path":"/a"`, `[cut:3976]"`, `"mode":7`},
		`{"a":"` + long + `","b":"` + long + `","c":"` + long + long + `"}`:    {`"b":"xxx`, `[cut:`, `"c":"xxx`},
		`[` + strings.Repeat(`"`+long[:100]+`",`, 200) + `1]`:                  {`"[cut:`},
		`{` + strings.Repeat(`"`+long[:200]+`":1,`, 200) + `"z":1}`:            {`"[cut]":`},
		`"` + strings.Repeat(`\u0000`, 3000) + `"`:                             {`[cut:`},
		strings.Repeat("[", 900) + `"` + long + `"` + strings.Repeat("]", 900): {`[cut:`},
		strings.Repeat(`{"a":[`, 400) + `1` + strings.Repeat("]}", 400):        {`1`},
		strings.Repeat(`{"aaaaaaaa":[`, 400) + `1` + strings.Repeat("]}", 400): {`cut`},
		`1` + strings.Repeat("0", 5000):                                        {`"[cut:5001]"`},
		`"` + strings.Repeat("é", 3000) + `"`:                                  {"é[cut:"},
	} {
		got := r.JSON([]byte(in), 4096)
		if len(got) > 4096 || !json.Valid(got) {
			t.Errorf("%.60s: %d bytes, valid %v", in, len(got), json.Valid(got))
		}
		for _, part := range want {
			if !bytes.Contains(got, []byte(part)) {
				t.Errorf("%.60s: no %s in %.400s", in, part, got)
			}
		}
	}
}

// C31: what a server says about itself loses credentials and nothing else, not
// even a space; what is not certain to be one stays.
func TestDefinition(t *testing.T) {
	r := &Redactor{}
	r.Add("/srv/docs")
	if raw := []byte(`{ "a": "/srv/docs" }`); !bytes.Equal(r.Definition(raw), raw) {
		t.Errorf("%s", r.Definition(raw))
	}
	r.AddCredentials("the-credential")
	for in, want := range map[string]string{
		`{ "token": "x", "d": "in /srv/docs, ghp_0123456789abcdef", "n" : 1.0 }`:     `{ "token": "x", "d": "in /srv/docs, ghp_0123456789abcdef", "n" : 1.0 }`,
		`{ "d": "as the-credential\u0021", "token": {"type": "string"}, "n" : 1.0 }`: `{ "d": "as [redacted:value]!", "token": {"type": "string"}, "n" : 1.0 }`,
		`{"the-credential":[-0, "\ud800\u0041" ,"the-credential"]}`:                  `{"[redacted:value]":[-0, "\ud800\u0041" ,"[redacted:value]"]}`,
		`{"d":"dGhlLWNyZWRlbnRpYWw="}`:                                               `{"d":"[redacted:value]="}`,
		``:                                                                           ``,
	} {
		if got := string(r.Definition([]byte(in))); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
	if got := r.Instructions("call the-credential in /srv/docs"); got != "call [redacted:value] in /srv/docs" {
		t.Error(got)
	}
	var none *Redactor
	if got := none.Instructions("x") + string(none.Definition([]byte("1"))); got != "x1" {
		t.Error(got)
	}
}

// A mark is not cut through, and nothing taken out comes back.
func TestCutAfterRedaction(t *testing.T) {
	r := knows("secret-value")
	for pad := range 1100 {
		got := r.JSON([]byte(`{"a":"`+strings.Repeat("x", pad)+`secret-value","b":"`+strings.Repeat("y", 5000)+`"}`), 4096)
		if bytes.Contains(got, []byte("secret-v")) || bytes.Contains(got, []byte("[redacted:v")) && !bytes.Contains(got, []byte("[redacted:value]")) {
			t.Fatalf("%s", got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a token=secret-value&x ghp_0123456789", "//u:p@h -----BEGIN X-----a", `{"password":"x","b":"c2VjcmV0LXZhbHVl"}`, "[redacted:value]secret-value[redacted:", "%73ecret-value \\u0073", "eyJhbGciOi.eyJ.x", "cookie: a\n"} {
		f.Add(s, "other-value")
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		r := knows("secret-value", value)
		got := r.Text(s)
		if strings.Contains(got, "secret-value") {
			t.Fatalf("%q kept the value: %q", s, got)
		}
		if again := r.Text(got); again != got {
			t.Fatalf("%q became %q, then %q", s, got, again)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":"token=secret-value&x","password":[1]}`, `[1,"secret-value",{"x":"{\"token\":1}"}]`, `"\ud800"`, `{"secret-value":{"a":null}}`} {
		f.Add([]byte(s), 100)
	}
	f.Fuzz(func(t *testing.T, raw []byte, max int) {
		r := knows("secret-value")
		max = 64 + (max&0x7fffffff)%5000
		whole := r.JSON(raw, 0)
		if !json.Valid(whole) || bytes.ContainsAny(whole, "\n\r") || json.Valid(raw) && !bytes.Equal(whole, r.JSON(whole, 0)) {
			t.Fatalf("%q became %q, then %q", raw, whole, r.JSON(whole, 0))
		}
		if c, err := wire.Canonical(whole); err == nil && bytes.Contains(c, []byte("secret-value")) {
			t.Fatalf("%q kept the value: %q", raw, whole)
		}
		got := r.JSON(raw, max)
		if len(got) > max || !json.Valid(got) {
			t.Fatalf("%q cut to %d: %d bytes %q", raw, max, len(got), got)
		}
		if again := r.JSON(got, max); !bytes.Equal(again, got) {
			t.Fatalf("%q became %q, then %q", raw, got, again)
		}
	})
}

// A row's arguments, as the writer of the call log sees them.
func BenchmarkJSON(b *testing.B) {
	r := knows("0123456789abcdef0123456789abcdef", "another-value-of-some-server", "https://example.com/a/b/c", "hunter2hunter2")
	small := []byte(`{"path":"/home/me/projects/notes/today.md","limit":20,"query":"what was said about the release"}`)
	large := []byte(`{"path":"/a","content":"` + strings.Repeat("the quick brown fox jumps over the lazy dog 0123456789. ", 1100) + `"}`)
	for name, raw := range map[string][]byte{"100B": small, "64KiB": large} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				r.JSON(raw, 4096)
			}
		})
	}
}
