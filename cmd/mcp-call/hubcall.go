package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/calllog"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/hub"
	"postern/pkg/pool"
	"postern/pkg/wire"
)

// call makes the call of the tool and prints its answer.
func (r *remote) call(ctx context.Context, t target) error {
	m := r.m
	if _, err := cmdmain.Output(m.c, "text", "json", "raw"); err != nil {
		return err
	}
	arguments, err := m.arguments(ctx, t)
	if err != nil {
		return m.usage(t, err)
	}
	if len(arguments) > config.MinMessageBytes { // no server takes less
		if s := r.declared(t.server); s != nil && len(arguments) > s.MaxMessageBytes {
			return m.usage(t, tooLong(t.server, len(arguments), s.MaxMessageBytes))
		}
	}
	params := append(append([]byte(`{"name":`), wire.Quote(t.tool)...), `,"arguments":`...)
	params = append(append(params, arguments...), `,"_meta":{"progressToken":1}}`...)
	return r.send(ctx, t, "tools/call", params)
}

// callRoom is what a line takes beside the arguments.
const callRoom = 4 << 10

// send sends a request and prints its answer.
func (r *remote) send(ctx context.Context, t target, method string, params []byte) error {
	m, begin, row := r.m, time.Now(), calllog.NewID(time.Now())
	if limit := config.AgentMessageBytes - callRoom; len(params) > limit {
		return m.usage(t, cmdmain.Usagef("the request has %d bytes, and a hub takes %d; --no-hub has no such limit", len(params), limit))
	}
	progress := startProgress(m.env, t)
	defer progress.stop()
	m.agent.beside(progress)
	if t.server != "" { // in a session of one server no question says whose it is (R62)
		m.agent.mark = "[server " + t.server + "] "
	}
	reply, err := r.session.Do(ctx, row, method, params, progress.step)
	progress.stop()
	m.agent.flush()
	var lost *hub.LostError
	switch {
	case errors.As(err, &lost):
		r.log(t, row, begin, len(params), call.HubLost)
		return &cmdmain.Error{Err: fmt.Errorf("%w; the call may have happened", lost), Word: string(call.HubLost), Exit: cmdmain.Unavailable}
	case err != nil:
		return m.ended(ctx, "before server "+r.serverOf(t)+" answered; the call may have happened")
	}
	if refusal := refusalIn(reply, row); refusal != nil {
		return r.refused(t, refusal)
	}
	if reply.Error.Ok() {
		t.server = r.serverOf(t) // for the message
	}
	if m.out == "raw" { // the id is what ties the answer to its row, and means nothing here
		if plain, err := wire.Parse(reply.WithID([]byte("1"))); err == nil {
			reply = plain
		}
	}
	a := call.Answer{Reply: &reply}
	if explained(reply.ResultBytes()) {
		a.Result = reply.ResultBytes()
	}
	return m.print(t, a)
}

// refusalIn is the gateway's own refusal in an answer, nil where there is none. A
// server can write anything but the id of the row, which it never sees: without
// it, it would choose what this command tells a person to run.
func refusalIn(reply wire.Message, row string) *call.Refusal {
	v := gjson.ParseBytes(reply.ErrorBytes())
	data, text := member(v, "data"), member(v, "message").String()
	if !reply.Error.Ok() {
		v = gjson.ParseBytes(reply.ResultBytes())
		data = member(member(v, "_meta"), "postern/error")
		text = textOf(member(v, "content").Get("0")).String()
	}
	var r call.Refusal
	if !data.IsObject() || json.Unmarshal([]byte(data.Raw), &r) != nil || r.Row != row {
		return nil
	}
	r.Message = strings.TrimSuffix(text, "; "+r.Remedy)
	return &r
}

// explained tells a result to which the gateway added the tool's schema (R41).
func explained(result []byte) bool {
	blocks := member(gjson.ParseBytes(result), "content").Array()
	return len(blocks) > 1 && strings.HasPrefix(textOf(blocks[len(blocks)-1]).String(), "input schema of ")
}

// refused words a refusal of the hub for the shell.
func (r *remote) refused(t target, f *call.Refusal) error {
	switch f.Word {
	case call.UnknownTool, call.UnknownPrompt, call.UnknownResource:
		if _ = r.declared(""); r.cfg.Refused {
			return r.m.notInForce()
		}
	}
	switch f.Word {
	case call.UnknownPrompt, call.UnknownResource:
		if v := r.view(); v != nil {
			return r.m.unknownItem(v, f)
		}
	case call.UnknownTool:
		near := ""
		if f.Remedy != "" {
			near = "; " + f.Remedy
		}
		return &cmdmain.Error{Err: errors.New(f.Message + near), Word: string(f.Word), Exit: cmdmain.Usage,
			Hints: []string{r.m.command("", t.server)}}
	}
	err := cmdmain.Failure(f)
	var e *cmdmain.Error
	if tellsOnStderr(f.Word) && errors.As(err, &e) {
		e.Hints = append(e.Hints, r.tail(f.Server)...)
	}
	return err
}

// tail is the hint to the newest of what a server wrote to standard error, nil when it
// said nothing.
func (r *remote) tail(server string) []string {
	if log := pool.NewestStderr(filepath.Join(r.dirs.State, "stderr"), server); log != "" {
		return []string{"tail " + call.ShellQuoted(log)}
	}
	return nil
}

// log writes the row of a request whose hub went away, or which ended before a hub was
// asked; the hub's own, if it wrote one, counts instead of it (C81).
func (r *remote) log(t target, row string, begin time.Time, size int, word call.Word) {
	s, name := r.whose(t)
	via := "mcp-call"
	switch t.method {
	case readResource:
		via = call.ViaResource
	case getPrompt:
		via = call.ViaPrompt
	}
	log, err := calllog.Open(filepath.Join(r.dirs.State, "calls"), calllog.Options{Days: r.cfg.Log.Days, MaxFile: r.cfg.Log.MaxFile})
	if err != nil {
		r.m.env.Sayf("calls are not logged: %v", err)
		return
	}
	log.AppendWait(calllog.Row{
		ID: row, TS: begin.UTC(), LatencyMS: float64(time.Since(begin).Microseconds()) / 1000,
		Via: via, ClientPID: os.Getpid(), Project: r.project, ConfigHash: r.cfg.Hash,
		Upstream: s.ID, Tool: name, Scope: string(s.Scope), Launch: s.Digest,
		Outcome: word.Meaning().Outcome, Step: call.StepDispatch, Word: string(word), RequestBytes: size,
	}, config.RefusalLogWait)
	if err := log.Close(config.LogFlush); err != nil {
		r.m.env.Sayf("the row of the call was not written: %v", err)
	}
}
