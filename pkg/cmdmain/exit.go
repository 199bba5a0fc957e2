package cmdmain

// Exit is the code a command ends with. Codes are ordered: a batch ends with
// the greatest that occurred in it.
type Exit int

// The codes, the same for every command.
const (
	Done        Exit = 0
	Failed      Exit = 1
	Usage       Exit = 2
	NotTrusted  Exit = 3
	Denied      Exit = 4
	ToolError   Exit = 5
	Unavailable Exit = 6
	Timeout     Exit = 7
	Interrupted Exit = 130
)

// exits is the table that --help prints; its order is the order shown. word is
// what a JSON failure says when the error itself brings no better one.
var exits = [...]struct {
	code          Exit
	word, meaning string
}{
	{Done, "", "done"},
	{Failed, "failed", "failed"},
	{Usage, "usage", "usage, unknown tool or server, invalid arguments"},
	{NotTrusted, "not_trusted", "not trusted, not signed in, unauthorized"},
	{Denied, "denied", "denied: policy, supply chain, sandbox, approval required"},
	{ToolError, "tool_error", "the tool reported an error"},
	{Unavailable, "unavailable", "unavailable, circuit open, overload"},
	{Timeout, "timeout", "timeout"},
	{Interrupted, "interrupted", "interrupted or cancelled"},
}

func (e Exit) word() string {
	for _, row := range exits {
		if row.code == e {
			return row.word
		}
	}
	return "failed"
}
