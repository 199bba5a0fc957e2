package mcptest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"postern/pkg/wire"
)

// call is one tools/call being worked on.
type call struct {
	s         *server
	m         wire.Message
	args      []byte // the arguments as written, nil when absent
	cancelled <-chan struct{}
	task      *task // takes the answer; nil: it goes out
}

type behaviour struct {
	name string
	do   func(c call)
}

// behaviours are the tools in the order they are listed.
func behaviours() []behaviour {
	return []behaviour{
		{"echo", call.echo}, {"slow", call.slow}, {"progress", call.progress}, {"big", call.big}, {"fail", call.failed},
		{"rpcerror", call.rpcError}, {"raw", call.raw}, {"env", call.env}, {"exit", call.exit}, {"half", call.half},
		{"write", call.write}, {"twice", call.twice}, {"late", call.late}, {"never", call.never}, {"notify", call.notify},
		{"change", call.change}, {"ask", call.ask},
	}
}

func builtinTools() (items [][]byte) {
	for _, b := range behaviours() {
		items = append(items, b.listed())
	}
	return items
}

func (b behaviour) listed() []byte {
	hint := ""
	if b.name == "echo" || b.name == "env" {
		hint = `,"annotations":{"readOnlyHint":true}`
	}
	return []byte(`{"name":"` + b.name + `","description":"Does ` + b.name + ` for tests.","inputSchema":{"type":"object"}` + hint + `}`)
}

func (s *server) call(m wire.Message, cancelled <-chan struct{}) {
	name := text(m.ParamsBytes(), "name")
	c := call{s: s, m: m, args: member(m.ParamsBytes(), "arguments"), cancelled: cancelled}
	s.log.add("call", name+" "+string(c.args))
	do := call.echo
	for _, b := range append(behaviours(), moreBehaviours()...) {
		if b.name == name {
			do = b.do
		}
	}
	if wire.IsObject(member(m.ParamsBytes(), "task")) && !isModern(m) {
		c.asTask(do)
		return
	}
	do(c)
}

// wait lets ms pass; false when the call was cancelled before.
func (c call) wait(ms int) bool {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return true
	case <-c.cancelled:
		return false
	}
}

func (c call) result(raw string) {
	if c.task != nil {
		c.s.become(c.task, "completed", []byte(raw))
		return
	}
	c.s.answer(c.m, []byte(raw))
}

// structured answers with a value, and with its text.
func (c call) structured(value []byte) {
	c.result(`{"content":[{"type":"text","text":` + string(wire.Quote(string(value))) + `}],"structuredContent":` + string(value) + `}`)
}

func (c call) text(s string) {
	c.result(`{"content":[{"type":"text","text":` + string(wire.Quote(s)) + `}]}`)
}

func (c call) echo() {
	if c.args == nil {
		c.text("")
		return
	}
	c.structured(c.args)
}

func (c call) slow() {
	if c.wait(number(c.args, "ms", 100)) {
		c.text("done")
	}
}

func (c call) token() []byte { return member(member(c.m.ParamsBytes(), "_meta"), "progressToken") }

func (c call) progress() {
	token := c.token()
	steps := number(c.args, "steps", 3)
	message, said := "", "done"
	if t := member(c.args, "text"); t != nil {
		message, said = `,"message":`+string(t), text(c.args, "text")
	}
	for i := range steps {
		if token != nil {
			params := `{"progressToken":` + string(token) + `,"progress":` + strconv.Itoa(i+1) + `,"total":` + strconv.Itoa(steps) + message + `}`
			c.s.out.line(wire.NotificationLine("notifications/progress", []byte(params)))
		}
		if ms := number(c.args, "ms", 0); ms > 0 && !c.wait(ms) {
			return
		}
	}
	c.text(said)
}

func (c call) big() { c.text(strings.Repeat("x", number(c.args, "bytes", 1<<20))) }

func (c call) failed() {
	c.result(`{"content":[{"type":"text","text":` + string(wire.Quote(text(c.args, "text"))) + `}],"isError":true}`)
}

func (c call) rpcError() {
	e, err := wire.ParseRPCError(member(c.args, "error"))
	if err != nil {
		e = &wire.RPCError{Code: -32000, Message: "as asked"}
	}
	c.s.out.line(wire.ErrorLine(c.m.IDBytes(), e))
}

func (c call) raw() { c.s.out.line(wire.ResultLine(c.m.IDBytes(), member(c.args, "result"))) }

func (c call) env() {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	cwd, _ := os.Getwd() // "" says it
	raw, err := json.Marshal(map[string]any{"env": env, "args": os.Args[1:], "cwd": cwd, "pid": os.Getpid(), "ppid": os.Getppid()})
	if err != nil {
		c.text(err.Error())
		return
	}
	c.structured(raw)
}

func (c call) exit() {
	if last := text(c.args, "stderr"); last != "" {
		_, _ = io.WriteString(c.s.stderr, last+"\n")
	}
	c.s.quit(number(c.args, "status", 1))
}

func (c call) half() {
	line := wire.ResultLine(c.m.IDBytes(), []byte(`{"content":[]}`))
	c.s.out.raw(line[:len(line)/2])
	c.s.quit(0)
}

func (c call) write() {
	line := []byte(text(c.args, "line"))
	if raw, err := hex.DecodeString(text(c.args, "hex")); err == nil && len(raw) > 0 {
		line = raw
	}
	line = []byte(strings.ReplaceAll(string(line), "$ID", string(c.m.IDBytes())))
	if !flagged(c.args, "bare") {
		line = append(line, '\n')
	}
	for range number(c.args, "times", 1) {
		if flagged(c.args, "stderr") {
			_, _ = c.s.stderr.Write(line)
		} else {
			c.s.out.raw(line)
		}
	}
	if flagged(c.args, "answer") {
		c.text("done")
	}
}

func (c call) twice() {
	c.text("first")
	c.text("second")
}

func (c call) late() {
	<-c.cancelled // or the end of the process
	c.text("too late")
}

func (c call) never() {}

func (c call) notify() {
	params := bytes.ReplaceAll(member(c.args, "params"), []byte(`"$TOKEN"`), []byte(orNull(c.token())))
	line := wire.NotificationLine(text(c.args, "method"), params)
	send := func() {
		for range number(c.args, "times", 1) {
			c.s.out.line(line)
		}
	}
	if flagged(c.args, "after") {
		c.text("done")
		send()
		return
	}
	send()
	c.text("done")
}
