package call

import (
	"fmt"
	"slices"
	"strings"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/policy"
	"postern/pkg/wire"
)

// The methods that walk the line besides those that are not known here.
const (
	methodTool        = "tools/call"
	methodPrompt      = "prompts/get"
	methodRead        = "resources/read"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodComplete    = "completion/complete"
	methodTaskGet     = "tasks/get"
	methodTaskResult  = "tasks/result"
	methodTaskCancel  = "tasks/cancel"
	methodTaskUpdate  = "tasks/update"
	methodTaskList    = "tasks/list"
)

// The `via` of rows that are no tool calls.
const (
	ViaResource   = "resource"
	ViaPrompt     = "prompt"
	ViaCompletion = "completion"
	ViaTask       = "task"
	ViaMethod     = "method"
)

// method is what the steps need to know of a method. It never changes.
type method struct {
	name   string
	via    string      // of its rows; "" is the session's
	kind   policy.Kind // of what it is about
	member string      // of params, that says what it is about; "" = none
	word   Word        // there is no such thing
	asks   bool        // a person may be asked whether it is allowed, and by its server what is missing
	find   func(*Call) // sets server, name and what is known of it
	// lists reports whether a server that runs still has what was found; nil = it is
	// not in any list.
	lists func(*Call, *catalog.Catalog) bool
}

// methodOf is what there is to know of a method; "" is tools/call.
func methodOf(name string) method {
	switch name {
	case "", methodTool:
		return method{methodTool, "", policy.ToolKind, "name", UnknownTool, true, (*Call).findTool, nil}
	case methodPrompt:
		return method{name, ViaPrompt, policy.PromptKind, "name", UnknownPrompt, true, (*Call).findPrompt, (*Call).listsPrompt}
	case methodRead:
		return method{name, ViaResource, policy.ResourceKind, "uri", UnknownResource, true, (*Call).findResource, (*Call).listsResource}
	case methodSubscribe:
		return method{name, ViaResource, policy.ResourceKind, "uri", UnknownResource, false, (*Call).findResource, (*Call).listsResource}
	case methodUnsubscribe:
		return method{name, ViaResource, policy.ResourceKind, "uri", UnknownResource, false, (*Call).findSubscribed, nil}
	case methodComplete:
		return method{name, ViaCompletion, policy.PromptKind, "ref", UnknownPrompt, false, (*Call).findReference, (*Call).listsReference}
	case methodTaskGet, methodTaskResult, methodTaskCancel, methodTaskUpdate:
		return method{name, ViaTask, policy.ToolKind, "taskId", UnknownTask, true, (*Call).findTask, nil}
	case methodTaskList:
		return method{name, ViaTask, policy.MethodKind, "", UnknownMethod, false, (*Call).findSole, nil}
	}
	return method{name, ViaMethod, policy.MethodKind, "", UnknownMethod, true, (*Call).findSole, nil}
}

// subject reads what params say that the request is about, for a request that
// does not say it otherwise. A problem is a mistake of the caller's. A URI is as
// long as one that is listed at most: it is compared, logged and kept.
func (c *Call) subject() (problem string) {
	if problem = c.readSubject(); problem == "" && c.method.kind == policy.ResourceKind && len(c.Exposed) > config.MaxURIBytes {
		problem = fmt.Sprintf("the URI has %d bytes, at most %d are carried", len(c.Exposed), config.MaxURIBytes)
		c.Exposed = ""
	}
	return problem
}

func (c *Call) readSubject() (problem string) {
	known := c.Exposed != "" && c.method.name != methodComplete
	if c.method.name == methodTool || c.method.member == "" || known {
		return ""
	}
	var at [1]wire.Span
	if len(c.Params) > 0 {
		_ = wire.Lookup(c.Params, []string{c.method.member}, at[:]) // it was looked at before
	}
	if c.method.name == methodComplete {
		return c.reference(at[0].Of(c.Params))
	}
	text, err := wire.Unquote(at[0].Of(c.Params))
	if err != nil || text == "" {
		return c.method.name + " needs params." + c.method.member + ", a string"
	}
	c.Exposed = text
	return ""
}

// reference reads the ref of a completion.
func (c *Call) reference(ref []byte) (problem string) {
	problem = `completion/complete needs params.ref, with type "ref/prompt" and a name, or "ref/resource" and a uri`
	var at [3]wire.Span
	if !wire.IsObject(ref) {
		return problem
	}
	if err := wire.Lookup(ref, []string{"type", "name", "uri"}, at[:]); err != nil {
		return "params.ref: " + err.Error()
	}
	named := at[1]
	switch kind, _ := wire.Unquote(at[0].Of(ref)); kind {
	case "ref/prompt":
	case "ref/resource":
		c.method.kind, c.method.word, named = policy.ResourceKind, UnknownResource, at[2]
	default:
		return problem
	}
	text, err := wire.Unquote(named.Of(ref))
	if err != nil || text == "" {
		return problem
	}
	c.Exposed = text
	return ""
}

// notificationPrefix begins the method of every notification.
const notificationPrefix = "notifications/"

// disguised reports whether a server could take a method that is not known here
// for one that is, which would then not have been judged as what it is: with
// capitals or spaces, or a request that is a notification by its name. Of
// notifications it is asked about what is behind their prefix. One that is longer
// than any name is none either: patterns are compared with it.
func disguised(method string) bool {
	plain := strings.ToLower(strings.TrimSpace(method))
	if strings.HasPrefix(plain, notificationPrefix) || len(method) > config.MaxToolName {
		return true
	}
	return slices.ContainsFunc([]string{
		methodTool, methodPrompt, methodRead, methodSubscribe, methodUnsubscribe, methodComplete,
		methodTaskGet, methodTaskResult, methodTaskCancel, methodTaskUpdate, methodTaskList,
		"tools/list", "prompts/list", "resources/list", "resources/templates/list",
		"initialize", "ping", "logging/setlevel", "server/discover", "subscriptions/listen",
		"cancelled", "progress", "initialized", "roots/list_changed",
	}, func(known string) bool { return known == plain })
}
