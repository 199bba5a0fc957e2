package state

import (
	"os"
	"runtime"
	"testing"
)

func TestHomeOf(t *testing.T) {
	const accounts = "root:x:0:0:root:/root:/bin/sh\n" +
		"# a comment\n\n:::\n" +
		"short:x:7:7:/short\n" +
		"long:x:7:7:a:/long:/bin/sh:more\n" +
		"u:x:1000:1000:U,,,:/home//u/:/bin/sh\n" +
		"second:x:1000:1000::/home/second:/bin/sh\n" +
		"none:x:1001:1001:::/bin/sh\n" +
		"relative:x:1002:1002::home/r:/bin/sh\n" +
		"padded:x: 1003:1003::/home/p:/bin/sh\n" +
		"last:x:1004:1004::/home/l:/bin/sh"
	for uid, want := range map[int]string{0: "/root", 7: "", 1000: "/home/u", 1001: "", 1002: "", 1003: "", 1004: "/home/l", 1005: "", 100: "", -1: ""} {
		if got := homeOf([]byte(accounts), uid); got != want {
			t.Errorf("%d: %q, want %q", uid, got, want)
		}
	}
}

// MB-184: the environment's word counts, a bad one too; only where there is none
// the account is looked up, and what it has is ours.
func TestHome(t *testing.T) {
	for _, set := range []string{"/home/u", "u"} {
		if dir, looked := Home(func(string) string { return set }); dir != set || looked {
			t.Errorf("%q: %q, %v", set, dir, looked)
		}
	}
	dir, looked := Home(func(string) string { return "" })
	if looked != (dir != "") || looked && runtime.GOOS != "linux" {
		t.Fatalf("%q, %v", dir, looked)
	}
	if !looked {
		t.Skip("this account has no home of its own")
	}
	if fi, err := os.Stat(dir); err != nil || ownerOf(fi) != os.Geteuid() {
		t.Errorf("%s: %v", dir, err)
	}
	d, err := Locate(func(string) string { return "" })
	if want := dir + "/.config/postern"; err != nil || d.Config != want {
		t.Errorf("%+v, %v, want %s", d, err, want)
	}
}

func FuzzHomeOf(f *testing.F) {
	f.Add([]byte("root:x:0:0:root:/root:/bin/sh\nu:x:1:1::/home/u:/bin/sh"), 1)
	f.Fuzz(func(t *testing.T, accounts []byte, uid int) {
		if dir := homeOf(accounts, uid); dir != "" && dir[0] != '/' {
			t.Errorf("%q", dir)
		}
	})
}
