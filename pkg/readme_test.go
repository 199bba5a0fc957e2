package pkg

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs every console block of README.md, in order, in one scratch
// home: lines that begin with "$ " are run by a shell, the lines below them are
// what it prints, standard error after standard output. "…" stands for any
// text, alone on a line for any lines; [exit N] for the exit code.
// POSTERN_README_PATH names the folder of the public server it uses.
func TestReadme(t *testing.T) {
	server := os.Getenv("POSTERN_README_PATH")
	if server == "" {
		t.Skip("POSTERN_README_PATH names no folder with mcp-server-filesystem")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	h.env[1] = "PATH=" + h.bin + ":" + server + ":" + os.Getenv("PATH")
	dir := h.dir
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			dir = h.step(dir, command, strings.TrimRight(want, "\n"))
		}
	}
}

// step runs one line in dir and returns the directory it ends in.
func (h *home) step(dir, command, want string) string {
	h.t.Helper()
	c := exec.Command("sh", "-c", fmt.Sprintf("cd '%s' && { %s\n} 2>'%s'; code=$?; cat '%s'; [ $code = 0 ] || echo \"[exit $code]\"; pwd >'%s'",
		dir, command, h.path("stderr"), h.path("stderr"), h.path("pwd")))
	c.Env = h.env
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
	got := strings.TrimRight(string(out), "\n")
	if !wildcard(want).MatchString(got + "\n") {
		h.t.Errorf("$ %s\n got %s\nwant %s", command, got, want)
	}
	end, err := os.ReadFile(h.path("pwd"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(string(end))
}

func wildcard(want string) *regexp.Regexp {
	var b strings.Builder
	for _, line := range strings.Split(want, "\n") {
		if line == "…" {
			b.WriteString("(.*\n)*")
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "\n")
	}
	return regexp.MustCompile("^" + b.String() + "$")
}
