package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"postern/pkg/call"
	"postern/pkg/cmdmain"
	"postern/pkg/pool"
)

func statusVerb(env *cmdmain.Env) *cli.Command {
	return &cli.Command{
		Name: call.VerbStatus, Usage: "show the hub, its sessions and its servers", Flags: cmdmain.ListFlags(),
		Description: "A row for the hub, one for each session and one for each server that runs or could: what it\n" +
			"does, its process, since when, and what is amiss: mistakes in the configuration, restarts, a\n" +
			"circuit that is open, noise, the last error. Other servers are in `mcp-catalog servers`. Ends\n" +
			"with 6 when no hub is up, and with 7 when one does not answer.",
		Action: func(c *cli.Context) error { return status(env, c) },
	}
}

// hubRow, sessionRow and serverRow are the rows as JSON.
type hubRow struct {
	What     string    `json:"what"` // hub
	PID      int       `json:"pid"`
	Version  string    `json:"version"`
	Since    time.Time `json:"since"`
	Sessions int       `json:"sessions"`
	Problems []string  `json:"problems,omitempty"`
	Panics   uint64    `json:"panics,omitempty"`
	Dropped  uint64    `json:"dropped_rows,omitempty"`
}

type sessionRow struct {
	What string `json:"what"` // session
	call.SessionStatus
}

type serverRow struct {
	What string `json:"what"` // server
	pool.Status
}

func status(env *cmdmain.Env, c *cli.Context) error {
	if _, err := cmdmain.Exactly(c); err != nil {
		return err
	}
	list, err := env.List(c, "WHAT", "NAME", "STATE", "PID", "UP", "PROJECT", "NOTES")
	if err != nil {
		return err
	}
	results, err := order(env, c, call.VerbStatus, "")
	if err != nil {
		return err
	}
	for _, result := range results {
		if err := statusOf(list, result); err != nil {
			return err
		}
	}
	return list.Close()
}

// statusOf is the rows of one hub.
func statusOf(list *cmdmain.List, result json.RawMessage) error {
	var s call.HostStatus
	if err := json.Unmarshal(result, &s); err != nil {
		return fmt.Errorf("the hub's status cannot be read: %w", err)
	}
	now := time.Now()
	if err := list.Row(hubRow{"hub", s.PID, s.Version, s.Since, len(s.Sessions), s.Problems, s.Panics, s.Dropped},
		"hub", s.Version, "", strconv.Itoa(s.PID), up(&s.Since, now), "", hubNotes(&s)); err != nil {
		return err
	}
	for _, one := range s.Sessions {
		if err := list.Row(sessionRow{"session", one}, "session", claimed(&one), one.Via, pid(one.PID), up(&one.Since, now), one.Project, ""); err != nil {
			return err
		}
	}
	for _, one := range s.Servers {
		if err := list.Row(serverRow{"server", one}, "server", one.Server, string(one.State), pid(one.PID), up(one.Since, now), one.Project, serverNotes(&one)); err != nil {
			return err
		}
	}
	return nil
}

// claimed is what the client of a session says that it is, else the session's id.
func claimed(s *call.SessionStatus) string {
	if s.Claimed != nil && s.Claimed.Name != "" {
		return strings.TrimSpace(s.Claimed.Name + " " + s.Claimed.Version)
	}
	return s.ID
}

func pid(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func up(since *time.Time, now time.Time) string {
	if since == nil {
		return ""
	}
	return now.Sub(*since).Round(time.Second).String()
}

// notes joins what is said of numbers that are not zero and of texts. An s|
// in a format is an s unless the number is one.
type notes []string

func (n *notes) add(format string, value any) {
	switch value {
	case 0, uint64(0), 0.0, "":
	default:
		*n = append(*n, fmt.Sprintf(numbered(format, value), value))
	}
}

// numbered is a format for one thing or for several.
func numbered(format string, value any) string {
	if value == 1 || value == uint64(1) {
		return strings.Replace(format, "s|", "", 1)
	}
	return strings.Replace(format, "s|", "s", 1)
}

func (n notes) String() string { return strings.Join(n, ", ") }

func hubNotes(s *call.HostStatus) string {
	var n notes
	n.add("%d sessions|", len(s.Sessions))
	n.add("%d panics|, see hub.log", s.Panics)
	n.add("%d rows| of the call log dropped", s.Dropped)
	for _, p := range s.Problems {
		n.add("%s", p)
	}
	return n.String()
}

// serverNotes are what is not as it is most of the time.
func serverNotes(s *pool.Status) string {
	var n notes
	n.add("%d sessions|", len(s.Sessions))
	n.add("%d calls|", s.Calls)
	n.add("%d restarts|", s.Restarts)
	if s.BreakerOpen {
		n = append(n, fmt.Sprintf("circuit open for %.0f s", s.BreakerS))
	}
	n.add("held down for %.0f s", s.HeldS)
	n.add("%d lines| of noise", s.Noise)
	n.add("%d questions| declined", s.Declined)
	n.add("%d notifications| dropped", s.Dropped)
	n.add("%s", s.LastError)
	return n.String()
}
