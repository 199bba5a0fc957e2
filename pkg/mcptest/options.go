package mcptest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"postern/pkg/wire"
)

// options is the fake server's command line; doc.go says what each means.
type options struct {
	protocol, era, info, instructions, capabilities string
	lists                                           map[string]*string // method → file
	page, ttl                                       int
	cursorLoop, more                                bool
	events                                          string
	life                                            time.Duration
	faults                                          faults
	sleep                                           bool // this process is a descendant of a server
	orphan                                          bool // it starts another one and ends
	children                                        int  // it starts so many others first
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{faults: faults{}, lists: map[string]*string{}}
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.protocol, "protocol", "", "revision")
	f.StringVar(&o.era, "era", "legacy", "legacy, modern or dual")
	f.StringVar(&o.info, "info", `{"name":"fake-server","version":"1.0"}`, "serverInfo")
	f.StringVar(&o.instructions, "instructions", "", "instructions")
	f.StringVar(&o.capabilities, "capabilities", "", "capabilities")
	for name, method := range map[string]string{"tools": toolsList, "prompts": "prompts/list", "resources": "resources/list", "templates": "resources/templates/list"} {
		o.lists[method] = f.String(name, "", "file of the list")
	}
	f.BoolVar(&o.more, "more", false, "have everything")
	f.IntVar(&o.page, "page", 0, "items a page")
	f.BoolVar(&o.cursorLoop, "cursor-loop", false, "cursors repeat")
	f.IntVar(&o.ttl, "ttl", 0, "ttlMs")
	f.StringVar(&o.events, "events", "", "file of events")
	f.DurationVar(&o.life, "life", 2*time.Minute, "longest life")
	f.Var(o.faults, "fault", "NAME or NAME=VALUE")
	f.BoolVar(&o.sleep, "sleep", false, "be a grandchild")
	f.BoolVar(&o.orphan, "orphan", false, "start a grandchild without an environment and end")
	f.IntVar(&o.children, "children", 0, "start more grandchildren")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if !slices.Contains([]string{"legacy", "modern", "dual"}, o.era) {
		return nil, fmt.Errorf("unknown era %q", o.era)
	}
	return o, nil
}

// faults are the faults asked for, with their values.
type faults map[string]string

func faultNames() []string {
	return []string{
		"banner", "noise", "bom", "crlf", "stderr", "stderr-line", "start-delay", "exit-at-start", "exit-on", "exit-on-discover",
		"no-initialize", "no-discover", "initialize", "list-error", "stop-reading", "ignore-eof", "ignore-term", "tty", "grandchild",
	}
}

// String makes faults a flag.Value.
func (f faults) String() string { return fmt.Sprint(map[string]string(f)) }

// Set takes one -fault.
func (f faults) Set(arg string) error {
	name, value, _ := strings.Cut(arg, "=")
	if !slices.Contains(faultNames(), name) {
		return errors.New("no such fault")
	}
	f[name] = value
	return nil
}

func (f faults) has(name string) bool {
	_, ok := f[name]
	return ok
}

// loadList reads a JSON array and keeps its items as they are.
func loadList(path string) (items [][]byte, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw = wire.OneLine(raw)
	return elements(raw)
}

func elements(raw []byte) (items [][]byte, err error) {
	err = wire.EachElement(raw, func(v wire.Span) bool {
		items = append(items, v.Of(raw))
		return true
	})
	return items, err
}
