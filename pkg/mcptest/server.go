package mcptest

import (
	"errors"
	"flag"
	"io"
	"strconv"
	"sync"
	"time"

	"postern/pkg/wire"
)

const (
	maxLine = 64 << 20

	toolsList     = "tools/list"
	promptsList   = "prompts/list"
	resourcesList = "resources/list"
	templatesList = "resources/templates/list"
)

// server is one running fake.
type server struct {
	o      *options
	out    *output
	stderr io.Writer
	log    *eventLog
	end    chan int // the status to end with; has room for one
	deaf   bool     // stop-reading has begun; of the goroutine that reads

	mu      sync.Mutex
	lists   map[string][][]byte
	ready   bool                     // the handshake is over
	running map[string]chan struct{} // key of an id → closed when the call is cancelled
	asked   map[string]chan []byte   // key of an own id → the client's answer
	nextID  int
	open    []byte          // the id of the newest question
	uris    map[string]bool // what a legacy client is subscribed to
	listens []listen        // what modern clients listen to
	level   string          // what a legacy client set; "" before
	tasks   []*task
}

// Server is the main function of the fake server; doc.go is its manual. It
// returns the exit status when stdin ended, when a fault says so, or when -life
// is over. Calls that are still being worked on are not waited for.
func Server(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(stderr, Name+": "+err.Error()+"\n")
		}
		return 2
	}
	s := &server{
		o: o, out: &output{w: stdout, faults: o.faults}, stderr: stderr, log: &eventLog{path: o.events},
		end: make(chan int, 1), lists: map[string][][]byte{}, running: map[string]chan struct{}{}, asked: map[string]chan []byte{}, uris: map[string]bool{},
	}
	status, err := s.run(stdin)
	if err != nil {
		_, _ = io.WriteString(stderr, Name+": "+err.Error()+"\n")
		return 2
	}
	return status
}

func (s *server) run(stdin io.Reader) (int, error) {
	life := time.NewTimer(s.o.life)
	defer life.Stop()
	if s.o.faults.has("ignore-term") {
		ignoreTerm()
	}
	if s.o.sleep {
		return s.sleepOn(life.C)
	}
	if err := s.load(); err != nil {
		return 0, err
	}
	if status, over, err := s.begin(); over || err != nil {
		return status, err
	}
	eof := make(chan struct{})
	go s.read(stdin, eof) // ends when stdin ends, or with the process
	for {
		select {
		case status := <-s.end:
			return status, nil
		case <-life.C:
			return 3, nil
		case <-eof:
			s.log.add("clean", "")
			if !s.o.faults.has("ignore-eof") {
				return 0, nil
			}
			eof = nil
		}
	}
}

func (s *server) load() error {
	s.lists[toolsList] = builtinTools()
	if s.o.more {
		s.lists = moreLists()
	}
	for method, path := range s.o.lists {
		if *path == "" {
			continue
		}
		items, err := loadList(*path)
		if err != nil {
			return err
		}
		s.lists[method] = items
	}
	return nil
}

func (s *server) read(stdin io.Reader, eof chan<- struct{}) {
	defer close(eof)
	r := wire.NewReader(stdin, maxLine)
	for !s.stopped() {
		line, err := r.Next()
		if err != nil {
			return
		}
		s.log.add("recv", string(line))
		m, err := wire.Parse(line)
		var bad *wire.ParseError
		switch {
		case m.Method != "" && m.Method == s.o.faults["exit-on"]:
			s.quit(1)
			select {} // ends with the process
		case errors.As(err, &bad):
			s.out.line(wire.ErrorLine(bad.ID, &wire.RPCError{Code: bad.Code, Message: bad.Reason}))
		case m.Kind == wire.Response:
			s.answered(m)
		case m.Kind == wire.Notification:
			s.notified(m)
		default:
			s.request(m)
		}
		s.deaf = s.deaf || m.Method != "" && m.Method == s.o.faults["stop-reading"]
	}
	select {} // stop-reading: stdin stays open and full; ends with the process
}

// stopped is the fault stop-reading, once the handshake is over or its method
// came.
func (s *server) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	method, ok := s.o.faults["stop-reading"]
	return ok && (s.deaf || method == "" && s.ready)
}

func (s *server) notified(m wire.Message) {
	switch m.Method {
	case "notifications/initialized":
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
	case "notifications/cancelled":
		s.log.add("cancelled", string(m.ParamsBytes()))
		key := wire.IDKey(member(m.ParamsBytes(), "requestId"))
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := s.running[key]; c != nil {
			close(c)
			delete(s.running, key)
		}
		s.unlisten(key)
	}
}

// answered takes the client's answer to a request of ours.
func (s *server) answered(m wire.Message) {
	key := wire.IDKey(m.IDBytes())
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.asked[key]; c != nil {
		c <- m.Raw
		delete(s.asked, key)
	}
}

// quit ends the process with a status; the first one counts.
func (s *server) quit(status int) {
	select {
	case s.end <- status:
	default:
	}
}

// member is the value of a member of an object, nil when it has none.
func member(obj []byte, name string) []byte {
	var at [1]wire.Span
	if obj == nil || wire.Lookup(obj, []string{name}, at[:]) != nil {
		return nil
	}
	return at[0].Of(obj)
}

func number(obj []byte, name string, otherwise int) int {
	n, err := strconv.Atoi(string(member(obj, name)))
	if err != nil {
		return otherwise
	}
	return n
}

func text(obj []byte, name string) string {
	s, err := wire.Unquote(member(obj, name))
	if err != nil {
		return ""
	}
	return s
}

func flagged(obj []byte, name string) bool { return string(member(obj, name)) == "true" }
