package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// commandTime bounds a `cmd:` entry: a password manager that asks a person for
// more than this is asked again at the next start.
const commandTime = 10 * time.Second

// readCommand runs the command of a `cmd:` entry below the reduced environment
// and returns its standard output. Standard input is empty, standard error is
// dropped: either could be a place where the value shows up.
func readCommand(text string) ([]byte, error) {
	return runCommand(text, commandTime)
}

func runCommand(text string, limit time.Duration) ([]byte, error) {
	argv, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = ReducedEnvironment(os.Environ())
	cmd.Dir = string(os.PathSeparator)
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	var out capped
	cmd.Stdout = &out
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.over:
		return nil, fmt.Errorf("%s printed more than %d bytes", argv[0], maxSecret)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s gave no value within %s", argv[0], limit)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("%s ended with %s; run it yourself to see why", argv[0], exit.ProcessState)
	case err != nil:
		return nil, fmt.Errorf("%s did not run: %w", argv[0], err)
	}
	return out.buf.Bytes(), nil
}

// capped keeps up to maxSecret bytes and fails the write that goes beyond. The
// buffer is not embedded: io.Copy would find its ReadFrom and pass by Write.
type capped struct {
	buf  bytes.Buffer
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.buf.Len()+len(p) > maxSecret {
		c.over = true
		return 0, errors.New("too much output")
	}
	return c.buf.Write(p)
}

// splitWords splits a command line at blanks; quotes hold words together and a
// backslash takes away the meaning of one character. Nothing is expanded.
func splitWords(s string) ([]string, error) {
	if strings.ContainsRune(s, 0) {
		return nil, errors.New("the command holds a NUL byte")
	}
	var words []string
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case c == '\\' && quote != '\'':
			if i++; i == len(s) {
				return nil, errors.New("the command ends with a backslash")
			}
			word.WriteByte(s[i])
			inWord = true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote in the command is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
