package pkg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"postern/pkg/mcptest"
)

// Twelve agents with eight servers are eight server processes, one hub, and a
// small bridge each (F5, R20, MB-051): one agent that is killed in the middle
// changes nothing for the others.
func TestHubTwelveAgentsEightServers(t *testing.T) {
	var servers []string
	for i := range 8 {
		servers = append(servers, fmt.Sprintf("s%d", i))
	}
	s := newShared(t, servers...)
	agents := make([]*mcptest.Agent, 12)
	var wg sync.WaitGroup
	for i := range agents {
		agents[i] = mcptest.Start(t, s.command("mcp-serve"))
		wg.Go(func() { // ends with its answers, each bounded
			agents[i].Initialize()
			for _, server := range servers {
				s.call(agents[i], server+"__echo", "")
			}
		})
	}
	wg.Wait()
	h := s.theHub()
	if n := len(s.servers(h)); n != 8 || s.begun() != 8 {
		t.Errorf("%d server processes, %d starts", n, s.begun())
	}
	ours := []int{h.keeper, h.owner}
	for _, a := range agents {
		ours = append(ours, a.PID())
	}
	if all := len(s.left()); all != 8+len(ours) {
		t.Errorf("%d processes: %q", all, s.processes())
	}
	t.Logf("PSS of all %d processes of postern: %.1f MB, of the hub %.1f, of its keeper %.1f, of a bridge %.1f",
		len(ours), float64(pss(ours...))/1024, float64(pss(h.owner))/1024, float64(pss(h.keeper))/1024, float64(pss(agents[0].PID()))/1024)
	open := s.ask(agents[1], "s0__slow", `,"ms":300`)
	s.ask(agents[0], "s0__never", "")
	mcptest.WaitEvents(t, s.events, "call", 98)
	s.kill(agents[0].PID(), syscall.SIGKILL)
	s.wantAnswer(agents[1], "", open)
	mcptest.WaitEvents(t, s.events, "cancelled", 1)
	rows := s.stop(agents[1:]...)
	if n := s.begun(); n != 8 {
		t.Errorf("%d starts", n)
	}
	if calls, rows := 98, len(rows); rows != calls+1 { // and that of the stop
		t.Errorf("%d rows of %d calls", rows, calls)
	}
}

// begun counts the starts of all servers.
func (s *shared) begun() int { return len(mcptest.Events(s.t, s.events, "start")) }

// Many agents that start at the same time where nothing runs get one hub and one
// server (R20), and nothing is left of those that lost.
func TestHubRacingStarts(t *testing.T) {
	s := newShared(t, "s [] max_concurrency: 64, queue: 1000")
	agents := make([]*mcptest.Agent, storm(200, 1000))
	var wg sync.WaitGroup
	for i := range agents {
		agents[i] = mcptest.Start(t, s.command("mcp-serve"))
		wg.Go(func() { // ends with its answers, each bounded
			agents[i].Initialize()
			s.call(agents[i], "s__echo", "")
		})
	}
	wg.Wait()
	h := s.theHub()
	if n := s.begun(); n != 1 {
		t.Errorf("%d servers were started", n)
	}
	if n := len(s.left()); n != len(agents)+3 {
		t.Errorf("%d processes for %d agents: %q", n, len(agents), s.processes())
	}
	for _, a := range agents {
		a.Hangup()
	}
	for _, a := range agents {
		if status := a.Wait(); status != 0 || a.Stderr() != "" {
			t.Errorf("ended with %d: %s", status, a.Stderr())
		}
	}
	s.theHub()
	if n := len(s.servers(h)); n != 1 {
		t.Errorf("%d servers", n)
	}
	if n := len(s.stop()); n != len(agents)+1 {
		t.Errorf("%d rows", n)
	}
}

// Hubs that are started by hand at the same time: one stays, the others end with
// 0 within a moment and say nothing.
func TestHubOneWinner(t *testing.T) {
	s := newShared(t, "s")
	var wg sync.WaitGroup
	var ended atomic.Int64
	n := storm(50, 1000)
	for range n {
		wg.Go(func() { // ends with the command: the winner is stopped below
			defer ended.Add(1)
			var out bytes.Buffer
			c := s.command("mcp-serve", "hub")
			c.Stdout, c.Stderr = &out, &out
			if err := c.Run(); err != nil || out.Len() > 0 {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
	s.dial().Close() // one has won, and the agent starts none
	first := s.agent()
	s.call(first, "s__echo", "")
	if !mcptest.Eventually(func() bool { return int(ended.Load()) == n-1 }) {
		t.Errorf("%d of %d ended", ended.Load(), n)
	}
	s.theHub()
	s.stop(first)
	wg.Wait()
}

// A server that is not shared is one process a session, in its agent's directory
// and language, and ends with the session (R21, C32, MB-049).
func TestHubUnshared(t *testing.T) {
	s := newShared(t, "own [] shared: false", "all")
	type place struct {
		a        *mcptest.Agent
		own, all int
	}
	var places []place
	zero := s.agent()
	s.call(zero, "all__echo", "") // so that the hub, which has a language as well, has none of theirs
	for _, name := range []string{"one", "two"} {
		s.write(name+"/x", "")
		c := s.command("mcp-serve", "--no-project")
		c.Dir, c.Env = s.path(name), append(slices.Clone(s.env), "LANG=xx_"+name)
		a := mcptest.Start(t, c)
		a.Initialize()
		env := s.call(a, "own__env", "")
		has(t, name, env, `"cwd":"`+s.path(name)+`"`, `"LANG":"xx_`+name+`"`)
		places = append(places, place{a, s.server(a, "own"), s.server(a, "all")})
		hasNot(t, name, s.call(a, "all__env", ""), "xx_")
	}
	one, two := places[0], places[1]
	if one.own == two.own || one.all != two.all {
		t.Errorf("processes: %+v", places)
	}
	one.a.Close()
	s.wantGone(one.own)
	if s.server(two.a, "own") != two.own || s.server(two.a, "all") != two.all {
		t.Error("the other session got other processes")
	}
	s.stop(zero, two.a)
}

// The hub inherits nothing of the agent that started it, and no server's
// credential is in the environment of agents, bridges, the hub, or other servers
// (S6, C30, C32, MB-055).
func TestHubEnvironments(t *testing.T) {
	s := newShared(t, "plain",
		`stored [] env: {TOKEN: "${STORED}"}, env_file: `+"s.env",
		`asks [] env: {WHOSE: "${WHO}"}, agent_env: [WHO]`)
	s.write(".config/postern/s.env", "STORED=planted-in-a-file\n")
	agent := func(who string) *mcptest.Agent {
		c := s.command("mcp-serve")
		c.Env = append(slices.Clone(s.env), "AGENT_SECRET=planted-in-an-agent", "STORED=planted-wrongly", "WHO="+who, "LD_AGENT=planted-too")
		a := mcptest.Start(t, c)
		a.Initialize()
		return a
	}
	agents := []*mcptest.Agent{agent("planted-one"), agent("planted-two"), agent("planted-one")}
	pids := make([]int, len(agents))
	for i, a := range agents {
		s.call(a, "plain__echo", "")
		has(t, "stored", s.call(a, "stored__env", ""), "planted-in-a-file") // the redactor does not know who asks
		pids[i] = s.server(a, "asks")
	}
	if pids[0] != pids[2] || pids[0] == pids[1] {
		t.Errorf("processes of asks: %v", pids)
	}
	h := s.theHub()
	bridges := []int{agents[0].PID(), agents[1].PID(), agents[2].PID()}
	for text, want := range map[string][]int{
		"planted-in-a-file": {s.server(agents[0], "stored")}, "AGENT_SECRET": bridges, "planted-too": bridges, "STORED=planted-wrongly": bridges,
		"WHO=planted-one": {bridges[0], bridges[2]}, "WHOSE=planted-one": {pids[0]}, "WHOSE=planted-two": {pids[1]},
		"PWD=": {}, "POSTERN_INSTANCE=": s.servers(h),
	} {
		var got []int
		for _, found := range s.environs(text) {
			var name string
			var pid int
			fmt.Sscan(found, &name, &pid)
			got = append(got, pid)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q is in the environment of %v, not %v (hub %+v, bridges %v)", text, got, want, h, bridges)
		}
	}
	for _, pid := range []int{h.keeper, h.owner} {
		if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); cwd != "/" {
			t.Errorf("%d works in %s", pid, cwd)
		}
		for fd := range 3 {
			if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); pid == h.keeper && to != "/dev/null" {
				t.Errorf("descriptor %d of %d is %s", fd, pid, to)
			}
		}
		limits := readFile(fmt.Sprintf("/proc/%d/limits", pid))
		if _, rest, _ := strings.Cut(limits, "Max core file size"); pid == h.owner && strings.Fields(rest)[0] > "1" { // 1 keeps a handler of dumps out as well
			t.Errorf("core dumps: %.100s", rest)
		}
		if status := readFile(fmt.Sprintf("/proc/%d/status", pid)); pid == h.owner && !strings.Contains(status, "Umask:\t0077") {
			t.Errorf("umask of %d: %s", pid, status)
		}
	}
	for _, r := range s.stop(agents...) {
		if raw, _ := json.Marshal(r); bytes.Contains(raw, []byte("planted")) {
			t.Errorf("%s", raw)
		}
	}
	shown := s.run0("mcp-log", "-o", "jsonl")
	for _, secret := range []string{"planted-in", "planted-one", "planted-two", "planted-wrongly"} {
		if strings.Contains(shown, secret) {
			t.Errorf("a row holds %s", secret)
		}
	}
}

// A project's servers are there for agents in that project only, approved for it
// only (C52, R70).
func TestHubProjects(t *testing.T) {
	s := newShared(t, "user")
	agents := map[string]*mcptest.Agent{}
	for _, name := range []string{"one", "two", "none"} {
		dir := s.path(name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "none" {
			s.write(name+"/.git/HEAD", "ref: refs/heads/main\n")
			s.write(name+"/.mcp.json", fmt.Sprintf(`{"mcpServers":{"docs":{"command":"$FAKE","args":["-events",%q,"-info","{\"name\":\"%s\"}"]},"only%s":{"command":"$FAKE","args":["-events",%q]}}}`,
				s.events, name, name, s.events))
		}
	}
	project := s.project
	for _, name := range []string{"one", "two"} {
		s.project = s.path(name)
		if name == "one" {
			s.allow("docs")
			s.allow("onlyone")
		}
	}
	for _, name := range []string{"one", "two", "none"} {
		s.project = s.path(name)
		agents[name] = s.agent()
	}
	s.project = project
	tools := func(name string) string { return string(agents[name].Ask("tools/list", "")) }
	if !mcptest.Eventually(func() bool { return strings.Contains(tools("one"), `"docs__echo"`) }) {
		t.Errorf("one: %.300s", tools("one"))
	}
	for _, name := range []string{"two", "none"} {
		hasNot(t, name, []byte(tools(name)), "docs__", "onlyone__")
		has(t, name, []byte(tools(name)), "user__echo")
	}
	s.call(agents["one"], "docs__echo", "")
	s.want(agents["two"], "untrusted", "docs__echo", "")
	s.want(agents["two"], "unknown_tool", "onlyone__echo", "")
	s.want(agents["none"], "unknown_tool", "docs__echo", "")
	if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.server(agents["one"], "docs"))); cwd != s.path("one") {
		t.Errorf("docs works in %s", cwd)
	}
	s.theHub()
	s.stop(agents["one"], agents["two"], agents["none"])
}

// A project's server whose code was changed and approved anew runs as it is now: the
// old process ends, though its hub and its agent are still there.
func TestHubApprovedAnew(t *testing.T) {
	s := newShared(t, "user")
	script := func(line string) {
		s.write("project/run", "#!/bin/sh\n"+line+"\nexec $FAKE -events "+s.events+"\n")
		if err := os.Chmod(s.path("project/run"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write("project/.git/HEAD", "ref: refs/heads/main\n")
	s.write("project/.mcp.json", `{"mcpServers":{"docs":{"command":"./run"}}}`)
	script("# one")
	s.setting("sessions: {terminal_hosts: [pkg.test]}") // S3: who starts the agent approves as well here
	s.allow("docs")
	a := s.agent()
	s.call(a, "docs__echo", "")
	before := s.server(a, "docs")
	script("# two")
	s.want(a, "supply_chain_denied", "docs__echo", "")
	s.allow("docs")
	if after := s.server(a, "docs"); after == before {
		t.Errorf("process %d of the old code goes on", before)
	}
	if !mcptest.Eventually(func() bool { return s.begun()-len(mcptest.Events(t, s.events, "clean")) == 2 }) { // docs and user
		t.Error("the process of the old code is still there")
	}
	if n := s.begun(); n != 4 { // the first allow started one for itself, the second had the hub list (K7)
		t.Errorf("%d starts", n)
	}
	s.stop(a)
}

// One server is killed in the middle of calls: they are answered, others do not
// notice, its tools stay listed, and the next call starts it again (MB-021,
// MB-051).
func TestHubServerKilled(t *testing.T) {
	s := newShared(t, "a [] restart_delay: 20ms", "b")
	one, two := s.agent(), s.agent()
	victim := s.server(one, "a")
	s.call(two, "b__echo", "")
	never := []string{s.ask(one, "a__never", ""), s.ask(two, "a__never", "")}
	slow := s.ask(two, "b__slow", `,"ms":500`)
	mcptest.WaitEvents(t, s.events, "call", 5)
	s.kill(victim, syscall.SIGKILL)
	s.wantAnswer(one, "outcome_unknown", never[0])
	s.wantAnswer(two, "outcome_unknown", never[1])
	s.wantAnswer(two, "", slow)
	for _, a := range []*mcptest.Agent{one, two} {
		has(t, "the list", a.Ask("tools/list", ""), `"a__echo"`, `"b__echo"`)
	}
	if pid := s.server(two, "a"); pid == victim || s.server(one, "a") != pid {
		t.Error("not one other process")
	}
	if n := words(s.stop(one, two))["outcome_unknown"]; n != 2 {
		t.Errorf("%d rows of lost calls", n)
	}
}

// mcp-serve's verbs: a killed server stays down whoever calls until it is started
// again, which happens at once; each is a row (R23). The other commands use the
// hub where it is up, and start nothing (K7).
func TestHubVerbs(t *testing.T) {
	s := newShared(t, "a", "b")
	a := s.agent()
	a.Ask("tools/list", "") // starts both
	first := s.server(a, "a")
	has(t, "status", []byte(s.run0("mcp-serve", "status", "-o", "json")), fmt.Sprint(first), `"a"`)
	s.run0("mcp-serve", "kill", "a")
	s.wantGone(first)
	s.want(a, "upstream_unavailable", "a__echo", "")
	has(t, "the list", a.Ask("tools/list", ""), `"a__echo"`)
	s.run0("mcp-serve", "start", "a")
	if n := s.begun(); n != 3 {
		t.Errorf("%d starts: start does not connect at once", n)
	}
	second := s.server(a, "a")
	s.run0("mcp-serve", "restart", "a")
	s.wantGone(second)
	third := s.server(a, "a")
	if out := s.run0("mcp-call", "-o", "json", "a", "env"); !strings.Contains(out, fmt.Sprintf(`"pid":%d`, third)) {
		t.Errorf("mcp-call got %s, not process %d", out, third)
	}
	s.run0("mcp-catalog", "refresh", "a")
	s.run0("mcp-catalog", "refresh", "b")
	s.call(a, "b__echo", "")
	if n := s.begun(); n != 4 {
		t.Errorf("%d starts: the other commands do not use the hub", n)
	}
	s.run0("mcp-serve", "reload")
	s.run(2, "mcp-serve", "kill")
	s.run(2, "mcp-serve", "kill", "nowhere")
	rows := s.stop(a)
	for _, verb := range []string{"kill", "start", "restart", "stop", "reload"} {
		if !slices.ContainsFunc(rows, func(r row) bool { return strings.Contains(r.Tool, verb) }) {
			t.Errorf("no row of %s in %+v", verb, rows)
		}
	}
	s.run(6, "mcp-serve", "status")
	s.run0("mcp-serve", "stop")
}

// A hub that was stopped stays stopped: open calls are answered, bridges start no
// other, and an agent that starts anew does.
func TestHubStop(t *testing.T) {
	s := newShared(t, "a [-fault, ignore-eof]")
	one := s.agent()
	s.call(one, "a__echo", "")
	open := s.ask(one, "a__never", "")
	mcptest.WaitEvents(t, s.events, "call", 2)
	h := s.theHub()
	s.run0("mcp-serve", "stop")
	if found := s.servers(h); len(found) > 0 {
		t.Errorf("mcp-serve stop does not wait for servers %v", found)
	}
	s.wantGone(h.keeper, h.owner)
	s.wantAnswer(one, "hub_lost", open)
	s.want(one, "hub_lost", "a__echo", "")
	if found := s.hubs(); len(found) > 0 {
		t.Errorf("hubs %v", found)
	}
	two := s.agent()
	s.call(two, "a__echo", "")
	s.theHub()
	s.stop(one, two)
}
