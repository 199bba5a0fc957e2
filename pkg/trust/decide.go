package trust

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"postern/pkg/state"
)

// Allow writes rec as the decision about its server in its project, in place of
// every earlier one, a denial included. Make rec with Description.Approval, so
// that what is written is what was shown. Errors: *FullError, *FileError,
// *state.UnsafeError, *state.LockedError; the file is then as it was.
func Allow(ctx context.Context, dirs state.Dirs, rec Record) error {
	rec.Decision = allow
	return put(ctx, dirs, rec)
}

// Deny writes that the server of rec's project is refused, whatever its
// declaration says, in place of every earlier decision. Errors as Allow.
func Deny(ctx context.Context, dirs state.Dirs, rec Record) error {
	rec.Decision = deny
	rec.Class, rec.Env, rec.Executable, rec.Files, rec.Trees, rec.Expanded, rec.Expires = "", nil, nil, nil, nil, "", nil
	return put(ctx, dirs, rec)
}

// Revoke removes every decision about one server of one project. *NoRecordError
// when there is none, else errors as Allow.
func Revoke(ctx context.Context, dirs state.Dirs, project, server string) error {
	return change(ctx, dirs, project, func(old []Record) ([]Record, error) {
		kept := without(old, project, server)
		if len(kept) == len(old) {
			return nil, &NoRecordError{Project: project, Server: server}
		}
		return kept, nil
	})
}

// Prune removes the decisions that can hold for nothing any more: of projects
// whose folder is gone, and approvals that have ended. It returns them. Errors
// as Allow.
func Prune(ctx context.Context, dirs state.Dirs, now time.Time) (gone []Record, err error) {
	err = change(ctx, dirs, "", func(old []Record) ([]Record, error) {
		gone = nil
		return slices.DeleteFunc(slices.Clone(old), func(r Record) bool {
			_, err := os.Lstat(r.Project)
			over := errors.Is(err, fs.ErrNotExist) || r.Expires != nil && !now.Before(*r.Expires)
			if over {
				gone = append(gone, r)
			}
			return over
		}), nil
	})
	return gone, err
}

func put(ctx context.Context, dirs state.Dirs, rec Record) error {
	if rec.At.IsZero() {
		rec.At = time.Now().UTC().Truncate(time.Second)
	}
	if err := rec.check(); err != nil {
		return err
	}
	return change(ctx, dirs, rec.Project, func(old []Record) ([]Record, error) {
		return append(without(old, rec.Project, rec.Server), rec), nil
	})
}

func without(records []Record, project, server string) []Record {
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		return r.Project == project && r.Server == server
	})
}

func change(ctx context.Context, dirs state.Dirs, project string, edit func([]Record) ([]Record, error)) error {
	if err := state.EnsureDir(dirs.Config); err != nil {
		return err
	}
	path := filepath.Join(dirs.Config, fileName)
	return state.Update(ctx, path, fileCheck(project), func(data []byte) ([]byte, error) {
		old, err := parse(data)
		if err != nil {
			return nil, &FileError{Path: path, Why: err.Error()}
		}
		records, err := edit(old)
		if err != nil {
			return nil, err
		}
		return encode(records)
	})
}
