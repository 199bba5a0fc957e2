package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// patient is a program of the scripts: patient FILE COMMAND ARG… feeds FILE to
// the command, prints what it answers, and closes its input only when every
// request has its answer, however slow the machine is. It ends as the command
// does.
func patient() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := c.Start(); err != nil {
		panic(err)
	}
	hurry := time.AfterFunc(time.Minute, func() { in.Close() })
	defer hurry.Stop()
	if _, err := in.Write(text); err != nil {
		in.Close() // it ended before it read: its code tells
	}
	waiting := strings.Count(string(text), `"id":`)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		os.Stdout.Write(line)
		if bytes.Contains(line, []byte(`"id":`)) {
			waiting--
		}
		if waiting <= 0 || err != nil {
			in.Close()
		}
		if err != nil {
			break
		}
	}
	_ = c.Wait()
	os.Exit(c.ProcessState.ExitCode())
}
