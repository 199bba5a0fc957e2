package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// checkID says what is wrong with the id of a server; nil when nothing is.
func checkID(id string) error {
	switch {
	case id == "gateway" || id == "workspace" || id == "postern":
		return errors.New("this id is reserved; choose another")
	case len(id) > MaxIDBytes:
		return fmt.Errorf("an id has at most %d bytes", MaxIDBytes)
	case strictID(id) != id || id == "":
		return errors.New("an id is a lower-case letter or digit, then those, _ and -")
	}
	return nil
}

// strictID replaces what an id may not hold: lower case, `-` for anything but
// letters, digits, _ and -, and nothing but a letter or digit in front.
func strictID(id string) string {
	mapped := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
			return c
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, id)
	return strings.TrimLeft(mapped, "-_")
}

// mapID is the id that a server of .mcp.json gets (C22): its name when that is
// an id already, else a readable part and 8 hex digits of the name's sha256,
// so that different names stay different.
func mapID(name string) string {
	if checkID(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strictID(name)
	head = strings.TrimRight(head[:min(len(head), 23)], "-_")
	if head == "" {
		head = "server"
	}
	return head + "-" + hex.EncodeToString(sum[:4])
}

// checkName says what is wrong with the name of a policy (C12); it becomes the
// name of files.
func checkName(name string) error {
	valid := name != "" && len(name) <= MaxNameBytes
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		valid = valid && (letter || i > 0 && (c == '.' || c == '_' || c == '-'))
	}
	if !valid {
		return fmt.Errorf("a name is a lower-case letter or digit, then those, . _ and -, at most %d", MaxNameBytes)
	}
	return nil
}
