package main

import (
	"context"
	"encoding/json"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// The methods of --resource and --prompt.
const (
	readResource = "resources/read"
	getPrompt    = "prompts/get"
)

// read reads the resource or gets the prompt and prints it.
func (m *caller) read(ctx context.Context, args []string) error {
	if m.c.IsSet("resource") {
		t := target{method: readResource, name: m.c.String("resource")}
		return m.send(ctx, t, call.Request{Method: t.method, Exposed: t.name}, naming("uri", t.name))
	}
	t := target{method: getPrompt, name: m.c.String("prompt"), words: args}
	arguments, err := m.promptArguments(ctx, t)
	if err != nil {
		return err
	}
	params := naming("name", t.name)
	if arguments != nil {
		params = wire.InsertMember(params, "arguments", arguments)
	}
	return m.send(ctx, t, call.Request{Method: t.method, Exposed: t.name}, params)
}

// naming is params with nothing but what the request is about.
func naming(member, name string) []byte {
	return append(append([]byte(`{"`+member+`":`), wire.Quote(name)...), '}')
}

// promptArguments are those of the prompt: --args as they are, else the words,
// which are text; nil without any.
func (m *caller) promptArguments(ctx context.Context, t target) ([]byte, error) {
	if m.c.IsSet("args") {
		return m.givenArgs(ctx, t)
	}
	if len(t.words) == 0 {
		return nil, nil
	}
	out, given := []byte{'{'}, map[string]bool{}
	for _, arg := range t.words {
		w, err := parseWord(arg, func(path string) ([]byte, error) {
			return m.interruptible(ctx, func() ([]byte, error) { return readFile(path) })
		})
		if err != nil {
			return nil, err
		}
		if given[w.key] {
			return nil, cmdmain.Usagef("%s is given twice", shown(w.key))
		}
		given[w.key] = true
		value := wire.Quote(w.text)
		if w.form == literal {
			var text string
			if json.Unmarshal([]byte(w.text), &text) != nil || w.text == "null" {
				return nil, cmdmain.Usagef("the value of %s:= is no text, and a prompt takes nothing else", w.key)
			}
			value = []byte(w.text)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, wire.Quote(w.key)...), ':'), value...)
	}
	return append(out, '}'), nil
}
