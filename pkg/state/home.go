package state

import (
	"bytes"
	"path/filepath"
	"strconv"
)

// maxAccounts bounds what is read of the list of accounts.
const maxAccounts = 1 << 20

// Home returns the directory that ~ stands for: what the environment says, and
// where it says nothing (a service, `env -i`), what the account has. looked is
// true in the second case. It is "" when neither is known; the account's counts
// only if it is absolute and a directory that is ours.
func Home(getenv func(string) string) (dir string, looked bool) {
	if dir = getenv(homeVariable); dir != "" {
		return dir, false
	}
	dir = accountHome()
	return dir, dir != ""
}

// homeOf is the home directory of a user in a list as passwd(5) describes it:
// of the first entry with that id, "" when there is none or it is not absolute.
func homeOf(accounts []byte, uid int) string {
	const id, home, all = 2, 5, 7
	for line := range bytes.Lines(accounts) {
		fields := bytes.Split(bytes.TrimRight(line, "\n"), []byte(":"))
		if len(fields) == all && string(fields[id]) == strconv.Itoa(uid) {
			if dir := string(fields[home]); filepath.IsAbs(dir) {
				return filepath.Clean(dir)
			}
			return ""
		}
	}
	return ""
}
