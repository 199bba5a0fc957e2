package hub

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/pkg/mcptest"
)

// bridgeProgram is a bridge to whoever listens on the socket.
func bridgeProgram(socket string) int {
	err := Bridge(context.Background(), os.Stdin, os.Stdout, BridgeOptions{
		Reach: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		Lookup: os.LookupEnv, ParentPID: os.Getppid(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// The bridge ends with the process that started it, though its input stays open
// (R74).
func TestBridgeOrphaned(t *testing.T) {
	l := listenHere(t)
	in, _ := pipe(t)
	open, _ := pipe(t)
	out, w := pipe(t)
	c := exec.Command("/bin/sh", "-c", `"$0" bridge "$1" <&3 & read x`, os.Args[0], l.Addr().String())
	c.Stdin, c.ExtraFiles, c.Stdout, c.Stderr = in, []*os.File{open}, w, os.Stderr
	c.Env = append(os.Environ(), programVariable+"=1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	hub, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	answerHello(t, hub)
	if _, err := io.WriteString(hub, "[]\n"); err != nil {
		t.Error(err)
	}
	_ = out.SetReadDeadline(time.Now().Add(mcptest.Bound))
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "[]\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("it lives on: %v", err)
	}
}

// What one call costs in the bridge, to a hub that answers at once (F1).
func BenchmarkBridge(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkBridge(b, size) })
	}
}

func benchmarkBridge(b *testing.B, size int) {
	l := listenHere(b)
	c := exec.Command(os.Args[0], "bridge", l.Addr().String())
	c.Env, c.Stderr = append(os.Environ(), programVariable+"=1"), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	hub, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	answerHello(b, hub)
	_ = hub.SetDeadline(time.Time{})
	answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}`+"\n", strings.Repeat("x", size))
	go func() { // ends with the connection
		lines := bufio.NewReader(hub)
		for {
			if _, err := lines.ReadSlice('\n'); err != nil {
				return
			}
			if _, err := hub.Write(answer); err != nil {
				return
			}
		}
	}()
	lines := bufio.NewReaderSize(out, size+200)
	for b.Loop() {
		if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo","arguments":{"text":"hello"}}}`+"\n"); err != nil {
			b.Fatal(err)
		}
		if line, err := lines.ReadSlice('\n'); err != nil || len(line) != len(answer) {
			b.Fatalf("%d bytes, %v", len(line), err)
		}
	}
	hub.Close()
	in.Close()
	if err := c.Wait(); err != nil {
		b.Error(err)
	}
	use := c.ProcessState.SysUsage().(*syscall.Rusage)
	spent := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N), "cpu-us/op")
}
