package pkg

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"postern/pkg/calllog"
	"postern/pkg/mcptest"
)

const (
	startRounds = 21  // of what takes some milliseconds
	coldRounds  = 9   // of what starts a hub each time
	callRounds  = 7   // of all ways to make a call
	callsEach   = 300 // in a round
	bigCalls    = 20
	bigBytes    = 1 << 20
	cpuCalls    = 4000
	agents      = 12
)

// starts are F3, F4 and F6: from exec to what is wanted, against --version.
func (b *bench) starts() []figure {
	var version, warm, callVersion, call, cold, coldVersion []time.Duration
	b.list() // the hub is up
	b.shell("mcp-call", "s0", "tool_0", "text=x")
	for range startRounds {
		version = append(version, b.shell("mcp-serve", "--version"))
		warm = append(warm, b.list())
		callVersion = append(callVersion, b.shell("mcp-call", "--version"))
		call = append(call, b.shell("mcp-call", "s0", "tool_0", "text=x"))
	}
	for range coldRounds {
		b.stop()
		coldVersion = append(coldVersion, b.shell("mcp-serve", "--version"))
		cold = append(cold, b.list())
	}
	ratio := func(id, what string, bar float64, got, base []time.Duration) figure {
		x, y := median(got), median(base)
		return judge(id, what, "x", x/y, bar, map[string]float64{"took": x, "--version": y})
	}
	return []figure{
		ratio("F3", "exec to 504 tools listed, hub up, against --version", 1.5, warm, version),
		ratio("F4", "the same without a hub yet", 4, cold, coldVersion),
		ratio("F6", "mcp-call with a hub up, against --version", 1.5, call, callVersion),
	}
}

// shell runs one of the commands.
func (b *bench) shell(name string, args ...string) time.Duration {
	b.t.Helper()
	c := b.serve(args...)
	c.Path = filepath.Join(b.bin, name)
	c.Args[0] = name
	begin := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return time.Since(begin)
}

// list is how long an agent waits for its tools.
func (b *bench) list() time.Duration {
	b.t.Helper()
	begin := time.Now()
	a := b.connect(b.serve("--exposure", "full"))
	defer a.close()
	line := a.ask("tools/list", "{}")
	took := time.Since(begin)
	if n := bytes.Count(line, []byte(`"inputSchema"`)); n < lists*listLength {
		b.t.Fatalf("%d tools were listed", n)
	}
	return took
}

// calls are F1, F2 and F7: the same calls directly, through the hub and without.
func (b *bench) calls() []figure {
	served := map[string]*client{"hub": b.connect(b.serve("--exposure", "full")), "no-hub": b.connect(b.serve("--no-hub", "--exposure", "full"))}
	hello := map[string]*client{"direct": b.connect(b.alone(b.hello))}
	lean := map[string]*client{"direct": b.connect(b.alone(b.fake, "-life", "1h", "-tools", b.path("tools0.json")))}
	for name, a := range served {
		hello[name], lean[name] = a, a
	}
	greet := b.alternately(hello, callsEach, "hello__greet", `{"name":"x"}`)
	echo := b.alternately(lean, callsEach, "s0__tool_0", `{"text":"x"}`)
	big := b.alternately(lean, bigCalls, "s0__big", fmt.Sprintf(`{"bytes":%d}`, bigBytes))
	for name, ms := range echo { // of a server that takes next to no time
		greet["lean, "+name] = ms
	}
	out := []figure{
		b.cpu(served["hub"]),
		judge("F2", "p50 of a call through the hub, against a direct one", "x", greet["hub"]/greet["direct"], 2.5, greet),
		judge("F2b", "p50 of a call with --no-hub, against a direct one", "x", greet["no-hub"]/greet["direct"], 1.8, greet),
		judge("F7", "p50 of a 1 MiB result through the hub, against direct", "x", big["hub"]/big["direct"], 2, big),
	}
	for _, all := range []map[string]*client{served, {"": hello["direct"]}, {"": lean["direct"]}} {
		for _, a := range all {
			a.close()
		}
	}
	return out
}

// alternately makes the same calls in all ways, and gives their medians.
func (b *bench) alternately(ways map[string]*client, each int, exposed, arguments string) map[string]float64 {
	b.t.Helper()
	took, out := map[string][]time.Duration{}, map[string]float64{}
	for round := range callRounds + 1 {
		for name, a := range ways {
			tool := exposed
			if name == "direct" {
				_, tool, _ = strings.Cut(exposed, "__")
			}
			for range each {
				begin := time.Now()
				a.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
				if round > 0 { // the first warms up
					took[name] = append(took[name], time.Since(begin))
				}
			}
		}
	}
	for name, all := range took {
		out[name] = median(all)
	}
	return out
}

// cpu is F1: what postern's processes take for a call, beside the server's own.
func (b *bench) cpu(a *client) figure {
	b.t.Helper()
	var ours, servers []int
	for _, pid := range b.processes() {
		if b.isServer(pid) {
			servers = append(servers, pid)
		} else {
			ours = append(ours, pid)
		}
	}
	before, serverBefore := cpuOf(ours), cpuOf(servers)
	for range cpuCalls {
		a.ask("tools/call", `{"name":"hello__greet","arguments":{"name":"x"}}`)
	}
	proxy := float64((cpuOf(ours) - before).Microseconds()) / cpuCalls / 1000
	server := float64((cpuOf(servers) - serverBefore).Microseconds()) / cpuCalls / 1000
	f := judge("F1", "processor time of postern for a call, agent to bridge to hub to server", "ms", proxy, 0.15, map[string]float64{"postern": proxy, "server": server})
	f.OK = f.OK || proxy <= server
	return f
}

// processes are those of this home, by their runtime directory or their marks.
func (b *bench) processes() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		environ := "\x00" + readFile(filepath.Join(dir, "environ"))
		if pid != os.Getpid() && (strings.Contains(environ, "\x00POSTERN_RUNTIME_DIR="+b.runtime) || strings.Contains(environ, "\x00HOME="+b.dir+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (b *bench) isServer(pid int) bool {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return exe == b.hello || filepath.Base(exe) == mcptest.Name
}

// cpuOf is the processor time that processes have used, in ticks of ten
// milliseconds.
func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		stat := readFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		for _, at := range []int{11, 12} { // utime, stime
			if at < len(fields) {
				ticks, _ := strconv.Atoi(fields[at])
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// crowd is F5: twelve agents and eight servers, each of which every agent calls.
func (b *bench) crowd() figure {
	b.t.Helper()
	b.stop()
	var all []*client
	for range agents {
		a := b.connect(b.serve("--exposure", "full"))
		all = append(all, a)
		a.ask("tools/list", "{}")
		a.ask("tools/call", `{"name":"hello__greet","arguments":{"name":"x"}}`)
		for s := range lists {
			a.ask("tools/call", fmt.Sprintf(`{"name":"s%d__tool_0","arguments":{"text":"x"}}`, s))
		}
	}
	servers, pss := 0, 0.0
	for _, pid := range b.processes() {
		if b.isServer(pid) {
			servers++
			continue
		}
		pss += pssOf(pid)
	}
	for _, a := range all {
		a.close()
	}
	f := judge("F5", "PSS of all processes of postern, 12 agents and 8 servers", "MB", pss, 80, map[string]float64{"servers, processes": float64(servers)})
	f.OK = f.OK && servers == lists+1
	return f
}

// pssOf is the share of memory that is this process's, in MB.
func pssOf(pid int) float64 {
	for line := range strings.Lines(readFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024
		}
	}
	return 0
}

// logging is F12: what a row costs the call that it is about.
func logging(t *testing.T) figure {
	w, err := calllog.Open(filepath.Join(t.TempDir(), "calls"), calllog.Options{Days: 1, MaxFile: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	row := calllog.Row{TS: time.Now(), Upstream: "server", Tool: "tool", Outcome: calllog.OK, Via: "direct", LatencyMS: 0.2, Args: []byte(`{"text":"hello"}`)}
	const perSecond, perTick, seconds = 20000, 20, 3
	var took []time.Duration
	tick := time.NewTicker(time.Second / (perSecond / perTick))
	defer tick.Stop()
	for range perSecond * seconds / perTick {
		<-tick.C
		begin := time.Now()
		for range perTick {
			w.Append(row)
		}
		took = append(took, time.Since(begin)/perTick)
	}
	if err := w.Close(mcptest.Bound); err != nil {
		t.Fatal(err)
	}
	slices.Sort(took)
	us := float64(took[len(took)/2].Nanoseconds()) / 1000
	f := judge("F12", "a row on the way of its call, at 20,000 calls a second", "µs", us, 3, map[string]float64{"rows lost": float64(w.Dropped())})
	f.OK = f.OK && w.Dropped() == 0
	return f
}
