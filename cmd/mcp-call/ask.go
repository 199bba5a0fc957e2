package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"postern/pkg/cmdmain"
	"postern/pkg/wire"
)

// maxTyped is how long a line of a person may be.
const maxTyped = 64 << 10

// What a person does with a question.
const (
	decline = `{"action":"decline"}`
	cancel  = `{"action":"cancel"}`
)

// errNoMore says that nothing more will be typed: the person ended the input.
var errNoMore = errors.New("standard input has ended")

// elicit shows what a server wants to know, and is the result of the elicitation.
// Nothing is answered but what the person typed or, by an empty line, left at the
// default that was shown.
func (a *agent) elicit(ctx context.Context, params gjson.Result) (result string, err error) {
	a.begin()
	a.env.Sayf("%s%s", a.mark, member(params, "message").String())
	url := member(params, "mode").String() == "url"
	question := "answer? [y/N] "
	if url {
		a.env.Sayf("it wants you to visit %s", member(params, "url").String())
		question = "is that fine? nothing is opened by itself [y/N] "
	}
	typed, err := a.prompt(ctx, question)
	switch {
	case errors.Is(err, errNoMore):
		return cancel, nil
	case err != nil:
		return "", err
	case !agreed(typed):
		return decline, nil
	case url:
		return `{"action":"accept"}`, nil
	}
	content, err := a.fill(ctx, schemaOf([]byte(member(params, "requestedSchema").Raw)))
	if errors.Is(err, errNoMore) {
		return cancel, nil
	}
	return `{"action":"accept","content":` + content + `}`, err
}

func agreed(typed string) bool {
	typed = strings.ToLower(strings.TrimSpace(typed))
	return typed == "y" || typed == "yes"
}

// fill asks for one member of a form after the other.
func (a *agent) fill(ctx context.Context, form schema) (content string, err error) {
	required := map[string]bool{}
	var names []string
	for _, n := range form.flat() {
		for _, name := range member(n, "required").Array() {
			required[name.String()] = true
		}
		member(n, "properties").ForEach(func(key, _ gjson.Result) bool {
			names = append(names, key.String())
			return len(names) < maxSchemaSteps
		})
	}
	var members []string
	for _, name := range names {
		property, _ := form.property(name)
		value, err := a.field(ctx, name, property, required[name])
		if err != nil {
			return "", err
		}
		if value != "" {
			members = append(members, string(wire.Quote(name))+":"+value)
		}
	}
	return "{" + strings.Join(members, ",") + "}", nil
}

// field asks for one member until what is typed fits; "" leaves it out.
func (a *agent) field(ctx context.Context, name string, s schema, required bool) (value string, err error) {
	if text := about(s); text != "" {
		a.env.Sayf("%s: %s", name, text)
	}
	var fallback string
	for _, n := range s.nodes {
		if d := member(n, "default"); d.Exists() && d.Type != gjson.Null {
			fallback = d.Raw
		}
	}
	mark := ""
	if required {
		mark = ", required"
	}
	for {
		typed, err := a.prompt(ctx, fmt.Sprintf("%s (%s%s): ", name, s, mark))
		if err != nil {
			return "", err
		}
		if typed == "" && (fallback != "" || !required) {
			return string(wire.OneLine([]byte(fallback))), nil
		}
		if raw, ok := s.typed(typed); ok && typed != "" {
			return string(raw), nil
		}
		a.env.Sayf("%s takes %s", name, s)
	}
}

// typed writes what a person typed as what the schema takes here; the elements of
// an array stand between commas, unless it was written out.
func (s schema) typed(text string) ([]byte, bool) {
	v, ok := s.value(text)
	if !ok || !v.element {
		return v.raw, ok && s.offers(text)
	}
	var elements []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		e, ok := s.value(part)
		if !ok || !e.element || !s.items().offers(part) {
			return nil, false
		}
		elements = append(elements, string(e.raw))
	}
	return []byte("[" + strings.Join(elements, ",") + "]"), true
}

// begin starts to read what is typed. A line that came after the question which it
// answered had ended is no answer to the next one.
func (a *agent) begin() {
	if a.typed == nil {
		a.typed = make(chan string)
		go a.read() // ends with standard input, or with the process
	}
	for stale := true; stale; {
		select {
		case _, stale = <-a.typed:
		default:
			stale = false
		}
	}
}

// offers reports whether text is one of the values that are listed here, or none
// are: a person who mistyped one is asked again.
func (s schema) offers(text string) bool {
	for _, n := range s.flat() {
		if len(enumerated(n)) > 0 {
			return s.listed(text) != nil
		}
	}
	return true
}

// prompt asks for a line and waits for it.
func (a *agent) prompt(ctx context.Context, question string) (string, error) {
	_, _ = io.WriteString(a.env.Stderr, a.env.Name+": "+cmdmain.Printable(a.env.Clean(question))) // a terminal that is gone answers nothing
	select {
	case line, more := <-a.typed:
		if !more {
			return "", errNoMore
		}
		return line, nil
	case <-ctx.Done():
		_, _ = io.WriteString(a.env.Stderr, "\n")
		return "", context.Cause(ctx)
	}
}

// read hands on what is typed, line by line.
func (a *agent) read() {
	defer close(a.typed)
	lines := bufio.NewScanner(a.env.Stdin)
	lines.Buffer(nil, maxTyped)
	for lines.Scan() {
		a.typed <- strings.TrimSuffix(lines.Text(), "\r")
	}
}
