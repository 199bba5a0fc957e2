package config

import (
	"testing"
	"time"
)

// hub.idle_exit is the user's to say; 0 is never. A file that does not count says
// nothing.
func TestHub(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                         HubIdleExit,
		"hub: {}\n":                HubIdleExit,
		"hub: {idle_exit: 90s}\n":  90 * time.Second,
		"hub: {idle_exit: 0}\n":    0,
		"hub: {idle_exit: 0s}\n":   0,
		"hub: {idle_exit: 24h}\n":  24 * time.Hour,
		"hub: {idle_exit: 25h}\n":  HubIdleExit,
		"hub: {idle_exit: 10}\n":   HubIdleExit,
		"hub: {idle_exit: -1m}\n":  HubIdleExit,
		"hub: {other: 1}\n":        HubIdleExit,
		"hub: {idle_exit: soon}\n": HubIdleExit,
	} {
		c := loadUser(t, "version: 1\n"+text)
		if c.Hub.IdleExit != want {
			t.Errorf("%q: %v, not %v; %v", text, c.Hub.IdleExit, want, c.Diagnostics)
		}
	}
}
