package cmdmain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// helpWidth is where lines of flags and verbs are broken.
const helpWidth = 88

// writeHelp prints the help of the program or of the verb at path.
func writeHelp(w io.Writer, app *cli.App, path []string) error {
	cmd := &cli.Command{
		Usage: app.Usage, UsageText: app.UsageText, ArgsUsage: app.ArgsUsage,
		Description: app.Description, Flags: app.Flags, Subcommands: app.Commands,
	}
	name := app.Name
	var inherited []cli.Flag
	for _, step := range path {
		inherited = append(inherited, cmd.Flags...)
		cmd = cmd.Command(step)
		name += " " + step
	}
	inherited = slices.DeleteFunc(inherited, func(f cli.Flag) bool { // or the verb has its own of that name
		return ownFlag(f) || slices.ContainsFunc(cmd.Flags, func(own cli.Flag) bool { return own.Names()[0] == f.Names()[0] })
	})
	_, err := io.WriteString(w, helpText(name, cmd, inherited, len(path) == 0))
	return err
}

func helpText(name string, cmd *cli.Command, inherited []cli.Flag, root bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nusage:\n%s", name, cmd.Usage, indent(usage(name, cmd)))
	if cmd.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(cmd.Description))
	}
	section(&b, "commands", verbRows(cmd))
	section(&b, "options", flagRows(cmd.Flags))
	section(&b, "options of every command", flagRows(inherited))
	if root {
		section(&b, "always there", [][2]string{
			{"-h, --help", "this text, or that of the command before it"},
			{"--version", "version, commit, Go version, protocol revisions"},
		})
		section(&b, "exit codes", exitRows())
	}
	return b.String()
}

// usage is the line the command gave itself, or one made of its parts.
func usage(name string, cmd *cli.Command) string {
	if cmd.UsageText != "" {
		return strings.TrimSpace(cmd.UsageText)
	}
	line := name
	if len(cmd.Subcommands) > 0 {
		line += " COMMAND"
	}
	if len(flagRows(cmd.Flags)) > 0 {
		line += " [OPTIONS]"
	}
	if cmd.ArgsUsage != "" {
		line += " " + cmd.ArgsUsage
	}
	return line
}

func verbRows(cmd *cli.Command) [][2]string {
	var rows [][2]string
	for _, v := range cmd.Subcommands {
		if !v.Hidden {
			rows = append(rows, [2]string{strings.TrimSpace(v.Name + " " + v.ArgsUsage), v.Usage})
		}
	}
	return rows
}

func flagRows(flags []cli.Flag) [][2]string {
	var rows [][2]string
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if v, isVisible := f.(cli.VisibleFlag); !ok || isVisible && !v.IsVisible() {
			continue
		}
		rows = append(rows, flagRow(f.Names(), doc))
	}
	return rows
}

func flagRow(names []string, doc cli.DocGenerationFlag) [2]string {
	left := make([]string, 0, len(names))
	for i := len(names) - 1; i >= 0; i-- { // short forms first
		left = append(left, dashes(names[i]))
	}
	value, text := placeholder(doc.GetUsage())
	row := [2]string{strings.Join(left, ", "), text}
	if doc.TakesValue() {
		row[0] += " " + value
		switch d := doc.GetDefaultText(); d {
		case "", "0", "0s": // unset, and not worth a word
		default:
			row[1] += " (default " + strings.Trim(d, `"`) + ")"
		}
	}
	return row
}

// placeholder takes the word between backquotes out of a usage text.
func placeholder(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	word, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return "VALUE", usage
	}
	return word, before + word + after
}

func exitRows() [][2]string {
	rows := make([][2]string, len(exits))
	for i, e := range exits {
		rows[i] = [2]string{fmt.Sprint(int(e.code)), e.meaning}
	}
	return rows
}

// section prints rows in two columns, wrapping the right one.
func section(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= 28 {
			width = max(width, n)
		}
	}
	for _, r := range rows {
		left := r[0]
		if pad := width - utf8.RuneCountInString(left); pad >= 0 {
			left += strings.Repeat(" ", pad)
		} else if r[1] != "" {
			fmt.Fprintf(b, "  %s\n", left)
			left = strings.Repeat(" ", width)
		}
		for i, line := range wrap(r[1], helpWidth-width-4) {
			if i > 0 {
				left = strings.Repeat(" ", width)
			}
			fmt.Fprintln(b, strings.TrimRight("  "+left+"  "+line, " "))
		}
	}
}

// wrap breaks text at blanks into lines of at most width characters; a longer
// word stays whole. There is always one line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
