package call

import (
	"time"

	"postern/pkg/config"
)

// warnings is what the operator was told lately. Keys may come from servers, so
// that both what is kept and what is said in a time are bounded.
type warnings struct {
	since time.Time // of the first of newer
	newer map[string]bool
	older map[string]bool // those before: they are not news as long as they come again
}

// verdict is what is to be done about a warning.
type verdict uint8

const (
	known       verdict = iota // it was said, or there is no saying more now
	worthSaying                // it is to be said
	oneTooMany                 // that there are too many is to be said in its place
)

// of judges one warning, and takes it that what is to be said is said: most
// different ones within config.WarningsRest, at least 2.
func (w *warnings) of(key string, most int, now time.Time) verdict {
	if w.newer[key] {
		return known
	}
	rested := now.Sub(w.since) >= config.WarningsRest
	if len(w.newer) >= most && !rested {
		return known
	}
	if w.newer == nil || len(w.newer) >= most {
		w.older, w.newer, w.since = w.newer, map[string]bool{}, now
		rested = false
	}
	switch {
	case w.older[key]:
		w.newer[key] = true
		return known
	case len(w.newer) == most-1 && !rested:
		w.newer[""] = true // not key: that is not said now
		return oneTooMany
	}
	w.newer[key] = true
	return worthSaying
}

// tooManyWarnings is said in place of the warning that is one too many.
const tooManyWarnings = "there are too many different warnings: other new ones are not shown within the hour"

// Warn passes one line to the operator, without secrets.
func (h *Host) Warn(text string) {
	if h.o.Warn != nil {
		h.o.Warn(h.redactor.Text(text))
	}
}

// warnOnce is Warn for what would be said again and again.
func (h *Host) warnOnce(key, text string) { h.warnAmong(&h.warned, config.MaxWarnings, key, text) }

// warnAmong is Warn for what was not said lately.
func (h *Host) warnAmong(w *warnings, most int, key, text string) {
	h.mu.Lock()
	v := w.of(key, most, time.Now())
	h.mu.Unlock()
	switch v {
	case worthSaying:
		h.Warn(text)
	case oneTooMany:
		h.Warn(tooManyWarnings)
	}
}
