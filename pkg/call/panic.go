package call

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"postern/pkg/config"
	"postern/pkg/state"
)

// The parts of a panic that are kept.
const (
	panicText  = 4 << 10
	panicStack = 32 << 10
)

// contain runs what belongs to one session or server; a panic in it is kept and
// goes no further (R26).
func (h *Host) contain(where string, run func()) {
	defer func() {
		if v := recover(); v != nil {
			h.Panicked(where, v, debug.Stack())
		}
	}()
	run()
}

// Panicked keeps what a contained panic said (R26): in state/hub.log, for
// people. The operator gets one line with where it happened and how many there
// were; an agent never sees any of it.
func (h *Host) Panicked(where string, value any, stack []byte) {
	n := h.panics.Add(1)
	path := filepath.Join(h.o.Dirs.State, "hub.log")
	text := fmt.Sprintf("%.*s", panicText, h.redactor.Text(fmt.Sprint(value)))
	entry := fmt.Sprintf("%s panic %d in %s: %s\n%s\n", time.Now().UTC().Format(time.RFC3339), n, where, text, stack[:min(len(stack), panicStack)])
	log, err := state.OpenRolling(path, config.HubLogBytes)
	if err == nil {
		err = log.Append([]byte(entry))
		log.Close()
	}
	if err != nil {
		h.Warn(fmt.Sprintf("an internal error ended %s (%d so far); it could not be kept: %v", where, n, err))
		return
	}
	h.Warn(fmt.Sprintf("an internal error ended %s (%d so far): see %s", where, n, path))
}
