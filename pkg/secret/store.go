package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"postern/pkg/state"
)

// maxSecret bounds one secret's bytes: a key or a certificate chain fits.
const maxSecret = 64 << 10

// failureLife is how long a failed reading is not tried again: many servers may ask
// for the entry, and a person may have to unlock something first.
const failureLife = 30 * time.Second

// Store holds the entries of `secrets:` (C30). Each entry is read once, when it is
// first asked for, and kept in memory only; what a failed reading answered is kept
// for a while. Safe for concurrent use. A nil *Store has no entries.
type Store struct {
	entries map[string]*entry
}

// entry is one of them.
type entry struct {
	name, text string

	mu    sync.Mutex // one reading at a time
	at    time.Time  // of the last; zero = none yet
	value string
	err   error
}

// ReadError is an entry of `secrets:` whose value could not be had. It holds
// neither the value nor any output of the command.
type ReadError struct {
	Name string // of the entry
	Why  string
}

func (e *ReadError) Error() string { return fmt.Sprintf("secret %s: %s", e.Name, e.Why) }

// NewStore makes a store of spec, which maps names to `cmd:…` or `file:…`
// entries. It reads and starts nothing.
func NewStore(spec map[string]string) *Store {
	s := &Store{entries: make(map[string]*entry, len(spec))}
	for name, text := range spec {
		s.entries[name] = &entry{name: name, text: text}
	}
	return s
}

// Value returns the value of the entry name; ok is false when there is none.
// The first caller reads it, callers meanwhile wait for the same reading,
// which is bounded to 10 s. Its error is always a *ReadError.
func (s *Store) Value(name string) (value string, ok bool, err error) {
	if s == nil || s.entries[name] == nil {
		return "", false, nil
	}
	value, err = s.entries[name].read()
	return value, err == nil, err
}

func (e *entry) read() (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at.IsZero() || e.err != nil && time.Since(e.at) >= failureLife {
		e.value, e.err = read(e.name, e.text)
		e.at = time.Now()
	}
	return e.value, e.err
}

// CheckEntry says what is wrong with the text of an entry, without reading or
// starting anything; nil when nothing is.
func CheckEntry(text string) error {
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "cmd":
		_, err := splitWords(rest)
		return err
	case "file":
		if !filepath.IsAbs(rest) && !strings.HasPrefix(rest, "~/") {
			return errors.New("a file: entry needs an absolute path or ~/…")
		}
		return nil
	}
	return errors.New("an entry begins with cmd: or file:; a value itself does not belong here")
}

func read(name, text string) (string, error) {
	kind, rest, _ := strings.Cut(text, ":")
	err := CheckEntry(text)
	var data []byte
	switch {
	case err != nil:
	case kind == "cmd":
		data, err = readCommand(rest)
	default:
		data, err = readFile(rest)
	}
	if err != nil {
		return "", &ReadError{Name: name, Why: err.Error()}
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case value == "":
		return "", &ReadError{Name: name, Why: "the value is empty"}
	case strings.ContainsRune(value, 0):
		return "", &ReadError{Name: name, Why: "the value holds a NUL byte"}
	}
	return value, nil
}

func readFile(path string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.New("HOME is not set, so ~/ means nothing")
		}
		path = filepath.Join(home, rest)
	}
	data, _, err := state.ReadFile(path, state.Check{Max: maxSecret, Private: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist or is empty", path)
	}
	return data, err
}
