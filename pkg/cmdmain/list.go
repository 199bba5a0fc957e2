package cmdmain

import (
	"bufio"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// tableSample is how many rows a table looks at before it fixes the widths of
// its columns; later rows stream, so that a long table needs no memory.
const tableSample = 200

// Output is the format asked for with -o and --json, "" when none was; anything
// but formats is a usage error.
func Output(c *cli.Context, formats ...string) (string, error) {
	format := c.String("output")
	if c.Bool("json") {
		if format != "" && format != "json" {
			return "", Usagef("--json and -o %s exclude each other", format)
		}
		format = "json"
	}
	if format == "" && !c.IsSet("output") {
		return "", nil
	}
	for _, f := range formats {
		if f == format {
			return f, nil
		}
	}
	return "", Usagef("-o wants %s, not %q", list(formats), format)
}

// ListFlags are the output flags of every command that prints a list.
func ListFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FORMAT`: table, json or jsonl"},
		&cli.BoolFlag{Name: "json", Usage: "the same as -o json"},
	}
}

// List prints rows: as a table on a terminal, else as JSON lines, or as
// ListFlags say. Not for concurrent use. Close flushes it.
type List struct {
	out     *bufio.Writer
	format  string
	shown   bool // on a terminal
	columns []string
	widths  []int
	held    [][]string // rows of a table before its widths are known
	rows    int
}

// List starts a list on standard output with the given column titles.
func (e *Env) List(c *cli.Context, columns ...string) (*List, error) {
	format, err := Output(c, "table", "json", "jsonl")
	if err != nil {
		return nil, err
	}
	terminal := e.IsTerminal(e.Stdout)
	if format == "" {
		format = "jsonl"
		if terminal {
			format = "table"
		}
	}
	return &List{out: bufio.NewWriterSize(e.Stdout, 64<<10), format: format, shown: terminal, columns: columns}, nil
}

// Table tells whether cells are shown; if not, Row needs none.
func (l *List) Table() bool { return l.format == "table" }

// Row adds one row. record is its JSON: a json.RawMessage is written as it is
// and must be one line, anything else is marshalled; on a terminal it passes
// PrintableJSON. cells are its columns in the table, shown through Printable.
func (l *List) Row(record any, cells ...string) error {
	if l.Table() {
		return l.tableRow(cells)
	}
	line, ok := record.(json.RawMessage)
	if !ok {
		marshalled, err := marshal(record)
		if err != nil {
			return err
		}
		line = marshalled[:len(marshalled)-1]
	}
	if l.shown {
		line = PrintableJSON(line)
	}
	if l.format == "json" {
		separator := ",\n"
		if l.rows == 0 {
			separator = "[\n"
		}
		_, _ = l.out.WriteString(separator) // a bufio.Writer repeats its first error
	}
	l.rows++
	_, err := l.out.Write(line)
	if l.format == "jsonl" {
		err = l.out.WriteByte('\n')
	}
	return err
}

func (l *List) tableRow(cells []string) error {
	shown := make([]string, len(cells))
	for i, c := range cells {
		shown[i] = Printable(c)
	}
	l.rows++
	if l.widths == nil && len(l.held) < tableSample {
		l.held = append(l.held, shown)
		return nil
	}
	if err := l.release(); err != nil {
		return err
	}
	return l.printRow(shown)
}

// release fixes the widths and prints the title and the rows held so far.
func (l *List) release() error {
	if l.widths != nil {
		return nil
	}
	l.widths = make([]int, len(l.columns))
	for _, row := range append([][]string{l.columns}, l.held...) {
		for i, cell := range row[:min(len(row), len(l.widths))] {
			l.widths[i] = max(l.widths[i], utf8.RuneCountInString(cell))
		}
	}
	rows := append([][]string{l.columns}, l.held...)
	l.held = nil
	for _, row := range rows {
		if err := l.printRow(row); err != nil {
			return err
		}
	}
	return nil
}

func (l *List) printRow(cells []string) error {
	var line strings.Builder
	for i, cell := range cells {
		line.WriteString(cell)
		if i < len(l.widths) {
			line.WriteString(strings.Repeat(" ", max(0, l.widths[i]-utf8.RuneCountInString(cell))+2))
		}
	}
	_, err := l.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return err
}

// Flush writes out what was added so far.
func (l *List) Flush() error {
	if l.Table() && l.rows > 0 {
		if err := l.release(); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

// Close ends the list and flushes it. An empty table prints nothing, an empty
// JSON list is [].
func (l *List) Close() error {
	if l.format == "json" {
		end := "\n]\n"
		if l.rows == 0 {
			end = "[]\n"
		}
		_, _ = l.out.WriteString(end)
	}
	return l.Flush()
}
