//go:build unix

package cmdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/config"
	"postern/pkg/gateway"
	"postern/pkg/hub"
	"postern/pkg/state"
)

// Hub is a program of scripts: the hub of the directories in its environment, until
// SIGTERM.
func Hub() {
	if err := runHub(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runHub() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dirs, err := state.Locate(os.Getenv)
	if err != nil {
		return err
	}
	place, err := hub.PlaceOf(dirs, "test")
	if err != nil {
		return err
	}
	say := func(text string) { fmt.Fprintln(os.Stderr, "hub:", text) }
	host := call.OpenHost(call.HostOptions{
		Dirs: dirs, Environ: os.Environ(), Own: true, Version: "test", Warn: say, Self: cmdmain.SelfPaths(),
	}, config.Load(config.LoadOptions{Dirs: dirs}).Log)
	defer host.Close()
	return hub.Serve(ctx, hub.ServeOptions{
		Place: place, Host: host, Gateway: gateway.New(host, "test"), Control: host.Control, Say: say,
	})
}

// HubName is the name that StartHub knows it by.
const HubName = "hub"

// StartHub runs one for a home and waits until it answers. end sends it a signal and
// waits for its end; after SIGTERM its servers are gone by then.
func StartHub(env []string, getenv func(string) string) (end func(syscall.Signal), err error) {
	path, err := exec.LookPath(HubName)
	if err != nil {
		return nil, err
	}
	dirs, err := state.Locate(getenv)
	if err != nil {
		return nil, err
	}
	c := exec.Command(path)
	c.Env, c.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return nil, err
	}
	end = func(s syscall.Signal) {
		_ = c.Process.Signal(s)
		_ = c.Wait()
	}
	if !hubAnswers(dirs) {
		end(syscall.SIGKILL)
		return nil, errors.New("the hub does not answer")
	}
	return end, nil
}
