package main

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
)

// print writes the answer: the product to standard output, a failure as the
// command's error.
func (m *caller) print(t target, a call.Answer) error {
	if m.out == "raw" {
		if err := m.json(a.Reply.Raw); err != nil {
			return err
		}
	}
	if a.Reply.Error.Ok() {
		return m.serverError(t, a.Reply.ErrorBytes())
	}
	raw := a.Result
	if raw == nil {
		raw = a.Reply.ResultBytes()
	}
	result := gjson.ParseBytes(raw)
	failed := member(result, "isError").Type == gjson.True
	if m.out == "json" && !m.c.IsSet("get") {
		if err := m.json(raw); err != nil {
			return err
		}
	}
	var err error
	switch {
	case m.c.IsSet("get"):
		err = m.found(t, raw, failed)
	case m.out == "" || m.out == "text":
		err = m.text(t, result)
	}
	if err != nil || !failed {
		return err
	}
	failure := &cmdmain.Error{Err: fmt.Errorf("%s reported an error", t), Word: string(call.ToolError), Exit: cmdmain.ToolError}
	if a.Result != nil { // a required argument was missing (R41)
		failure.Hints = m.helpOf(t)
	}
	return failure
}

// found prints what --get asks for. Where an error has nothing there its text is
// the message.
func (m *caller) found(t target, raw []byte, failed bool) error {
	path := m.c.String("get")
	v := gjson.GetBytes(raw, path)
	switch {
	case v.Exists() && v.Type == gjson.String && m.out != "json":
		return m.foreign(v.Str)
	case v.Exists():
		return m.json([]byte(v.Raw))
	}
	e := &cmdmain.Error{Err: fmt.Errorf("nothing is at %s in the result of %s", path, t), Exit: cmdmain.Failed}
	if failed {
		e.Err, e.Word, e.Exit = fmt.Errorf("%s reported an error", t), string(call.ToolError), cmdmain.ToolError
		for _, block := range member(gjson.ParseBytes(raw), "content").Array() {
			if text := textOf(block); text.Exists() {
				e.Err = fmt.Errorf("%w: %s", e.Err, text.String())
				break
			}
		}
	}
	return e
}

// text prints text blocks as they are, structured content where there is no
// text, and names on standard error what else there is.
func (m *caller) text(t target, result gjson.Result) error {
	printed := false
	for _, block := range blocks(t, result) {
		text := textOf(block)
		switch {
		case !text.Exists():
			m.env.Sayf("not shown: %s; -o json has it", describe(block))
		case text.String() != "":
			printed = true
			if err := m.foreign(text.String()); err != nil {
				return err
			}
		}
	}
	if kind := member(result, "resultType"); kind.Exists() && kind.String() != "complete" {
		m.env.Sayf("the result is not complete but %s; -o json has it", kind.String())
	}
	if structured := member(result, "structuredContent"); structured.Exists() && !printed {
		return m.json([]byte(structured.Raw))
	}
	return nil
}

// blocks are the pieces of a result that may be text.
func blocks(t target, result gjson.Result) (list []gjson.Result) {
	switch t.method {
	case readResource:
		return member(result, "contents").Array()
	case getPrompt:
		for _, message := range member(result, "messages").Array() {
			list = append(list, member(message, "content"))
		}
		return list
	}
	return member(result, "content").Array()
}

// textOf is the text of a block that is text, or a resource whose text came along.
func textOf(block gjson.Result) gjson.Result {
	if kind := member(block, "type"); !kind.Exists() && member(block, "uri").Exists() { // of a resource that was read
		return member(block, "text")
	}
	switch member(block, "type").String() {
	case "text":
		return member(block, "text")
	case "resource":
		return member(member(block, "resource"), "text")
	}
	return gjson.Result{}
}

// describe is a few words for a block that is not text.
func describe(block gjson.Result) string {
	words := member(block, "type").String()
	data := member(block, "data").String()
	switch {
	case words != "":
	case member(block, "uri").Exists():
		words, data = "resource", member(block, "blob").String()
	default:
		words = "a block without a type"
	}
	if inner := member(block, "resource"); inner.IsObject() {
		block, data = inner, member(inner, "blob").String()
	}
	for _, name := range []string{"uri", "mimeType"} {
		if text := member(block, name).String(); text != "" {
			words += " " + text
		}
	}
	if data != "" {
		words += fmt.Sprintf(", %d bytes of base64", len(data))
	}
	return words
}

// foreign prints text that came from a server: as it is into a pipe, harmless on
// a terminal (S4). It always ends with a newline.
func (m *caller) foreign(text string) error {
	if m.env.IsTerminal(m.env.Stdout) {
		text = cmdmain.PrintableText(text)
	}
	return m.line([]byte(text))
}

// json prints JSON that came from a server, on a terminal with escapes for what
// could act there.
func (m *caller) json(raw []byte) error {
	if m.env.IsTerminal(m.env.Stdout) {
		raw = cmdmain.PrintableJSON(raw)
	}
	return m.line(raw)
}

// line writes text and ends it with a newline. It waits as long as its reader
// wants, but not after an interrupt.
func (m *caller) line(text []byte) error {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	done := make(chan error, 1)
	go func() { // ends with its write, or with the process
		_, err := m.env.Stdout.Write(text)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-m.env.Ctx.Done():
		return &cmdmain.Error{Err: errors.New("interrupted while the result was written"), Word: string(call.Cancelled), Exit: cmdmain.Interrupted}
	}
}
