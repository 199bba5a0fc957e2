package cmdmain

import (
	"strings"

	"postern/pkg/secret"
)

// Redact has all messages of this command pass r from now on: it is told what
// servers are given before anything can be said about it (S5). Until then, and
// with nil, only what looks like a secret is taken out of them. It may be called
// at any time.
func (e *Env) Redact(r *secret.Redactor) { e.redactor.Store(r) }

// hintMark begins a message that is a command to run next. Those are our own
// words with names and paths that have to be right.
const hintMark = "hint: "

// Clean is text without secrets, for what a command prints beside a tool's own
// result and what was declared.
func (e *Env) Clean(text string) string { return e.redactor.Load().Text(text) }

// message is text as it may be said.
func (e *Env) message(text string) string {
	if strings.HasPrefix(text, hintMark) {
		return text
	}
	return e.Clean(text)
}
