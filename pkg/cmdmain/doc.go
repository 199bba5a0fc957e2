// Package cmdmain is what the mains of all commands share: how arguments are
// read, where output goes, what a failure looks like and with which code a
// process ends. It is the only place that ends a process.
//
// A command is
//
//	func main() { cmdmain.Main("mcp-x", app) }
//
//	func app(env *cmdmain.Env) *cli.App { … }
//
// where app builds the flags, verbs and actions and nothing more. An action
// writes its product to env.Stdout, returns an error, and never exits by
// itself; deferred clean-up therefore always runs.
//
// What the rest of this package promises:
//
//   - Standard output carries the product only. A mistake prints nothing there.
//   - A failure is `mcp-x: message` on standard error, then `mcp-x: hint: …`
//     lines; with -o json or -o jsonl it is one line of JSON instead:
//     {"error":{"word":…,"message":…,"hint":…,"exit":…}}. Members are only
//     ever added to it.
//   - Flags may stand before or after arguments, and those of the program also
//     after a verb. A flag that wants a value takes the next argument whatever
//     it looks like, a number is never a flag, and -- ends the flags.
//   - The first interrupt cancels env.Ctx; a second one ends the process.
//   - A reader that closes our output early ends the command without a word.
//   - Text that comes from elsewhere reaches a terminal through Printable.
package cmdmain
