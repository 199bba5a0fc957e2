package calllog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"postern/pkg/config"
)

// Pruned is what Prune did.
type Pruned struct {
	Removed []string // names of files
	Held    int      // files that are too old by date, and stay because the date is not credible
}

// Prune removes the files of days that lie more than days before now's, by name
// (C83). A clock that is far ahead would make every day too old, so a date is
// believed only when LogPruneDays different days with files lie in the time that
// is kept; until then days are counted back from the newest day before that. A
// log that nobody wrote to for long keeps its rows for that many days more. With
// a clock that is behind nothing is too old. Days of the future stay. What
// cannot be removed is in the error; the others are removed nevertheless.
func Prune(dir string, now time.Time, days int) (Pruned, error) {
	files, err := dayFiles(dir)
	if err != nil || days <= 0 {
		return Pruned{}, err
	}
	old, held := tooOld(files, dayOf(now), days)
	p := Pruned{Held: held}
	var failed []error
	for _, f := range old {
		err := os.Remove(filepath.Join(dir, f.name()))
		switch {
		case err == nil:
			p.Removed = append(p.Removed, f.name())
		case !errors.Is(err, fs.ErrNotExist): // else another writer was quicker
			failed = append(failed, err)
		}
	}
	return p, errors.Join(failed...)
}

// tooOld chooses from files, which are sorted by day, and counts those that
// would be too old if today were believed.
func tooOld(files []dayFile, today time.Time, days int) (old []dayFile, held int) {
	oldest := today.AddDate(0, 0, -days) // still kept
	n, kept, last := 0, 0, time.Time{}
	for _, f := range files {
		switch {
		case f.day.Before(oldest):
			n++
		case !f.day.After(today) && !f.day.Equal(last):
			kept, last = kept+1, f.day
		}
	}
	if n == 0 || kept >= min(config.LogPruneDays, days+1) {
		return files[:n], 0
	}
	believed, _ := tooOld(files[:n], files[n-1].day, days)
	return believed, n - len(believed)
}
