package calllog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dayFile is one file of the log by name.
type dayFile struct {
	day time.Time // midnight UTC
	n   int       // 0 for DATE.jsonl
}

const suffix = ".jsonl"

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (f dayFile) name() string {
	if f.n == 0 {
		return f.day.Format(time.DateOnly) + suffix
	}
	return fmt.Sprintf("%s.%d%s", f.day.Format(time.DateOnly), f.n, suffix)
}

// parseDayFile accepts exactly the names that name gives, since what it accepts
// may be removed.
func parseDayFile(name string) (dayFile, bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return dayFile{}, false
	}
	date, number, numbered := strings.Cut(stem, ".")
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return dayFile{}, false
	}
	f := dayFile{day: day}
	if numbered {
		if f.n, err = strconv.Atoi(number); err != nil {
			return dayFile{}, false
		}
	}
	return f, f.name() == name
}

// dayFiles lists the files of the log, oldest rows first. No folder is no files.
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
		return cmp.Or(a.day.Compare(b.day), cmp.Compare(a.n, b.n))
	})
	return files, nil
}

// prune removes the files of days that lie more than days before today (C83).
// What cannot be removed stays: the next day's first writer tries again.
func prune(dir string, today time.Time, days int) {
	files, err := dayFiles(dir)
	if err != nil {
		return
	}
	oldest := today.AddDate(0, 0, -days)
	for _, f := range files {
		if f.day.Before(oldest) {
			_ = os.Remove(filepath.Join(dir, f.name()))
		}
	}
}
