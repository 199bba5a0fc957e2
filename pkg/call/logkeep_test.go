package call

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/config"
)

// R90, C83: how long rows are kept is what the configuration says while the process
// lives. One that is refused removes nothing, and one that is mended afterwards
// holds without a start; of one that is refused later the one before stays in force.
func TestLogFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "log: {days: 0}\n"+plain, nil)
	calls := filepath.Join(w.dirs.State, "calls")
	now := time.Now().UTC()
	if now.Add(time.Minute).Day() != now.Day() {
		t.Skip("a day is about to begin")
	}
	w.host.Close()
	if err := os.RemoveAll(calls); err != nil {
		t.Fatal(err)
	}
	day := func(ago int) string {
		return filepath.Join("state", "calls", now.AddDate(0, 0, -ago).Format(time.DateOnly)+".jsonl")
	}
	w.write(day(1), "")
	w.write(day(2), "")
	w.write(day(3), "")
	refused := config.Load(config.LoadOptions{Dirs: w.dirs})
	host := OpenHost(HostOptions{Dirs: w.dirs, Environ: w.environ}, refused.Log)
	defer host.Close()
	there := func(ago int) bool {
		if host.UserConfig(); !host.log.AppendWait(calllog.Row{Outcome: calllog.OK}, 10*time.Second) {
			t.Fatal("no row was written")
		}
		w.calls++
		_, err := os.Stat(w.path(day(ago)))
		return err == nil
	}
	if !refused.Refused || !there(3) {
		t.Error("a day was removed while nobody knows how long it is kept")
	}
	w.write("config/mcp.yaml", "log: {days: 2, max_file: 1MiB}\n"+plain)
	if there(3) || !there(1) {
		t.Error("the configuration in force is not what the log goes by")
	}
	w.write("config/mcp.yaml", "log: {days: 0}\n"+plain)
	host.UserConfig()
	for range 100 {
		host.log.Append(calllog.Row{Outcome: calllog.OK, Rule: strings.Repeat("\x01", 1000), Reason: strings.Repeat("\x02", 1000), Project: strings.Repeat("\x03", 1000)})
		w.calls++
	}
	there(0)
	if _, err := os.Stat(strings.TrimSuffix(w.path(day(0)), ".jsonl") + ".1.jsonl"); err != nil {
		t.Error("a configuration that is refused has put another limit in force: ", err)
	}
}
