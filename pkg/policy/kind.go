package policy

import (
	"strings"

	"postern/pkg/config"
)

// Kind says what is decided about besides tools. Each kind has patterns of its
// own, so that a rule about tools neither opens nor closes a resource (R53).
type Kind uint8

// The kinds. The zero Kind is a tool.
const (
	// ToolKind is a tool; its tier is found by TierOf.
	ToolKind Kind = iota
	// ResourceKind is a resource or a template: Name is the server's own URI.
	ResourceKind
	// PromptKind is a prompt: Name is what the server calls it.
	PromptKind
	// MethodKind is a method of the protocol that nothing here knows: Name is the
	// method. It may do anything, so its tier is execute, and whatever pattern
	// would cover a tool of that name covers it.
	MethodKind
)

// tierOfKind is the tier of what is no tool; ok is false for a tool. A kind
// that does not exist gets the tier that hardly anybody has.
func tierOfKind(k Kind) (tier config.Tier, ok bool) {
	switch k {
	case ToolKind:
		return "", false
	case ResourceKind, PromptKind:
		return config.TierRead, true
	case MethodKind:
		return config.TierExecute, true
	}
	return config.TierAdmin, true
}

// callable reports whether patterns on tools speak of this kind.
func (k Kind) callable() bool { return k == ToolKind || k == MethodKind }

// KindOf tells by the prefix of a pattern which kind it is on, and gives the
// rest of it: SERVER/URI of resource:, SERVER/NAME of prompt:, the whole of
// any other, which is on tools.
func KindOf(pattern string) (Kind, string) {
	if rest, ok := strings.CutPrefix(pattern, "resource:"); ok {
		return ResourceKind, rest
	}
	if rest, ok := strings.CutPrefix(pattern, "prompt:"); ok {
		return PromptKind, rest
	}
	return ToolKind, pattern
}
