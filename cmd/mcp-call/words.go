package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/wire"
)

// word is one argument of the tool as the shell gave it.
type word struct {
	key  string
	text string // the value, its JSON on one line, or the file's content
	form form
}

type form uint8

const (
	plain   form = iota // key=value
	literal             // key:=json
	file                // key=@file
)

// parseWord reads key=value, key:=json or key=@file. read gives a file's content.
func parseWord(arg string, read func(path string) ([]byte, error)) (word, error) {
	if !utf8.ValidString(arg) {
		return word{}, cmdmain.Usagef("%q is no UTF-8", arg)
	}
	key, text, found := strings.Cut(arg, "=")
	key, exact := strings.CutSuffix(key, ":")
	if !found || key == "" {
		return word{}, cmdmain.Usagef("%q is not key=value, key:=json or key=@file", arg)
	}
	path, isFile := strings.CutPrefix(text, "@")
	switch {
	case exact && !json.Valid([]byte(text)):
		return word{}, cmdmain.Usagef("the value of %s:= is not JSON; text is given by %s=", key, key)
	case exact:
		return word{key, string(wire.OneLine([]byte(text))), literal}, nil
	case !isFile:
		return word{key, text, plain}, nil
	}
	content, err := read(path)
	var other *cmdmain.Error
	if errors.As(err, &other) {
		return word{}, err
	}
	if err != nil {
		return word{}, &cmdmain.Error{Err: err, Exit: cmdmain.Usage, Hints: []string{
			fmt.Sprintf("text that begins with @ is written %s:=%s", key, call.ShellQuoted(string(wire.Quote(text))))}}
	}
	if !utf8.Valid(content) {
		return word{}, cmdmain.Usagef("%s is no UTF-8, and a tool is given text; encode it first, as base64 does", path)
	}
	return word{key, string(content), file}, nil
}

// parseObject checks arguments that are given as a whole. They stay as they are
// but for line breaks between their parts and the byte order mark of a file.
func parseObject(raw []byte) ([]byte, error) {
	raw = []byte(strings.TrimPrefix(string(raw), "\ufeff"))
	switch {
	case !utf8.Valid(raw):
		return nil, cmdmain.Usagef("--args is no UTF-8")
	case !json.Valid(raw) || !wire.IsObject(raw):
		return nil, cmdmain.Usagef("--args is not a JSON object")
	}
	return wire.OneLine(raw), nil
}

// readFile reads a file given with @.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, path)
}

// readBounded reads at most as much as any server may be sent.
func readBounded(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, config.MaxMessageBytes+1))
	if err == nil && len(data) > config.MaxMessageBytes {
		err = fmt.Errorf("%s is larger than %d bytes", name, config.MaxMessageBytes)
	}
	return data, err
}
