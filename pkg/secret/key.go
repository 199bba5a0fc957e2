package secret

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"postern/pkg/state"
)

// keyBytes is the length of the file that Key reads.
const keyBytes = 32

// Key reads the key of this installation from path, see the package doc, and
// makes it where there is none: once, whoever asks at the same time. A file that
// cannot be believed or has another length is an error and stays as it is.
func Key(ctx context.Context, path string) ([]byte, error) {
	check := state.Check{Max: keyBytes, Private: true}
	key, _, err := state.ReadFile(path, check)
	if errors.Is(err, fs.ErrNotExist) {
		err = state.Update(ctx, path, check, func(old []byte) ([]byte, error) {
			if key = old; old == nil {
				key = make([]byte, keyBytes)
				rand.Read(key) // never fails
			}
			return key, nil
		})
	}
	if err == nil && len(key) != keyBytes {
		err = fmt.Errorf("%s has %d bytes, not %d; remove it and a new one is made", path, len(key), keyBytes)
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}
