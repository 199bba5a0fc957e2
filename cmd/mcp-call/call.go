package main

import (
	"context"
	"errors"
	"strings"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

func (m *caller) run(ctx context.Context, args []string) error {
	if m.c.IsSet("resource") || m.c.IsSet("prompt") {
		return m.read(ctx, args)
	}
	t, err := address(viewed{m.session.View()}, args)
	if err != nil {
		return err
	}
	if t.tool == "" {
		return m.listTools(ctx, t.server)
	}
	if _, err := cmdmain.Output(m.c, "text", "json", "raw"); err != nil {
		return err
	}
	arguments, err := m.arguments(ctx, t)
	if err != nil {
		return m.usage(t, err)
	}
	return m.call(ctx, t, arguments)
}

// arguments are what the call is made with: --args as they are, else the words.
// Mistakes that can be seen without the schema are found before anything starts.
func (m *caller) arguments(ctx context.Context, t target) ([]byte, error) {
	if m.c.IsSet("args") {
		return m.givenArgs(ctx, t)
	}
	words := make([]word, len(t.words))
	typed := false
	for i, arg := range t.words {
		w, err := parseWord(arg, func(path string) ([]byte, error) {
			return m.interruptible(ctx, func() ([]byte, error) { return readFile(path) })
		})
		if err != nil {
			return nil, err
		}
		words[i] = w
		typed = typed || w.form != literal
	}
	var s schema
	if typed {
		def, err := m.find(ctx, t)
		if err != nil {
			return nil, err
		}
		if def == nil { // refused: the call that follows is refused alike, and logged
			return []byte("{}"), nil
		}
		s = schemaOf(def.Def.InputSchema)
	}
	return buildObject(words, s)
}

// givenArgs are those of --args.
func (m *caller) givenArgs(ctx context.Context, t target) ([]byte, error) {
	if len(t.words) > 0 {
		return nil, cmdmain.Usagef("--args and %s exclude each other", shown(t.words[0]))
	}
	raw, err := m.readArgs(ctx, m.c.String("args"))
	if err != nil {
		return nil, err
	}
	return parseObject(raw)
}

func (m *caller) readArgs(ctx context.Context, arg string) ([]byte, error) {
	read := func() ([]byte, error) { return readBounded(m.env.Stdin, "standard input") }
	if path, ok := strings.CutPrefix(arg, "@"); ok {
		read = func() ([]byte, error) { return readFile(path) }
	} else if arg != "-" {
		return []byte(arg), nil
	}
	data, err := m.interruptible(ctx, read)
	if err != nil && ctx.Err() == nil {
		return nil, &cmdmain.Error{Err: err, Exit: cmdmain.Usage}
	}
	return data, err
}

// interruptible gives what read gives, or ends with ctx: standard input and
// pipes may never come to an end.
func (m *caller) interruptible(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // ends with its read, or with the process
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, m.ended(ctx, "while the arguments were read")
	}
}

// find gives the tool, for its schema. A server that was never listed is started
// for it; when that fails it is not tried a second time, and the call ends here, with
// its row. nil is a tool that the line refuses.
func (m *caller) find(ctx context.Context, t target) (*call.Tool, error) {
	if m.remote != nil {
		return m.remote.tool, nil
	}
	ended := false
	found, refusal := m.session.FindFor(ctx, t.server, t.tool, func(r *call.Refusal) bool {
		ended = r.Step == call.StepDispatch && (ctx.Err() != nil || !unstarted(r.Word))
		return ended
	})
	if ended {
		return nil, m.refused(ctx, refusal)
	}
	return found, nil
}

// unstarted tells refusals of which no process was started, nor will be.
func unstarted(w call.Word) bool {
	return w == call.Unavailable || w == call.Disabled || w == call.Self || w == call.Spawn
}

// call makes the call of a tool and prints its answer.
func (m *caller) call(ctx context.Context, t target, arguments []byte) error {
	if s := m.session.View().Server(t.server); s != nil && len(arguments) > s.Declared.MaxMessageBytes {
		return m.usage(t, tooLong(t.server, len(arguments), s.Declared.MaxMessageBytes))
	}
	params := append(append([]byte(`{"arguments":`), arguments...), '}')
	return m.send(ctx, t, call.Request{Server: t.server, Tool: t.tool}, params)
}

// send sends a request and prints its answer.
func (m *caller) send(ctx context.Context, t target, request call.Request, params []byte) error {
	if m.remote != nil {
		return m.remote.send(ctx, t, request.Method, wire.InsertMember(params, "_meta", []byte(`{"progressToken":1}`)))
	}
	progress := startProgress(m.env, t)
	defer progress.stop()
	m.agent.beside(progress)
	request.LineBytes, request.Progress = len(params), progress.step
	// Progress is asked for whether it is shown or not: it keeps a long call alive (R44).
	request.Params = wire.InsertMember(params, "_meta", []byte(`{"progressToken":1}`))
	var result error
	m.session.Do(ctx, request, func(a call.Answer) {
		progress.stop()
		m.agent.flush()
		if a.Refusal != nil {
			result = m.refused(ctx, a.Refusal)
			return
		}
		if t.server == "" {
			t.server = a.Server
		}
		result = m.print(t, a)
	})
	return result
}

func tooLong(server string, size, limit int) error {
	return cmdmain.Usagef("the arguments have %d bytes, and max_message_bytes of server %s is %d", size, server, limit)
}

// usage gives a mistake in the arguments the hint to the help of what they are for.
func (m *caller) usage(t target, err error) error {
	var e *cmdmain.Error
	if errors.As(err, &e) && e.Exit == cmdmain.Usage && len(e.Hints) == 0 {
		return &cmdmain.Error{Err: e.Err, Word: e.Word, Exit: e.Exit, Hints: m.helpOf(t)}
	}
	return err
}
