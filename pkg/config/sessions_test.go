package config

import "testing"

// S3: sessions.terminal_hosts names programs, not paths.
func TestTerminalHosts(t *testing.T) {
	c := loadUser(t, "version: 1\nsessions: {terminal_hosts: [code, my-ide]}\n")
	if len(c.Diagnostics) != 0 || len(c.TerminalHosts) != 2 || c.TerminalHosts[1] != "my-ide" {
		t.Errorf("%v %v", c.TerminalHosts, c.Diagnostics)
	}
	for _, bad := range []string{"{terminal_hosts: [/usr/bin/code]}", "{terminal_hosts: code}", "{allow_with: true}", "{terminal_hosts: [\"\"]}"} {
		if c := loadUser(t, "version: 1\nsessions: "+bad+"\n"); len(c.Diagnostics) == 0 || !c.Refused {
			t.Errorf("%s is accepted", bad)
		}
	}
}
