package gateway

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"postern/pkg/call"
	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// searching is one call of search_tools.
type searching struct {
	query, server string
	limit         int
	detail        bool
}

// searchTools finds tools by words, or lists them in the order of tools/list
// where there is no query. It answers from catalogs and starts nothing (R64).
func (s *session) searchTools(_ context.Context, v *call.View, raw []byte) []byte {
	q, problem := parseSearch(raw)
	if problem == "" && q.server != "" && !nameable(v, q.server) {
		problem = "there is no server " + strconv.Quote(clipped(q.server))
		if known := servers(v); known != "" {
			problem += "; there are " + known
		}
	}
	if problem != "" {
		return textResult(true, problem)
	}
	room := config.SearchBytes
	if limit := s.exposure(v).MaxResultBytes; limit > 0 {
		room = limit - config.ResultNoteBytes
	}
	return textResult(false, string(answerSearch(v, q, room)))
}

func parseSearch(raw []byte) (q searching, problem string) {
	at, problem := arguments("search_tools", raw, "query", "server", "limit", "detail")
	if problem != "" {
		return q, problem
	}
	if q.query, problem = stringArgument(raw, at[0], "query"); problem != "" {
		return q, problem
	}
	if q.server, problem = stringArgument(raw, at[1], "server"); problem != "" {
		return q, problem
	}
	if q.limit, problem = numberArgument(raw, at[2], "limit", 1, config.SearchLimit); problem != "" {
		return q, problem
	}
	q.limit = min(q.limit, config.MaxSearchLimit)
	detail, problem := stringArgument(raw, at[3], "detail")
	if problem == "" && detail != "" && detail != "full" {
		problem = `detail is "full" or left out`
	}
	q.detail = detail == "full"
	return q, problem
}

// answerSearch is the JSON of what was found, in about room bytes.
func answerSearch(v *call.View, q searching, room int) []byte {
	found := findTools(v, q)
	out := []byte(`{"tools":[`)
	shown := 0
	for _, t := range found[:min(q.limit, len(found))] {
		item := describe(t, q.detail, false)
		if room -= quotedSize(item) + 1; room < 0 && shown > 0 {
			break
		}
		if shown > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
		shown++
	}
	out = append(out, ']')
	if more := len(found) - shown; more > 0 {
		out = append(out, `,"more":`...)
		out = strconv.AppendInt(out, int64(more), 10)
	}
	if list := unsearched(v, q, len(found) == 0); len(list) > 0 {
		out = append(append(append(out, `,"servers":[`...), bytes.Join(list, []byte(","))...), ']')
	}
	return append(out, '}')
}

// findTools is what the session may see of what was asked for, best first.
func findTools(v *call.View, q searching) (found []*call.Tool) {
	var parts []catalog.Part
	var of []*call.Server
	for _, s := range v.Servers {
		if s.Catalog == nil || q.server != "" && s.Declared.ID != q.server {
			continue
		}
		p := catalog.Part{Names: make([]string, len(s.Tools))}
		for i, t := range s.Tools {
			if v.Shows(t) {
				p.Names[i] = t.Exposed
				if q.query == "" {
					found = append(found, t)
				}
			}
		}
		if q.query != "" {
			p.Index = s.Catalog.Index()
			parts, of = append(parts, p), append(of, s)
		}
	}
	for _, hit := range catalog.Search(parts, q.query) {
		found = append(found, of[hit.Part].Tools[hit.Tool])
	}
	return found
}

// describe is a tool as search_tools and describe_tool show it. Schemas are the
// bytes that the server sent; one that is too large for a list of tools is
// replaced by its size unless whole.
func describe(t *call.Tool, detail, whole bool) []byte {
	o := object{}
	o.text("name", t.Exposed)
	o.text("tier", string(t.Decision.Tier))
	o.text("provenance", string(t.Server.Provenance))
	if detail {
		o.optional("title", t.Def.Title)
		o.optional("description", t.Def.Description)
	} else {
		o.optional("about", oneLine(t.Def))
	}
	if n := len(t.Def.InputSchema) + len(t.Def.OutputSchema); !whole && n > config.MaxReturnedSchema {
		o.raw("schema_bytes", strconv.AppendInt(nil, int64(n), 10))
		return o.bytes()
	}
	o.raw("input_schema", t.Def.InputSchema)
	if detail && t.Def.OutputSchema != nil {
		o.raw("output_schema", t.Def.OutputSchema)
	}
	return o.bytes()
}

// oneLine is what a tool does, in one line.
func oneLine(t *catalog.Tool) string {
	text := t.Description
	if strings.TrimSpace(text) == "" {
		text = t.Title
	}
	return catalog.Shorten(strings.Join(strings.Fields(text), " "), config.SearchLineChars)
}

// unsearched names servers that cannot be searched, with what would change that
// and nothing else (R64): the one that was asked for, or all of them where
// nothing else was found or everything is listed.
func unsearched(v *call.View, q searching, nothing bool) (list [][]byte) {
	for _, s := range v.Servers {
		if q.server != "" && s.Declared.ID != q.server || q.server == "" && q.query != "" && !nothing {
			continue
		}
		status, remedy := standing(v, s)
		if status == "" {
			continue
		}
		o := object{}
		o.text("server", s.Declared.ID)
		o.text("status", status)
		o.optional("remedy", remedy)
		list = append(list, o.bytes())
	}
	return list
}

// nameable reports whether the session may hear of a server at all.
func nameable(v *call.View, id string) bool {
	s := v.Server(id)
	return s != nil && s.Declared.Enabled && v.Serves(s)
}

// servers are the ids that search_tools takes, for a message.
func servers(v *call.View) string {
	var ids []string
	for _, s := range v.Servers {
		if nameable(v, s.Declared.ID) {
			ids = append(ids, s.Declared.ID)
		}
	}
	return catalog.Shorten(strings.Join(ids, ", "), 1000)
}

// clipped shortens what a model wrote for a message.
func clipped(text string) string { return catalog.Shorten(text, 100) }

func quotedSize(json []byte) int { return len(wire.Quote(string(json))) }
