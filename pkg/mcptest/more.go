package mcptest

// moreBehaviours are the tools that are listed with -more only, in order; the
// others can be counted on to be as many as ever.
func moreBehaviours() []behaviour {
	return []behaviour{
		{"update", call.update}, {"log", call.log}, {"rounds", call.rounds}, {"task", call.modernTask}, {"finish", call.finish},
		{"needurl", call.needURL}, {"unask", call.unask}, {"unlisten", call.unlisten},
	}
}

// moreLists are the lists of -more.
func moreLists() map[string][][]byte {
	tools := builtinTools()
	for _, b := range moreBehaviours() {
		tools = append(tools, b.listed())
	}
	return map[string][][]byte{
		toolsList: tools,
		promptsList: items(`{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}`,
			`{"name":"rounds","description":"Asks first."}`),
		resourcesList: items(`{"uri":"fake://text","name":"text","mimeType":"text/plain"}`,
			`{"uri":"fake://blob","name":"blob","mimeType":"application/octet-stream"}`, `{"uri":"fake://rounds","name":"rounds"}`),
		templatesList: items(`{"uriTemplate":"fake://big/{bytes}","name":"big"}`, `{"uriTemplate":"fake://item/{id}","name":"item"}`),
	}
}

func items(texts ...string) (out [][]byte) {
	for _, t := range texts {
		out = append(out, []byte(t))
	}
	return out
}

func moreCapabilities(era string) string {
	const caps = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{},`
	if era == "modern" {
		return caps + `"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	return caps + `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
}
