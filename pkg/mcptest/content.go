package mcptest

import (
	"encoding/base64"
	"strconv"
	"strings"

	"postern/pkg/wire"
)

const codeNoResource = -32002 // of the legacy era

// prompt answers prompts/get with the name and the arguments as they were sent.
func (s *server) prompt(m wire.Message) {
	name, args := text(m.ParamsBytes(), "name"), member(m.ParamsBytes(), "arguments")
	switch {
	case !s.has(promptsList):
		s.answer(m, echo(m.ParamsBytes()))
	case s.named(promptsList, "name", name) == nil:
		s.refuse(m, wire.CodeInvalidParams, "no prompt "+name)
	case text(args, "who") == "never":
	case name == "rounds" && s.round(m, number(args, "n", 1), nil):
	default:
		said := string(wire.Quote(name + " " + string(args)))
		s.answer(m, []byte(`{"description":"Prompt `+name+`.","messages":[{"role":"user","content":{"type":"text","text":`+said+`}}]}`))
	}
}

// resource answers resources/read: a blob for a listed mimeType
// application/octet-stream, else text.
func (s *server) resource(m wire.Message) {
	uri := text(m.ParamsBytes(), "uri")
	if !s.has(resourcesList) && !s.has(templatesList) {
		s.answer(m, echo(m.ParamsBytes()))
		return
	}
	item := s.named(resourcesList, "uri", uri)
	if item == nil && !s.templated(uri) {
		code := codeNoResource
		if isModern(m) {
			code = wire.CodeInvalidParams
		}
		s.out.line(wire.ErrorLine(m.IDBytes(), &wire.RPCError{Code: code, Message: "no resource " + uri, Data: []byte(`{"uri":` + string(wire.Quote(uri)) + `}`)}))
		return
	}
	if strings.HasSuffix(uri, "/never") || strings.HasSuffix(uri, "rounds") && s.round(m, 1, nil) {
		return
	}
	body := `"text":` + string(wire.Quote(content(uri)))
	mime := text(item, "mimeType")
	if mime == "application/octet-stream" {
		body = `"blob":"` + base64.StdEncoding.EncodeToString([]byte(content(uri))) + `"`
	}
	if mime != "" {
		body = `"mimeType":` + string(wire.Quote(mime)) + "," + body
	}
	cache := ""
	if isModern(m) {
		cache = `,"ttlMs":` + strconv.Itoa(s.o.ttl) + `,"cacheScope":"private"`
	}
	s.answer(m, []byte(`{"contents":[{"uri":`+string(wire.Quote(uri))+`,`+body+`}]`+cache+`}`))
}

// content is what a URI holds: itself, or as many bytes as one of big/N says.
func content(uri string) string {
	if _, n, ok := strings.Cut(uri, "big/"); ok {
		if n, err := strconv.Atoi(n); err == nil {
			return strings.Repeat("x", n)
		}
	}
	return "content of " + uri
}

// templated says whether a template begins as the URI does.
func (s *server) templated(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.lists[templatesList] {
		head, _, _ := strings.Cut(text(item, "uriTemplate"), "{")
		if strings.HasPrefix(uri, head) {
			return true
		}
	}
	return false
}

// complete answers with the reference and the argument that came.
func (s *server) complete(m wire.Message) {
	ref, arg := member(m.ParamsBytes(), "ref"), member(m.ParamsBytes(), "argument")
	if ref == nil || arg == nil {
		s.answer(m, echo(m.ParamsBytes()))
		return
	}
	values := string(wire.Quote(text(ref, "name")+text(ref, "uri"))) + "," + string(wire.Quote(text(arg, "name")+"="+text(arg, "value")))
	s.answer(m, []byte(`{"completion":{"values":[`+values+`],"total":2,"hasMore":false}}`))
}
