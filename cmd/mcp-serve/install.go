package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"postern/pkg/cmdmain"
	"postern/pkg/hub"
	"postern/pkg/state"
)

func installVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: "install", Usage: "have systemd start the hub when it is needed",
		Description: "Writes postern.socket and postern.service into the folder of the user's systemd units, for\n" +
			"the directories in force and for this build: after an upgrade run it again. Without it\n" +
			"agents start the hub themselves, and it has PATH and language of the first of them.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "dry-run", Usage: "print what would be written"}},
		Action: func(c *cli.Context) error { return install(env, c) },
	}
}

func install(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return &cmdmain.Error{Err: errors.New("units are for systemd, which runs on Linux; agents start the hub themselves"), Exit: cmdmain.Failed}
	}
	dirs, err := env.Dirs(c)
	if err != nil {
		return err
	}
	placeOf := hub.PlaceOf
	if c.Bool("dry-run") {
		placeOf = hub.NamePlace
	}
	place, err := placeOf(dirs, cmdmain.Build())
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.ContainsAny(self, "\"'\\") {
		return fmt.Errorf("systemd starts no program with quotes or backslashes in its path, such as %s: install it elsewhere", self)
	}
	folder, err := unitFolder(env.Getenv)
	if err != nil {
		return err
	}
	for _, u := range units(place, self) {
		path := filepath.Join(folder, u.name)
		if c.Bool("dry-run") {
			fmt.Fprintf(env.Stdout, "# %s\n%s\n", path, u.text)
			continue
		}
		if err := writeUnit(path, u.text); err != nil {
			return err
		}
		env.Sayf("wrote %s", path)
	}
	if !c.Bool("dry-run") {
		env.Sayf("now run: systemctl --user daemon-reload && systemctl --user enable --now postern.socket")
	}
	return nil
}

// unitFolder is where systemd looks for units of this user.
func unitFolder(getenv func(string) string) (string, error) {
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "systemd", "user"), nil
	}
	home, _ := state.Home(getenv)
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME is not set: set it, or XDG_CONFIG_HOME")
	}
	return filepath.Join(home, ".config", "systemd", "user"), nil
}

// unit is one file for systemd.
type unit struct{ name, text string }

// units are the socket and what serves it.
func units(place hub.Place, executable string) []unit {
	var environment strings.Builder
	for _, v := range [][2]string{
		{"POSTERN_CONFIG_DIR", place.Dirs.Config}, {"POSTERN_STATE_DIR", place.Dirs.State},
		{"POSTERN_CACHE_DIR", place.Dirs.Cache}, {"POSTERN_RUNTIME_DIR", place.Dirs.Runtime},
	} {
		fmt.Fprintf(&environment, "Environment=%s\n", unitWord(v[0]+"="+v[1]))
	}
	return []unit{
		{"postern.socket", `[Unit]
Description=one hub in front of all MCP servers (postern)

[Socket]
ListenStream=` + unitText(place.Socket) + `
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`},
		{"postern.service", `[Unit]
Description=one hub in front of all MCP servers (postern)
Requires=postern.socket

[Service]
ExecStart=` + unitWord(executable) + ` hub
` + environment.String() + `WorkingDirectory=/
UMask=0077
LimitCORE=0
KillMode=mixed
TimeoutStopSec=30
`},
	}
}

// unitText is text as systemd reads a whole line: % begins what it replaces.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// unitWord is text as one word of such a line.
func unitWord(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%").Replace(text) + `"`
}

// writeUnit makes text the content of a file that systemd reads, in one step.
func writeUnit(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, []byte(text)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
