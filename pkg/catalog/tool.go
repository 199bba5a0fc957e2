package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// Tool is one tool definition and what the gateway reads of it. Slices share
// memory with the catalog and are not to be changed.
type Tool struct {
	Name     string // the server's own
	Raw      []byte // the definition as sent
	Repaired bool   // WithName mends the input schema (C72)
	// ReadOnly means that the annotations say readOnlyHint:true. It is a claim of
	// the server (R51); whoever decided by a recorded one decides again once the
	// running server has shown its list (R40).
	ReadOnly bool
	// TaskOnly means that execution says taskSupport:"required": in the era that
	// has that, nobody can call it but as a task.
	TaskOnly    bool
	Title       string // "" when there is none that can be read
	Description string

	InputSchema  []byte // as shown, that is after the repair
	OutputSchema []byte // as sent; nil when there is none

	name, description wire.Span
	repair            wire.Edit
	last              *atomic.Pointer[shown]
}

var errName = errors.New("it has no name")

// Of these members a definition may have one each, spelled like this: an agent
// that takes another of two must not see another tool than the one decided on.
const (
	atName = iota
	atTitle
	atDescription
	atInput
	atOutput
	atAnnotations
	atExecution
	toolMembers
)

// parseTool reads a definition. With an error the Tool holds the name alone, if
// that much was readable.
func parseTool(raw []byte) (Tool, error) {
	names := [toolMembers]string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"}
	var at [toolMembers]wire.Span
	if err := wire.Lookup(raw, names[:], at[:]); err != nil {
		return Tool{Name: nameOf(raw)}, err
	}
	name, err := toolName(at[atName].Of(raw))
	if err != nil {
		return Tool{}, err
	}
	t := Tool{
		Name: name, Raw: raw, name: at[atName], description: at[atDescription],
		Description: lenient(at[atDescription].Of(raw)), Title: lenient(at[atTitle].Of(raw)),
		OutputSchema: at[atOutput].Of(raw), last: new(atomic.Pointer[shown]),
	}
	for _, schema := range []wire.Span{at[atInput], at[atOutput]} {
		if n := schema.End - schema.Start; n > config.MaxSchemaBytes {
			return Tool{Name: name}, fmt.Errorf("a schema of %d bytes, at most %d are carried", n, config.MaxSchemaBytes)
		}
	}
	if err := t.readSchema(at[atInput]); err != nil {
		return Tool{Name: name}, err
	}
	t.readAnnotations(at[atAnnotations].Of(raw))
	t.readExecution(at[atExecution].Of(raw))
	return t, nil
}

// nameOf is the name in a definition that is refused for another reason.
func nameOf(raw []byte) string {
	var at [1]wire.Span
	if wire.Lookup(raw, []string{"name"}, at[:]) != nil {
		return ""
	}
	name, _ := toolName(at[0].Of(raw))
	return name
}

// toolName is a name that can be routed, logged and shown: control characters
// would make it look like another one.
func toolName(raw []byte) (string, error) {
	name, err := text(raw, "name")
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", errName
	case len(name) > config.MaxToolName:
		return "", fmt.Errorf("its name has %d bytes, at most %d are carried", len(name), config.MaxToolName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", errors.New("its name has control characters")
	}
	return name, nil
}

// text is the value of a member that has to be a string.
func text(raw []byte, member string) (string, error) {
	if len(raw) == 0 {
		return "", fmt.Errorf("it has no %s", member)
	}
	s, err := wire.Unquote(raw)
	if err != nil {
		return "", fmt.Errorf("its %s is no string", member)
	}
	return s, nil
}

// lenient is text for members that are only shown: null and other types are
// common and harm nobody.
func lenient(raw []byte) string {
	s, _ := text(raw, "")
	return s
}

// clip shortens a foreign name for a message.
func clip(s string) string {
	if len(s) <= config.MaxToolName {
		return s
	}
	n := config.MaxToolName
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func (t *Tool) readAnnotations(raw []byte) {
	var at [2]wire.Span
	if len(raw) == 0 || wire.Lookup(raw, []string{"readOnlyHint", "title"}, at[:]) != nil {
		return
	}
	t.ReadOnly = string(at[0].Of(raw)) == "true"
	if t.Title == "" {
		t.Title = lenient(at[1].Of(raw))
	}
}

func (t *Tool) readExecution(raw []byte) {
	var at [1]wire.Span
	if len(raw) == 0 || wire.Lookup(raw, []string{"taskSupport"}, at[:]) != nil {
		return
	}
	t.TaskOnly = lenient(at[0].Of(raw)) == "required"
}

// Digest is "sha256:" and the hash of the whole definition as sent, in canonical
// form: order of members, white space and spelling of numbers do not change it,
// anything else does (C53). A definition without a canonical form (a member of
// its schema stands twice, say) is hashed as it is.
func (t *Tool) Digest() string {
	data, err := wire.Canonical(t.Raw)
	if err != nil {
		data = t.Raw
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
