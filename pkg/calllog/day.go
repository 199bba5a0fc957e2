package calllog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dayFile is one file of the log by name.
type dayFile struct {
	day   time.Time // midnight UTC
	owner string    // HOST-PID of the only one who writes to it; "" = all write to it
	n     int       // 0 for the first
}

const suffix = ".jsonl"

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (f dayFile) name() string {
	name := f.day.Format(time.DateOnly)
	if f.owner != "" {
		name += "." + f.owner
	}
	if f.n > 0 {
		name += "." + strconv.Itoa(f.n)
	}
	return name + suffix
}

// parseDayFile accepts exactly the names that name gives, since what it accepts
// may be removed.
func parseDayFile(name string) (dayFile, bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return dayFile{}, false
	}
	parts := strings.Split(stem, ".")
	day, err := time.Parse(time.DateOnly, parts[0])
	if err != nil {
		return dayFile{}, false
	}
	f := dayFile{day: day}
	rest := parts[1:]
	if len(rest) > 0 && isOwner(rest[0]) {
		f.owner, rest = rest[0], rest[1:]
	}
	if len(rest) == 1 {
		f.n, _ = strconv.Atoi(rest[0]) // what is no number gives another name
	}
	return f, f.name() == name
}

// ownerOf is the owner's part of a file name: the host, in the letters that
// isOwner accepts, and the process.
func ownerOf(host string, pid int) string {
	safe := func(r rune) rune {
		if isOwnerLetter(r) {
			return r
		}
		return '_'
	}
	host = strings.Map(safe, host)
	return cmp.Or(host[:min(len(host), 64)], "host") + "-" + strconv.Itoa(pid)
}

func isOwner(s string) bool {
	dash := strings.LastIndexByte(s, '-')
	if dash < 1 || strings.ContainsFunc(s, func(r rune) bool { return !isOwnerLetter(r) }) {
		return false
	}
	_, err := strconv.ParseUint(s[dash+1:], 10, 32)
	return err == nil
}

func isOwnerLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

// dayFiles lists the files of the log: by day, those of a day that all write to
// first, each owner's in the order in which they were written. No folder is no
// files.
func dayFiles(dir string) ([]dayFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []dayFile
	for _, e := range entries {
		if f, ok := parseDayFile(e.Name()); ok {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b dayFile) int {
		return cmp.Or(a.day.Compare(b.day), cmp.Compare(a.owner, b.owner), cmp.Compare(a.n, b.n))
	})
	return files, nil
}
