package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"postern/pkg/calllog"
	"postern/pkg/config"
	"postern/pkg/secret"
	"postern/pkg/wire"
)

// Redactor takes secrets out of texts: it knows every value that a server of
// this host was given, from the moment at which it was looked up. Commands pass
// what they print beside a tool's own result through it (S5).
func (h *Host) Redactor() *secret.Redactor { return h.redactor }

// cleaned is a refusal without secrets: its message may quote an expanded value,
// or what a server said. Remedies are of our own words.
func (h *Host) cleaned(r *Refusal) *Refusal {
	if r == nil {
		return nil
	}
	out := *r
	out.Message = h.redactor.Text(r.Message)
	switch r.Word {
	case UnknownTool, UnknownPrompt, UnknownResource, UnknownTask, UnknownMethod: // a name of nothing: what was meant to be an argument, perhaps
		out.Server, out.Tool = h.redactor.Text(r.Server), h.redactor.Text(r.Tool)
	}
	if r.Word == Cancelled { // others are words of a closed list
		out.Reason = h.redactor.Text(r.Reason)
	}
	return &out
}

// logArguments puts into a row what `log.args` wants of a call's arguments.
// What is costly about it waits for finishRow.
func (s *Session) logArguments(c *Call, r *calllog.Row) {
	arguments := c.arguments
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	switch mode := c.view.Config.Log.Args; {
	case mode == "none":
	case mode == "hash":
		r.ArgsHash = s.host.keyedHash(arguments)
	case len(arguments) > config.LogArgsInput:
		r.Args, r.ArgsHash = shortened(arguments), cmp.Or(s.host.keyedHash(arguments), noHash)
	default:
		r.Args = bytes.Clone(arguments) // the line they stand in may be larger
	}
}

// noHash stands in a row, until it is finished, for a hash that cannot be had.
const noHash = "none"

// finishRow is what is done with each row on the goroutine of the log: it takes
// the secrets out of what others wrote, and hashes the arguments. Arguments that
// the row shows whole have a plain sha256; of all others it would be a way to
// guess what is missing, so it is one under the key of this installation.
func (h *Host) finishRow(r *calllog.Row) {
	if r.Claimed != nil { // shared by the rows of a session
		r.Claimed = &calllog.Claimed{Name: h.redactor.Text(r.Claimed.Name), Version: h.redactor.Text(r.Claimed.Version)}
	}
	if r.Args == nil {
		return
	}
	raw := r.Args
	r.Args = h.redactor.JSON(raw, config.LogArgsBytes)
	if r.ArgsHash != "" {
		r.ArgsHash = strings.TrimPrefix(r.ArgsHash, noHash)
		return
	}
	canonical, err := wire.Canonical(raw)
	if shown, serr := wire.Canonical(r.Args); err == nil && serr == nil && bytes.Equal(shown, canonical) {
		sum := sha256.Sum256(canonical)
		r.ArgsHash = "sha256:" + hex.EncodeToString(sum[:])
		return
	}
	r.ArgsHash = h.keyedHash(raw)
}

// keyedHash is the HMAC-SHA256 of arguments in canonical form, so that two
// spellings of the same arguments are found as one; "" without a key.
func (h *Host) keyedHash(arguments []byte) string {
	key := h.key()
	canonical, err := wire.Canonical(arguments)
	if key == nil || err != nil {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(canonical) // never fails
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

// keyOf reads the key of this installation when it is first needed. Without one
// there are no hashes that need it, which is said once.
func (h *Host) keyOf() func() []byte {
	return sync.OnceValue(func() []byte {
		key, err := secret.Key(context.Background(), filepath.Join(h.o.Dirs.State, "key"))
		if err != nil {
			h.Warn("arguments are logged without a hash: " + err.Error())
		}
		return key
	})
}

// shortened are arguments that are too long for the log's goroutine: as long as
// they are few enough, small members stand as they are and large ones by their
// size.
func shortened(arguments []byte) []byte {
	note := func(n int) string { return `"[cut:` + strconv.Itoa(n) + `]"` }
	out, missing := []byte{'{'}, 0
	err := wire.EachMember(arguments, func(key []byte, v wire.Span) bool {
		value := v.Of(arguments)
		if len(value) > config.LogArgsInput/8 {
			value = []byte(note(len(value)))
		}
		if len(out)+len(key)+len(value) > config.LogArgsInput {
			missing++
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
		return true
	})
	switch {
	case err != nil: // no object
		return []byte(note(len(arguments)))
	case missing > 0 && len(out) > 1:
		out = append(out, ',')
		fallthrough
	case missing > 0:
		out = append(out, `"[cut]":`+strconv.Itoa(missing)...)
	}
	return append(out, '}')
}
