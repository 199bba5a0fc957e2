package cmdmain

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/config"
)

// commandLine is a command line in the order urfave/cli can read: at each
// level the flags, then the verb or `--` and the arguments.
type commandLine struct {
	args          []string // with the program's name
	path          []string // verbs
	positional    []string // arguments without the `--`
	json          bool     // -o json, -o jsonl or --json was given
	help, version bool
}

// level is one step of the command line: the program itself or a verb.
type level struct {
	name   string
	flags  []cli.Flag
	verbs  []*cli.Command
	sorted []string // flags seen, as --name=value
	seen   map[string]bool
}

// sorter walks the tokens once.
type sorter struct {
	levels  []*level
	before  []string // arguments before `--`
	after   []string
	dashed  bool
	line    commandLine
	problem error // the first mistake; the walk goes on to learn about -o and --help
}

// sortArgs puts flags before arguments, wherever they stood. The result is
// usable for help, version and -o also when there is an error.
func sortArgs(app *cli.App, args []string) (commandLine, error) {
	s := &sorter{levels: []*level{newLevel(app.Name, app.Flags, app.Commands)}}
	for rest := args; len(rest) > 0; {
		token := rest[0]
		rest = rest[1:]
		switch {
		case token == "--":
			s.after, s.dashed, rest = rest, true, nil
		case isFlag(token):
			rest = s.flag(token, rest)
		default:
			s.argument(token)
		}
	}
	s.required()
	return s.finish(), s.problem
}

func newLevel(name string, flags []cli.Flag, verbs []*cli.Command) *level {
	return &level{name: name, flags: flags, verbs: verbs, seen: map[string]bool{}}
}

// isFlag tells a flag from an argument; a number is an argument.
func isFlag(token string) bool {
	if len(token) < 2 || token[0] != '-' {
		return false
	}
	digits := strings.TrimPrefix(token[1:], ".")
	return digits == "" || digits[0] < '0' || digits[0] > '9'
}

func (s *sorter) fail(err error) {
	if s.problem == nil {
		s.problem = err
	}
}

// argument takes a verb where one can stand, and an argument elsewhere.
func (s *sorter) argument(token string) {
	here := s.levels[len(s.levels)-1]
	if len(s.before) == 0 {
		for _, v := range here.verbs {
			if v.HasName(token) {
				for _, f := range here.flags {
					if name := f.Names()[0]; ownFlag(f) && here.seen[name] {
						s.fail(Usagef("%s does not go with %s", dashes(name), v.Name))
					}
				}
				s.line.path = append(s.line.path, v.Name)
				s.levels = append(s.levels, newLevel(v.Name, v.Flags, v.Subcommands))
				return
			}
		}
	}
	s.before = append(s.before, token)
}

// flag takes one flag and its value, and returns what follows.
func (s *sorter) flag(token string, rest []string) []string {
	name, value, has := strings.Cut(strings.TrimPrefix(token[1:], "-"), "=")
	at, f := s.find(name)
	if f == nil {
		s.builtin(token, name)
		return rest
	}
	doc, ok := f.(cli.DocGenerationFlag)
	takes := !ok || doc.TakesValue()
	if takes && !has {
		if len(rest) == 0 {
			s.fail(Usagef("%s needs a value", token))
			return rest
		}
		value, rest = rest[0], rest[1:]
	}
	if !takes && !has {
		value = "true"
	}
	if want := wantedType(f, value); want != "" {
		s.fail(Usagef("%s wants %s, not %q", dashes(name), want, value))
	}
	canonical := f.Names()[0]
	at.seen[canonical] = true
	at.sorted = append(at.sorted, "--"+canonical+"="+value)
	s.noteOutput(canonical, value)
	return rest
}

// Own is the Category of a program's flag that is for the program called without
// a verb. Its other flags may stand with every verb.
const Own = "own"

func ownFlag(f cli.Flag) bool {
	c, ok := f.(cli.CategorizableFlag)
	return ok && c.GetCategory() == Own
}

// find looks for a flag at the present verb first, then outwards.
func (s *sorter) find(name string) (*level, cli.Flag) {
	for i, l := range slices.Backward(s.levels) {
		for _, f := range l.flags {
			if slices.Contains(f.Names(), name) && (i == len(s.levels)-1 || !ownFlag(f)) {
				return l, f
			}
		}
	}
	return nil, nil
}

// builtin handles the two flags every command has, and unknown ones.
func (s *sorter) builtin(token, name string) {
	switch token {
	case "--help", "-help", "-h":
		s.line.help = true
	case "--version", "-version":
		s.line.version = true
	default:
		var known []string
		for i, l := range s.levels {
			for _, f := range l.flags {
				if i == len(s.levels)-1 || !ownFlag(f) {
					known = append(known, f.Names()...)
				}
			}
		}
		s.fail(Usagef("unknown flag %s%s", dashes(name), didYouMean(name, known, dashes)))
	}
}

func (s *sorter) noteOutput(name, value string) {
	switch name {
	case "output":
		s.line.json = value == "json" || value == "jsonl"
	case "json":
		s.line.json = value == "true"
	}
}

// required stands in for urfave's own check, which prints to standard output.
func (s *sorter) required() {
	for _, l := range s.levels {
		for _, f := range l.flags {
			r, ok := f.(cli.RequiredFlag)
			if ok && r.IsRequired() && !l.seen[f.Names()[0]] {
				s.fail(Usagef("%s is needed", dashes(f.Names()[0])))
			}
		}
	}
}

func (s *sorter) finish() commandLine {
	line := s.line
	for _, l := range s.levels {
		line.args = append(append(line.args, l.name), l.sorted...)
	}
	line.args = append(append(line.args, "--"), s.before...)
	if s.dashed {
		line.args = append(append(line.args, "--"), s.after...)
	}
	line.positional = append(slices.Clone(s.before), s.after...)
	return line
}

// wantedType checks value against the type of the flag and names the type when
// it does not fit.
func wantedType(f cli.Flag, value string) string {
	var err error
	want := ""
	switch f.(type) {
	case *cli.BoolFlag:
		want = "true or false"
		_, err = strconv.ParseBool(value)
	case *cli.IntFlag, *cli.Int64Flag:
		want = "a whole number"
		_, err = strconv.ParseInt(value, 0, strconv.IntSize)
	case *cli.UintFlag, *cli.Uint64Flag:
		want = "a whole number that is not negative"
		_, err = strconv.ParseUint(value, 0, strconv.IntSize)
	case *cli.Float64Flag:
		want = "a number"
		_, err = strconv.ParseFloat(value, 64)
	case *cli.DurationFlag:
		want = "a duration such as 90s or 2m"
		_, err = time.ParseDuration(value)
	}
	if err == nil {
		return ""
	}
	return want
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func join(names []string) string { return strings.Join(names, ", ") }

// didYouMean is a half sentence that names the nearest known word as shown, or
// "" when none is near.
func didYouMean(word string, known []string, shown func(string) string) string {
	best := config.Nearest(word, known)
	if best == "" || best == word {
		return ""
	}
	return "; did you mean " + shown(best)
}

func plain(word string) string { return word }

// DidYouMean is a half sentence that names the known word nearest to word, to
// stand behind a message, or "" when none is near.
func DidYouMean(word string, known []string) string { return didYouMean(word, known, plain) }
