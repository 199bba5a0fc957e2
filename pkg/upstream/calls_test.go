package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/pkg/wire"
)

// R4: params and results go through byte for byte; the id is ours.
func TestDoKeepsBytes(t *testing.T) {
	p := newPeer(t, Options{})
	for _, raw := range []string{
		`{"a": 1e400, "b":9007199254740993,"c":1.0 ,"d":"\u0041"}`,
		`[]`, `{}`, `{"x":null,"X":[{"y":-0}]}`, "{\"t\":\"a\u2028b\u2029c\u0085d\"}",
	} {
		got := p.do(t.Context(), Call{Method: "tools/call", Params: []byte(raw)})
		id, m := p.request()
		if string(m.ParamsBytes()) != raw || m.Method != "tools/call" {
			t.Errorf("the server got %s", m.Raw)
		}
		p.send(`{"jsonrpc":"2.0","result":%s,"id":%s,"new":1}`, raw, id)
		r := await(t, got)
		if r.err != nil || string(r.reply.Message.ResultBytes()) != raw {
			t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
		}
		if r.reply.Written.IsZero() {
			t.Error("no time of writing")
		}
	}
}

// A call without params has none, and an error answer is a reply (R42).
func TestDoErrorReply(t *testing.T) {
	p := newPeer(t, Options{})
	got := p.do(t.Context(), Call{Method: "x"})
	id, m := p.request()
	if m.Params.Ok() {
		t.Errorf("params appeared in %s", m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no","data":[1]}}`, id)
	if r := await(t, got); r.err != nil || string(r.reply.Message.ErrorBytes()) != `{"code":-32000,"message":"no","data":[1]}` {
		t.Errorf("got %s, %v", r.reply.Message.Raw, r.err)
	}
}

// MB-077: answers in any order find their calls.
func TestDoAnswersInReverse(t *testing.T) {
	p := newPeer(t, Options{})
	const n = 50
	var calls [n]<-chan result
	var ids [n]string
	for i := range n {
		calls[i] = p.do(t.Context(), Call{Method: "m", Params: fmt.Appendf(nil, `{"n":%d}`, i)})
		var m wire.Message
		ids[i], m = p.request()
		if got := string(m.ParamsBytes()); got != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("request %d has params %s", i, got)
		}
	}
	for i := n - 1; i >= 0; i-- {
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"n":%d}}`, ids[i], i)
	}
	for i := range n {
		r := await(t, calls[i])
		if want := fmt.Sprintf(`{"n":%d}`, i); r.err != nil || string(r.reply.Message.ResultBytes()) != want {
			t.Errorf("call %d got %s, %v", i, r.reply.Message.Raw, r.err)
		}
	}
}

// R45, R44, MB-085: progress carries the caller's token, comes in order and
// before the answer, and holds off the timeout.
func TestProgress(t *testing.T) {
	p := newPeer(t, Options{})
	params := []byte(`{"_meta":{"progressToken":9007199254740993},"name":"x"}`)
	start := strings.Index(string(params), "9007")
	var mu sync.Mutex
	var steps []string
	got := p.do(t.Context(), Call{
		Method: "tools/call", Params: params, Token: wire.Span{Start: start, End: start + 16},
		Progress: func(raw []byte) { mu.Lock(); steps = append(steps, string(raw)); mu.Unlock() },
		Timeout:  2 * time.Second,
	})
	id, m := p.request()
	if want := `{"_meta":{"progressToken":` + id + `},"name":"x"}`; string(m.ParamsBytes()) != want {
		t.Errorf("params %s, want %s", m.ParamsBytes(), want)
	}
	begin := time.Now()
	for i := range 6 {
		time.Sleep(400 * time.Millisecond) // the subject: longer than the timeout in all
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d, "progressToken":%s,"x":1.0}}`, i, id)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"invented"}}`) // MB-083
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":99,"progressToken":%s}}`, id)
	if r := await(t, got); r.err != nil {
		t.Fatalf("after %v: %v", time.Since(begin), r.err)
	}
	p.quiet()
	mu.Lock()
	defer mu.Unlock()
	if len(steps) != 6 {
		t.Fatalf("%d steps: %s", len(steps), steps)
	}
	for i, s := range steps {
		if want := fmt.Sprintf(`{"progress":%d, "progressToken":9007199254740993,"x":1.0}`, i); s != want {
			t.Errorf("step %d is %s, want %s", i, s, want)
		}
	}
}

// R45: progress that was read before a call ended, but is handed on after, goes
// to nobody, also when its place is another call's by then.
func TestNoProgressAfterTheEnd(t *testing.T) {
	p := newPeer(t, Options{})
	params := []byte(`{"_meta":{"progressToken":"t"}}`)
	call := Call{Params: params, Token: wire.Span{Start: 26, End: 29}, Progress: func(raw []byte) { t.Errorf("got %s", raw) }}
	first, err := p.c.enter(call, ready)
	if err != nil {
		t.Fatal(err)
	}
	late := []byte(`{"progressToken":1}`)
	token := wire.Span{Start: 17, End: 18}
	p.c.leave(first)
	first.end()
	first.step(p.c, late, token)
	p.c.recycle(first)
	second, err := p.c.enter(call, ready)
	if err != nil || second != first {
		t.Fatalf("%v, not used again", err)
	}
	second.step(p.c, late, token)
	p.c.leave(second)
}

// R44, R45, MB-087: without an answer or progress the call ends at its timeout,
// the server is told, a late answer is dropped, and the connection lives.
func TestTimeout(t *testing.T) {
	p := newPeer(t, Options{})
	got := p.do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"a":"` + strings.Repeat("x", 15<<10) + `"}`), Timeout: 50 * time.Millisecond})
	id, _ := p.request()
	f := failure(t, await(t, got).err, Timeout)
	if !f.Sent || f.Limit != 50*time.Millisecond || f.Phase != "tools/call" {
		t.Errorf("got %+v", f)
	}
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"no answer within 50ms"}}`
	if got := p.line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"late":true}}`, id)
	next := p.do(t.Context(), Call{Method: "x"})
	id2, _ := p.request()
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"ok":1}}`, id2)
	if r := await(t, next); r.err != nil || string(r.reply.Message.ResultBytes()) != `{"ok":1}` {
		t.Errorf("next call: %s, %v", r.reply.Message.Raw, r.err)
	}
	if n := p.c.Info().Dropped; n != 1 {
		t.Errorf("%d dropped, want the late answer", n)
	}
}

// R44, MB-085: progress does not hold off the limit of the whole call, and the
// message names both limits and the last progress.
func TestDeadline(t *testing.T) {
	p := newPeer(t, Options{})
	params := []byte(`{"_meta":{"progressToken":"t"}}`)
	at := strings.Index(string(params), `"t"`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	stepped := make(chan struct{}, 9)
	got := p.do(ctx, Call{
		Method: "m", Params: params, Token: wire.Span{Start: at, End: at + 3}, Timeout: 10 * time.Second,
		Progress: func([]byte) { stepped <- struct{}{} },
	})
	id, _ := p.request()
	p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, id)
	await(t, stepped)
	f := failure(t, await(t, got).err, Timeout)
	for _, want := range []string{"altogether", "10s", "the last of 1 progress messages"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("%q lacks %q", f.Detail, want)
		}
	}
	if f.Limit <= 0 || f.Limit > 300*time.Millisecond {
		t.Errorf("limit %v", f.Limit)
	}
}

// R45, MB-089, MB-090: any method is cancelled with our id and the caller's
// reason, but for initialize.
func TestCancel(t *testing.T) {
	p := newPeer(t, Options{})
	other := p.do(t.Context(), Call{Method: "tools/call"})
	otherID, _ := p.request()
	ctx, cancel := context.WithCancelCause(t.Context())
	got := p.do(ctx, Call{Method: "prompts/get"})
	id, _ := p.request()
	cancel(&Cancelled{Reason: "the user said \"stop\""})
	f := failure(t, await(t, got).err, Aborted)
	if !f.Sent || f.Detail != `the user said "stop"` {
		t.Errorf("got %+v", f)
	}
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"the user said \"stop\""}}`
	if got := p.line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, otherID)
	if r := await(t, other); r.err != nil {
		t.Errorf("the other call: %v", r.err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	got = p.do(ctx, Call{Method: "initialize"})
	p.request()
	cancel(nil)
	failure(t, await(t, got).err, Aborted)
	p.quiet()
	dead, end := context.WithCancelCause(t.Context())
	end(&Cancelled{})
	if f := failure(t, await(t, p.do(dead, Call{Method: "x"})).err, Aborted); f.Sent || f.Detail != "cancelled" {
		t.Errorf("got %+v", f)
	}
	p.quiet()
}

// jam fills the pipe to the peer, so that what follows stays queued.
func (p *peer) jam() (jammed <-chan result) {
	p.t.Helper()
	big := []byte(`{"a":"` + strings.Repeat("x", 512<<10) + `"}`)
	return p.do(p.t.Context(), Call{Method: "big", Params: big})
}

// waitSent waits until the call with this id is being written.
func (p *peer) waitStage(id uint64, stage int32) *pending {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.c.mu.Lock()
		call := p.c.calls[id]
		p.c.mu.Unlock()
		if call != nil && call.stage.Load() == stage {
			return call
		}
	}
	p.t.Fatal("the call never came that far")
	return nil
}

// MB-089: a call cancelled while it is queued is never sent. A server cannot
// answer what it was not asked (R43 depends on that).
func TestCancelQueued(t *testing.T) {
	p := newPeer(t, Options{})
	big := p.jam()
	p.waitStage(1, written)
	ctx, cancel := context.WithCancel(t.Context())
	got := p.do(ctx, Call{Method: "queued"})
	p.waitStage(2, queued)
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"forged":true}}`)
	p.send(`{"jsonrpc":"2.0","id":77,"result":{"forged":true}}`)
	for end := time.Now().Add(patience); p.c.dropped.Load() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an answer to nothing was taken")
		}
	}
	cancel()
	if f := failure(t, await(t, got).err, Aborted); f.Sent {
		t.Error("a queued call counts as sent")
	}
	if id, _ := p.request(); id != "1" {
		t.Fatalf("first request has id %s", id)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if r := await(t, big); r.err != nil {
		t.Error(r.err)
	}
	p.quiet()
}

// R44: the timeout runs from the writing, not from the queueing.
func TestTimeoutStartsWhenWritten(t *testing.T) {
	p := newPeer(t, Options{})
	big := p.jam()
	p.waitStage(1, written)
	got := p.do(t.Context(), Call{Method: "queued", Timeout: 2 * time.Second})
	p.waitStage(2, queued)
	time.Sleep(2500 * time.Millisecond) // the subject: longer than the timeout
	p.request()
	if _, m := p.request(); m.Method != "queued" {
		t.Fatalf("got %s", m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if r := await(t, got); r.err != nil {
		t.Error(r.err)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	await(t, big)
}

// R6: a line over the cap is refused alone, and so is what does not fit the
// queue; a server that takes nothing until the write deadline has failed.
func TestOverload(t *testing.T) {
	p := newPeer(t, Options{MaxMessage: 1 << 20, MaxQueue: 8 << 10})
	_, err := p.c.Do(t.Context(), Call{Method: "m", Params: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)})
	if f := failure(t, err, Overload); f.Sent {
		t.Error("a refused line counts as sent")
	}
	p.quiet()
	big := p.jam()
	p.waitStage(2, written)
	_, err = p.c.Do(t.Context(), Call{Method: "m", Params: []byte(`["` + strings.Repeat("x", 8<<10) + `"]`)})
	failure(t, err, Overload)
	p.c.writeFailed(fmt.Errorf("write: %w", os.ErrDeadlineExceeded))
	if f := failure(t, await(t, big).err, Overload); !f.Sent || f.Limit == 0 {
		t.Errorf("got %+v", f)
	}
	if f := p.c.Err(); f.Word != Overload {
		t.Errorf("cause %v", f)
	}
}

// Params with line breaks, which did not come as a line, lose them (R4).
func TestLineBreaks(t *testing.T) {
	p := newPeer(t, Options{})
	got := p.do(t.Context(), Call{Method: "m", Params: []byte("{\n  \"a\": 1\r\n}")})
	id, m := p.request()
	if string(m.ParamsBytes()) != `{  "a": 1}` {
		t.Errorf("got %q", m.ParamsBytes())
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	await(t, got)
}

// Calls, answers, cancellations, progress and timeouts all at once: each call
// ends exactly once and with its own answer.
func TestManyCallsAtOnce(t *testing.T) {
	p := newPeer(t, Options{MaxMessage: 1 << 20, MaxQueue: 16 << 20})
	go p.echo() // ends when the client closes stdin
	var wg sync.WaitGroup
	for g := range 40 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range 50 {
				p.oneOfMany(t, r, fmt.Sprintf(`{"_meta":{"progressToken":"t"},"g":%d,"i":%d}`, g, i))
			}
		})
	}
	wg.Wait()
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if len(p.c.calls) != 0 {
		t.Errorf("%d calls are still registered", len(p.c.calls))
	}
}

func (p *peer) oneOfMany(t *testing.T, r *rand.Rand, params string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch r.IntN(4) {
	case 0:
		time.AfterFunc(time.Duration(r.IntN(500))*time.Microsecond, cancel)
	case 1:
		cancel()
	}
	over := false
	var mu sync.Mutex
	reply, err := p.c.Do(ctx, Call{
		Method: "m", Params: []byte(params), Token: wire.Span{Start: 26, End: 29}, Timeout: patience,
		Progress: func([]byte) {
			mu.Lock()
			defer mu.Unlock()
			if over {
				t.Error("progress after the end of the call")
			}
		},
	})
	mu.Lock()
	over = true
	mu.Unlock()
	var f *Failure
	if errors.As(err, &f) && f.Word == Aborted {
		return
	}
	want := params[31:]
	if err != nil || !strings.HasSuffix(string(reply.Message.ResultBytes()), want) {
		t.Errorf("got %s, %v; want %s", reply.Message.Raw, err, want)
	}
}

// echo answers each request with its params, after one progress message.
func (p *peer) echo() {
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := wire.Parse(line[:len(line)-1])
		if err != nil {
			p.t.Errorf("%s: %v", line, err)
			return
		}
		if m.Kind != wire.Request {
			continue
		}
		fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", m.IDBytes())
		fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.IDBytes(), m.ParamsBytes())
	}
}
