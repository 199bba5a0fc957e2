package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"postern/pkg/wire"
)

// encode writes the file's body. It is written by hand because encoding/json
// takes the white space out of raw values.
func (c *Catalog) encode() []byte {
	size := 4096 + len(c.Instructions)
	for _, list := range [][]json.RawMessage{c.Tools, c.Prompts, c.Resources, c.ResourceTemplates} {
		for _, item := range list {
			size += len(item) + 2
		}
	}
	b := make([]byte, 0, size)
	b = append(b, `{"v":1,"identity":`...)
	b = append(b, mustJSON(c.Identity)...)
	b = append(b, `,"at":`...)
	b = append(b, wire.Quote(c.At.Format(time.RFC3339Nano))...)
	b = append(b, `,"ttl_ms":`...)
	b = strconv.AppendInt(b, c.TTLMS, 10)
	b = appendRaw(append(b, `,"server_info":`...), c.ServerInfo)
	b = append(append(b, `,"protocol":`...), wire.Quote(c.Protocol)...)
	b = append(append(b, `,"era":`...), wire.Quote(c.Era)...)
	b = appendRaw(append(b, `,"capabilities":`...), c.Capabilities)
	b = append(append(b, `,"instructions":`...), wire.Quote(c.Instructions)...)
	b = strconv.AppendBool(append(b, `,"truncated":`...), c.Truncated)
	b = appendList(append(b, ",\n\"tools\":"...), c.Tools)
	b = appendList(append(b, ",\n\"prompts\":"...), c.Prompts)
	b = appendList(append(b, ",\n\"resources\":"...), c.Resources)
	b = appendList(append(b, ",\n\"resource_templates\":"...), c.ResourceTemplates)
	b = append(append(b, ",\n\"refused\":"...), mustJSON(append([]Refused{}, c.Refused...))...)
	if c.Noise > 0 {
		b = strconv.AppendUint(append(b, `,"noise":`...), c.Noise, 10)
	}
	return append(b, "}\n"...)
}

// mustJSON is for structs of strings, which always have a form in JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // a reader takes the file as malformed
	}
	return b
}

func appendRaw(b, raw []byte) []byte {
	if raw == nil {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

func appendList(b []byte, items []json.RawMessage) []byte {
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '\n'), item...)
	}
	return append(b, ']')
}

// errMalformed is all that is told of a file that is not as doc.go says: the
// answer is the same whatever is wrong (C71).
var errMalformed = errors.New("not a catalog of version 1")

const (
	inV = iota
	inIdentity
	inAt
	inTTL
	inServerInfo
	inProtocol
	inEra
	inCapabilities
	inInstructions
	inTruncated
	inTools
	inPrompts
	inResources
	inTemplates
	inRefused
	inNoise // the first that may be missing
	bodyMembers
)

// decode reads a file's body. The catalog shares memory with data. Every rule
// that Build applies to what a server sends holds for the file as well.
func decode(data []byte) (*Catalog, error) {
	names := [bodyMembers]string{"v", "identity", "at", "ttl_ms", "server_info", "protocol", "era", "capabilities",
		"instructions", "truncated", "tools", "prompts", "resources", "resource_templates", "refused", "noise"}
	var at [bodyMembers]wire.Span
	if err := wire.Lookup(data, names[:], at[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	for _, span := range at[:inNoise] {
		if !span.Ok() {
			return nil, errMalformed
		}
	}
	part := func(i int) []byte { return at[i].Of(data) }
	if string(part(inV)) != "1" {
		return nil, errMalformed
	}
	var raw Raw
	c, err := decodeHead(part, &raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	for i, list := range map[int]*[]json.RawMessage{
		inTools: &raw.Tools, inPrompts: &raw.Prompts, inResources: &raw.Resources, inTemplates: &raw.ResourceTemplates,
	} {
		if *list, err = elements(part(i)); err != nil {
			return nil, fmt.Errorf("%w: %w", errMalformed, err)
		}
	}
	refused := c.Refused
	long := raw.cut()
	if c.fill(raw); long || len(c.Refused) > 0 {
		return nil, errMalformed
	}
	c.Refused = refused
	return c, nil
}

func decodeHead(part func(int) []byte, raw *Raw) (*Catalog, error) {
	c := &Catalog{V: 1}
	err := errors.Join(
		json.Unmarshal(part(inIdentity), &c.Identity),
		json.Unmarshal(part(inAt), &c.At),
		json.Unmarshal(part(inTTL), &c.TTLMS),
		json.Unmarshal(part(inTruncated), &c.Truncated),
		json.Unmarshal(part(inRefused), &c.Refused),
	)
	if noise := part(inNoise); noise != nil {
		err = errors.Join(err, json.Unmarshal(noise, &c.Noise))
	}
	for i, text := range map[int]*string{inProtocol: &c.Protocol, inEra: &c.Era, inInstructions: &c.Instructions} {
		s, bad := wire.Unquote(part(i))
		*text, err = s, errors.Join(err, bad)
	}
	var bad error
	c.ServerInfo, bad = optional(part(inServerInfo))
	err = errors.Join(err, bad)
	c.Capabilities, bad = optional(part(inCapabilities))
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	return c, nil
}

func elements(list []byte) ([]json.RawMessage, error) {
	var out []json.RawMessage
	err := wire.EachElement(list, func(v wire.Span) bool {
		out = append(out, v.Of(list))
		return true
	})
	return out, err
}
