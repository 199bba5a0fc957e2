package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// print writes the answer: the product to standard output, a failure as the
// command's error.
func (m *caller) print(c *cli.Context, a call.Answer, out string) error {
	if a.Refusal != nil {
		return cmdmain.Failure(a.Refusal)
	}
	if out == "raw" {
		if err := m.line(a.Reply.Raw); err != nil {
			return err
		}
	}
	if a.Reply.Error.Ok() {
		return serverError(a)
	}
	result := a.Result
	if result == nil {
		result = a.Reply.ResultBytes()
	}
	failed := gjson.GetBytes(result, "isError").Type == gjson.True
	if err := m.product(c, result, out); err != nil {
		return err
	}
	if failed {
		return &cmdmain.Error{Word: string(call.ToolError), Exit: cmdmain.ToolError}
	}
	return nil
}

func (m *caller) product(c *cli.Context, result []byte, out string) error {
	if path := c.String("get"); path != "" {
		found := gjson.GetBytes(result, path)
		if !found.Exists() {
			return &cmdmain.Error{Err: fmt.Errorf("nothing at %s in the result", path), Exit: cmdmain.Failed}
		}
		if found.Type == gjson.String && out != "json" {
			return m.foreign([]byte(found.Str))
		}
		return m.foreign([]byte(found.Raw))
	}
	switch out {
	case "raw":
		return nil
	case "json":
		return m.line(result)
	}
	return m.text(result)
}

// text prints text blocks as they are, structured content where there is no
// text, and one line for what a terminal cannot show.
func (m *caller) text(result []byte) error {
	printed := false
	for _, block := range gjson.GetBytes(result, "content").Array() {
		var err error
		switch block.Get("type").String() {
		case "text":
			err = m.foreign([]byte(block.Get("text").String()))
		default:
			err = m.foreign([]byte(describe(block)))
		}
		if err != nil {
			return err
		}
		printed = true
	}
	if structured := gjson.GetBytes(result, "structuredContent"); !printed && structured.Exists() {
		return m.foreign([]byte(structured.Raw))
	}
	return nil
}

// describe is one line for a block that is not text.
func describe(block gjson.Result) string {
	kind := block.Get("type").String()
	switch {
	case block.Get("data").Exists():
		return fmt.Sprintf("[%s %s, %d bytes of base64; -o json has it]", kind, block.Get("mimeType").String(), len(block.Get("data").String()))
	case block.Get("uri").Exists():
		return fmt.Sprintf("[%s %s]", kind, block.Get("uri").String())
	case block.Get("resource.text").Exists():
		return block.Get("resource.text").String()
	default:
		return fmt.Sprintf("[%s]", kind)
	}
}

// foreign prints text that came from a server: as it is into a pipe, cleaned
// on a terminal (S4). It always ends with a newline.
func (m *caller) foreign(text []byte) error {
	if m.env.IsTerminal(m.env.Stdout) {
		text = []byte(printableLines(string(text)))
	}
	return m.line(text)
}

func (m *caller) line(text []byte) error {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	_, err := m.env.Stdout.Write(text)
	return err
}

// serverError is the JSON-RPC error of the server as this command's failure.
func serverError(a call.Answer) error {
	e, err := wire.ParseRPCError(a.Reply.ErrorBytes())
	if err != nil {
		return err
	}
	word, exit := string(call.UpstreamError), cmdmain.ToolError
	if e.Code == wire.CodeInvalidParams {
		word, exit = string(call.InvalidArguments), cmdmain.Usage
	}
	failure := &cmdmain.Error{Err: errors.New(a.Tool.Server.Declared.ID + ": " + e.Message), Word: word, Exit: exit}
	if exit == cmdmain.Usage {
		failure.Hints = []string{fmt.Sprintf("mcp-call %s %s --help", a.Tool.Server.Declared.ID, a.Tool.Def.Name)}
	}
	return failure
}

// progress shows one notifications/progress on standard error.
func (m *caller) progress(params []byte) {
	var p struct {
		Progress json.Number `json:"progress"`
		Total    json.Number `json:"total"`
		Message  string      `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	text := p.Progress.String()
	if p.Total != "" {
		text += "/" + p.Total.String()
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	m.env.Sayf("%s", text)
}

// withProgress asks the server for progress.
func withProgress(params []byte) []byte {
	return wire.InsertMember(params, "_meta", []byte(`{"progressToken":1}`))
}
