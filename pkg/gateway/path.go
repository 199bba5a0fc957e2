package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/config"
)

// checkPath refuses the paths of gjson that compute instead of finding: with
// modifiers and multipaths a short path makes an answer of any size.
func checkPath(path string) error {
	if len(path) > config.MaxPathBytes {
		return fmt.Errorf("get has more than %d bytes", config.MaxPathBytes)
	}
	for i := range len(path) {
		if strings.IndexByte("@!{[", path[i]) >= 0 && (i == 0 || strings.IndexByte(".|(", path[i-1]) >= 0) {
			return errors.New("get takes plain gjson paths, such as structuredContent.items.#.name, without modifiers and multipaths")
		}
	}
	return nil
}

// valueAt is what a result holds at a path: a string's text, else JSON.
func valueAt(raw []byte, path string) (text string, found bool) {
	v := gjson.GetBytes(raw, path)
	if v.Type == gjson.String || v.Raw == "" { // a count has no bytes of its own
		return v.String(), v.Exists()
	}
	return v.Raw, true
}

// getResult is the result with the value at path in place of everything else.
// Where there is none the result stays and says so: the call was made.
func getResult(raw []byte, p call.ResultParts, path string) []byte {
	if text, found := valueAt(raw, path); found {
		return textResult(p.Failed, text)
	}
	if full := twin(raw, p); full != nil {
		raw = full
		p, _ = call.ReadResult(raw)
	}
	c := &cutting{raw: raw, parts: p, prose: proseOf(raw, p)}
	for _, b := range c.prose.blocks(raw) {
		c.kept = append(c.kept, b.raw)
	}
	return c.result("", fmt.Sprintf("[postern: the result has nothing at get %q; this is all of it]", path))
}
