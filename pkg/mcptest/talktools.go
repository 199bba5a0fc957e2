package mcptest

import (
	"strconv"
	"time"

	"postern/pkg/wire"
)

// The tools in which the server speaks first.

func (c call) change() {
	for key, list := range map[string]string{"tools": toolsList, "prompts": promptsList, "resources": resourcesList, "templates": templatesList} {
		raw := member(c.args, key)
		if raw == nil {
			continue
		}
		items, err := elements(raw)
		if err != nil {
			c.text(err.Error())
			return
		}
		if items == nil {
			items = [][]byte{}
		}
		c.s.mu.Lock()
		c.s.lists[list] = items
		c.s.mu.Unlock()
		if !flagged(c.args, "silent") {
			c.s.changed(list)
		}
	}
	c.text("done")
}

func (c call) update() {
	c.s.updated(text(c.args, "uri"))
	c.text("done")
}

func (c call) log() {
	level := text(c.args, "level")
	if c.s.logged(c.m, level) {
		params := `{"level":` + string(wire.Quote(level)) + `,"data":` + orNull(member(c.args, "data")) + `}`
		c.s.out.line(wire.NotificationLine("notifications/message", []byte(params)))
	}
	c.text("done")
}

// needURL refuses with the error that names addresses to visit first.
func (c call) needURL() {
	url := wire.Quote(text(c.args, "url"))
	id := wire.Quote(text(c.args, "elicitationId"))
	data := `{"elicitations":[{"mode":"url","elicitationId":` + string(id) + `,"url":` + string(url) + `,"message":"Please visit."}]}`
	c.s.out.line(wire.ErrorLine(c.m.IDBytes(), &wire.RPCError{Code: codeNeedURL, Message: "visit first", Data: []byte(data)}))
}

const codeNeedURL = -32042

func (c call) unlisten() {
	c.s.endListens()
	c.text("done")
}

// ask asks the client and answers with its answer.
func (c call) ask() {
	answer := make(chan []byte, 1)
	c.s.mu.Lock()
	c.s.nextID++
	id := []byte(`"fake-` + strconv.Itoa(c.s.nextID) + `"`)
	c.s.asked[wire.IDKey(id)] = answer
	c.s.open = id
	c.s.mu.Unlock()
	line := wire.RequestLine(id, text(c.args, "method"), member(c.args, "params"))
	if flagged(c.args, "after") {
		c.text("done")
		c.s.out.line(line)
		return
	}
	c.s.out.line(line)
	select {
	case line := <-answer:
		c.structured(line)
	case <-time.After(Bound):
		c.text("no answer")
	case <-c.cancelled:
	}
}

// unask cancels the newest question, which then has no answer.
func (c call) unask() {
	c.s.mu.Lock()
	id := c.s.open
	answer := c.s.asked[wire.IDKey(id)]
	delete(c.s.asked, wire.IDKey(id))
	c.s.mu.Unlock()
	if answer == nil {
		c.text("nothing is asked")
		return
	}
	params := `{"requestId":` + string(id) + `,"reason":` + string(wire.Quote(text(c.args, "reason"))) + `}`
	c.s.out.line(wire.NotificationLine("notifications/cancelled", []byte(params)))
	answer <- []byte(`{"cancelled":true}`)
	c.text("done")
}
