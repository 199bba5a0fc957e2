package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

func knows(values ...string) *Redactor {
	r := &Redactor{}
	r.Add(values...)
	return r
}

// S5, rule 1, MB-218: a value goes in every form a program may print it in, alone
// and inside longer strings, and what stands around it stays.
func TestValuesInEveryForm(t *testing.T) {
	const value = `zq9/S3CRET+"1" ü&%`
	r := knows(value)
	for name, form := range map[string]string{
		"plain":           value,
		"base64":          base64.StdEncoding.EncodeToString([]byte(value)),
		"base64url":       base64.RawURLEncoding.EncodeToString([]byte(value)),
		"basic":           base64.StdEncoding.EncodeToString([]byte("user:" + value)),
		"basic, other":    base64.StdEncoding.EncodeToString([]byte("admin:" + value + "\n")),
		"in base64 JSON":  base64.StdEncoding.EncodeToString([]byte(`{"a": "` + value + `"}`)),
		"hex":             hex.EncodeToString([]byte(value)),
		"HEX":             strings.ToUpper(hex.EncodeToString([]byte("x" + value))),
		"query":           url.QueryEscape(value),
		"query, %20":      strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		"path":            url.PathEscape(value),
		"lower percent":   strings.NewReplacer("/", "%2f", "+", "%2b", "\"", "%22", " ", "%20", "&", "%26", "%", "%25").Replace(value),
		"JSON":            strings.Trim(string(mustMarshal(value)), `"`),
		"JSON in JSON":    string(mustMarshal(string(mustMarshal(value)))),
		"URL in JSON":     strings.Trim(string(mustMarshal("\""+url.QueryEscape(value)+"\"")), `"`),
		"base64 in query": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(value))),
	} {
		// Letters before it shift the digits of base64 and of hexadecimal.
		for _, text := range []string{form, "Z" + form, "Zz" + form, "Zzz" + form, "before [" + form + "] after", form + "," + form} {
			got := r.Text(text)
			if holds(got, value) || !strings.Contains(got, "[redacted:value]") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if strings.HasPrefix(text, "before") && !(strings.HasPrefix(got, "before ") && strings.HasSuffix(got, " after")) {
				t.Errorf("%s: %q lost more than the value: %q", name, text, got)
			}
		}
	}
}

// holds reports whether part of a value can be had from a text by decoding it.
func holds(text, value string) bool {
	if leaks(text, value) {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" []:,=", r) }) {
		for n := range 4 {
			raw, _ := base64.RawStdEncoding.DecodeString(word[min(n, len(word)):])
			if leaks(string(raw), value) {
				return true
			}
		}
		raw, _ := hex.DecodeString(word)
		unescaped, _ := url.QueryUnescape(word)
		if leaks(string(raw), value) || leaks(unescaped, value) {
			return true
		}
	}
	return false
}

// leaks reports whether eight bytes in a row of form are left in text.
func leaks(text, form string) bool {
	for i := 0; i+8 <= len(form); i++ {
		if strings.Contains(text, form[i:i+8]) {
			return true
		}
	}
	return false
}

func mustMarshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// base64(1) breaks lines, and a reader of standard error sees one at a time.
func TestValuesInLines(t *testing.T) {
	token := "github-token-" + strings.Repeat("aB3", 40)
	r := knows(token, "first line\nsecond line\n")
	encoded := base64.StdEncoding.EncodeToString([]byte(token))
	for _, width := range []int{64, 76} {
		lines := r.Lines()
		for rest := encoded; rest != ""; {
			line := rest[:min(width, len(rest))]
			rest = rest[len(line):]
			if got := lines.Line(line, false); leaks(got, line) {
				t.Errorf("width %d: %s became %s", width, line, got)
			}
		}
		broken := encoded[:width] + "\r\n" + encoded[width:]
		if got := r.Text("x " + broken + " y"); got != "x [redacted:value]== y" {
			t.Errorf("width %d: %q", width, got)
		}
	}
	if got := r.Text("a second line b"); got != "a [redacted:value] b" {
		t.Errorf("%q", got)
	}
}

func TestShortValuesStay(t *testing.T) {
	r := knows("", "1", "abcde", "      ", "\t\n")
	if text := "1 abcde        \t\n"; r.Text(text) != text {
		t.Errorf("%q", r.Text(text))
	}
	if got := knows("abcdef").Text("xabcdefx"); got != "x[redacted:value]x" {
		t.Errorf("%q", got)
	}
}

// A secret that is a JSON document is known by its secret members too.
func TestValueThatIsJSON(t *testing.T) {
	r := knows(`{"type":"service","client":{"private_key":"-----\nABCDEFGH\n"},"api_key":"0123456789"}`)
	for _, text := range []string{"0123456789", "ABCDEFGH", `{"type":"service","client":{"private_key":"-----\nABCDEFGH\n"},"api_key":"0123456789"}`} {
		if got := r.Text(text); leaks(got, text) {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := r.Text("service"); got != "service" {
		t.Error(got)
	}
}

// S5, rule 3.
func TestShapes(t *testing.T) {
	var r *Redactor
	for _, token := range []string{
		"ghp_0123456789abcdefABCDEF", "gho_0123456789ab", "ghu_0123456789ab", "ghs_0123456789ab", "ghr_0123456789ab", "github_pat_11ABCDEFG0abcdefgh_0123",
		"glpat-0123456789abcdef-_x", "sk-proj-0123456789abcdef", "sk-ant-api03-abcdefg-hij_k", "sk-abcdefghijklmnopqrstuvwx",
		"xoxb-0123456789-abcdef", "xoxp-12345678-abc", "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "AIzaSyA0123456789abcdefghijklmnopqrstu",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", "pst_0123456789abcdefghijklmnop",
	} {
		for _, text := range []string{"%s", "token %s.", `x="%s"`, "a,%s,b", "key_%s", "(%s)", "https://h/%s/x"} {
			full := fmt.Sprintf(text, token)
			if got := r.Text(full); leaks(got, token) || !strings.Contains(got, "[redacted:shape]") {
				t.Errorf("%s became %s", full, got)
			}
		}
	}
	for _, text := range []string{
		"task-management-with-a-long-name", "sk-SK", "sk-fading-circle", "ghp_", "ghost_town", "AKIA", "pst_", "eyJ", "eyJhbGci.x", "AIza", "xoxb-", "glpat-x",
		"https://h/@scope/pkg", "ssh://git@github.com/x", "https://host:8080/@a/b", "//:", "a//b", "-----", "----- BEGIN", "unexpected token: }", "no such secret: x",
		"it took 12:30:15 a=b c:=d", "max_tokens=7", "tokens: 5", "https://h/p?author=x&keys=2",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestUserinfoAndPEM(t *testing.T) {
	var r *Redactor
	const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcdefgh\n-----END RSA PRIVATE KEY-----"
	for text, want := range map[string]string{
		"postgres://me:hunter2@db/x":                  "postgres://[redacted:shape]@db/x",
		"https://a:b@h, http://c:d@e@i/":              "https://[redacted:shape]@h, http://[redacted:shape]@i/",
		"key:\n" + key + "\nend":                      "key:\n[redacted:shape]\nend",
		key[:40] + " the rest is elsewhere":           "[redacted:shape]",
		key[len(key)-60:] + " done":                   "[redacted:shape] done",
		key + key:                                     "[redacted:shape]",
		"-----BEGIN A-----BEGIN B-----END A-----tail": "[redacted:shape]tail",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	lines := r.Lines()
	var got []string
	for line := range strings.SplitSeq("a\n"+key+"\nb", "\n") {
		got = append(got, lines.Line(line, false))
	}
	if all := strings.Join(got, " "); strings.Contains(all, "MIIE") || strings.Contains(all, "abcdefgh") || got[0] != "a" || got[len(got)-1] != "b" {
		t.Errorf("%q", got)
	}
	lines.Line("-----BEGIN X-----", false)
	for range maxPEMLines {
		lines.Line("x", false)
	}
	if got := lines.Line("an end that never came", false); got != "an end that never came" {
		t.Errorf("%q", got)
	}
}

// S5, rules 2 and 4.
func TestAssignments(t *testing.T) {
	var r *Redactor
	for text, want := range map[string]string{
		"GET /x?a=1&access_token=abc&b=2 HTTP/1.1":   "GET /x?a=1&access_token=[redacted:query]&b=2 HTTP/1.1",
		"https://h/#Api-Key=abc":                     "https://h/#Api-Key=[redacted:query]",
		"?access%5Ftoken=a%26b&x":                    "?access%5Ftoken=[redacted:query]&x",
		"--password=x --name=y":                      "--password=[redacted:query] --name=y",
		`PASSWORD="a b c" next`:                      `PASSWORD="[redacted:query]" next`,
		"token='a b' x":                              "token='[redacted:query]' x",
		`token="never closed`:                        `token="never closed`,
		"client_secret=,x":                           "client_secret=,x",
		"token=":                                     "token=",
		"Authorization: Bearer abc.def\nHost: x":     "Authorization: [redacted:query]\nHost: x",
		"set-cookie: a=b; c=d":                       "set-cookie: [redacted:query]",
		`-H "X-Api-Key: k1" -v`:                      `-H "X-Api-Key: [redacted:query]" -v`,
		"proxy_authorization: Basic eDp5":            "proxy_authorization: [redacted:query]",
		"token=token=token=x":                        "token=[redacted:query]",
		"?token=[redacted:value]&b=[redacted:query]": "?token=[redacted:value]&b=[redacted:query]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	for name, want := range map[string]bool{
		"password": true, "Pass_Word": true, "userPASSWORD": true, "passwd": true, "client-secret": true, "secrets": true, "x_token": true, "apiKey": true,
		"AWS_SECRET_ACCESS_KEY": true, "private_key": true, "Authorization": true, "cookie": true, "credentials": true, "passphrase": true, "ſecret": true,
		"max_tokens": false, "tokens": false, "token_count": false, "key": false, "secretary": false, "": false, "keyword": false, "pass": false,
	} {
		if SecretName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// The overlap of several reasons goes as a whole.
func TestOverlaps(t *testing.T) {
	r := knows("my pass phrase", "ghp_abcdefgh12+/=", "abcabcabc")
	for text, want := range map[string]string{
		"password=my pass phrase!": "password=[redacted:value]!",
		"ghp_abcdefgh12+/=x":       "[redacted:value]x",
		"token=PRE-abcabcabc-POST": "token=[redacted:value]",
		"abcabcabcabcabcx":         "[redacted:value]x",
		"abcabcabcghp_abcdefgh12":  "[redacted:value][redacted:shape]",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A text that was cut off may end in the beginning of a value, in any form.
func TestCutLines(t *testing.T) {
	r := knows("0123456789abcdefghij")
	encoded := base64.StdEncoding.EncodeToString([]byte("0123456789abcdefghij"))
	for _, text := range []string{"x 0123456789abc", "x " + encoded[:17]} {
		if got := r.Lines().Line(text, true); got != "x [redacted:value]" {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := r.Lines().Line("x 0123456789abc", false); got != "x 0123456789abc" {
		t.Errorf("%q", got)
	}
}

// Structured logs are JSON in a line.
func TestTextThatIsJSON(t *testing.T) {
	r := knows("value-1")
	got := r.Text(`{"level":"debug", "headers":{"authorization":"Bearer x","n":1},"msg":"value-1 \"quoted\""}`)
	if want := `{"level":"debug","headers":{"authorization":"[redacted:member]","n":1},"msg":"[redacted:value] \"quoted\""}`; got != want {
		t.Errorf("%s", got)
	}
	if text := `{"a": [1, 2]}`; r.Text(text) != text {
		t.Error("a JSON text without secrets keeps its form")
	}
}

// Time stays in proportion to the length, whatever values and text are.
func TestHostileInput(t *testing.T) {
	const n = 256 << 10
	values := []string{strings.Repeat("a", 4095) + "b", strings.Repeat("ab", 2000)}
	for i := range 200 {
		values = append(values, strings.Repeat("a", 10+i)+"c")
	}
	r := knows(values...)
	for _, unit := range []string{"a", "ab", "eyJ-", "eyJ.", "-", "-----", "-----END ", "-----BEGIN ", "//", "//a:", "token=", "token='", "=", "%", "%25", "\\", "\\u0025", "[redacted:", "[redacted:value]",
		"sk-", "{", "[", `{"a":`, "YWFh", "61", "\n", "a\n", "ghp_", ": ", "cookie: "} {
		text := strings.Repeat(unit, n/len(unit))
		begin := time.Now()
		r.Text(text)
		r.JSON(mustMarshal(text), 4096)
		r.JSON([]byte(text), 4096)
		if took := time.Since(begin); took > 5*time.Second { // about 0.1 s on an idle machine
			t.Errorf("%q took %v", unit, took)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	r := &Redactor{}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() { // ends with its loop
			for i := range 50 {
				v := fmt.Sprintf("value-%d-%d", n, i)
				r.Add(v)
				if got := r.Text("x " + v); got != "x [redacted:value]" {
					t.Errorf("%q", got)
				}
			}
		})
	}
	wg.Wait()
}
