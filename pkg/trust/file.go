package trust

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"postern/pkg/config"
	"postern/pkg/wire"
)

const fileName = "trust.json"

// fileVersion is the `v` that this package writes and the only one it reads.
const fileVersion = 1

type file struct {
	V       int      `json:"v"`
	Records []Record `json:"records"`
}

// parse reads a whole trust.json. It is strict: what it does not know might
// have been meant to forbid something. Its error is a reason for people.
func parse(data []byte) ([]Record, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := checkMembers(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var f file
	if err := d.Decode(&f); err != nil {
		return nil, decodeReason(err)
	}
	if f.V != fileVersion {
		return nil, fmt.Errorf("its version is %d, this postern reads version %d", f.V, fileVersion)
	}
	if len(f.Records) > config.MaxTrustRecords {
		return nil, fmt.Errorf("it has more than %d records", config.MaxTrustRecords)
	}
	for i := range f.Records {
		if err := f.Records[i].check(); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return f.Records, nil
}

// checkMembers refuses what the decoder would pass over in silence: text after
// the object, and a member that is there twice or in another case.
func checkMembers(data []byte) error {
	if !json.Valid(data) {
		return errors.New("it is not JSON")
	}
	var top [2]wire.Span
	if err := wire.Lookup(data, []string{"v", "records"}, top[:]); err != nil {
		return err
	}
	records := top[1].Of(data)
	if records == nil {
		return errors.New("it has no records")
	}
	if text := bytes.TrimSpace(records); len(text) == 0 || text[0] != '[' {
		return errors.New("its records are no list")
	}
	var bad error
	err := wire.EachElement(records, func(value wire.Span) bool {
		var spans [len(recordMembers)]wire.Span
		bad = wire.Lookup(value.Of(records), recordMembers[:], spans[:])
		return bad == nil
	})
	return errors.Join(err, bad)
}

var recordMembers = [...]string{"project", "source", "server", "digest", "decision", "class", "env",
	"executable", "files", "trees", "expanded", "at", "expires", "note"}

// decodeReason keeps Go's vocabulary out of a message.
func decodeReason(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("%s has the wrong type", kind.Field)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("it has the member %s, which this postern does not know", name)
	}
	return errors.New("it holds a value of the wrong form")
}

// check tells whether a record is one that this package could have written.
func (r *Record) check() error {
	switch {
	case !filepath.IsAbs(r.Project) || !filepath.IsAbs(r.Source):
		return errors.New("project and source must be absolute paths")
	case r.Server == "":
		return errors.New("it names no server")
	case !isSHA(strings.TrimPrefix(r.Digest, digestPrefix)) || !strings.HasPrefix(r.Digest, digestPrefix):
		return errors.New("its digest is none")
	case r.At.IsZero():
		return errors.New("it has no date")
	case r.Decision == deny:
		return nil
	case r.Decision != allow:
		return fmt.Errorf("its decision is %q, neither %q nor %q", r.Decision, allow, deny)
	case r.Class != config.ClassRead && r.Class != config.ClassExecute && r.Class != config.ClassUnknown:
		return fmt.Errorf("its class is %q, none of read, execute and unknown", r.Class)
	case r.Executable == nil || !filepath.IsAbs(r.Executable.Path) || !isSHA(r.Executable.SHA256):
		return errors.New("its executable is incomplete")
	case !isSHA(r.Expanded):
		return errors.New("its expanded values are missing")
	case slices.ContainsFunc(r.Files, func(f FileRecord) bool { return !filepath.IsLocal(f.Path) || !isSHA(f.SHA256) }):
		return errors.New("one of its files is incomplete")
	case len(r.Trees) > config.MaxTrees || slices.ContainsFunc(r.Trees, func(t TreeRecord) bool {
		return !filepath.IsLocal(t.Path) || t.Count < 0 || !isSHA(t.SHA256)
	}):
		return errors.New("one of its trees is incomplete")
	}
	return nil
}

const digestPrefix = "sha256:"

func isSHA(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// encode writes the records as parse reads them, within the bounds of C50.
func encode(records []Record) ([]byte, error) {
	if len(records) > config.MaxTrustRecords {
		return nil, &FullError{Why: fmt.Sprintf("it would have more than %d records", config.MaxTrustRecords)}
	}
	if records == nil {
		records = []Record{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(file{V: fileVersion, Records: records}); err != nil {
		return nil, err
	}
	if b.Len() > config.MaxTrustFile {
		return nil, &FullError{Why: fmt.Sprintf("it would be larger than %d bytes", config.MaxTrustFile)}
	}
	return b.Bytes(), nil
}
