package hub

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"postern/pkg/config"
)

// accept takes connections until the post is left. Those that were made before are
// taken then as well, and told, unless the socket stays where it is.
func (h *shared) accept(l *net.UnixListener) {
	defer l.Close()
	for {
		conn, err := l.AcceptUnix()
		if err == nil {
			h.admit(conn)
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		// Descriptors or memory, which come back.
		h.lament("no connection is accepted for the moment: " + err.Error())
		time.Sleep(config.HubReachMost) // for what the kernel tells nobody of
	}
	h.mu.Lock()
	drain := h.drain
	h.mu.Unlock()
	for drain && l.SetDeadline(time.Now().Add(config.HubDrain)) == nil {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		h.admit(conn)
	}
}

// lament tells the operator now and then why somebody is not served. It is for the
// goroutine that accepts.
func (h *shared) lament(text string) {
	if time.Since(h.lamented) > config.HubSayEvery {
		h.lamented = time.Now()
		h.o.Say(text)
	}
}

// admit has a connection served, which is closed when that is over. One over those
// that the hub takes is told so, if it says within HubLineWait what it wants, and
// HubRefusals at a time are.
func (h *shared) admit(conn *net.UnixConn) {
	h.mu.Lock()
	n := len(h.open)
	taken := n < h.most+config.HubRefusals
	if taken {
		h.open[conn] = true
	}
	h.mu.Unlock()
	full := n >= h.most
	if full {
		h.lament(fmt.Sprintf("connections at the same time: %d; no more are served", h.most))
	}
	if !taken {
		conn.Close()
		return
	}
	h.wg.Go(func() { // ends with the connection, or with h.ctx
		h.hear(conn, full)
		h.mu.Lock()
		delete(h.open, conn)
		h.mu.Unlock()
	})
}

// hear serves one connection, whatever becomes of it; one of a full hub is told.
func (h *shared) hear(conn *net.UnixConn, full bool) {
	defer conn.Close()
	defer func() {
		if v := recover(); v != nil { // R26
			h.o.Host.Panicked("a connection of the hub", v, debug.Stack())
		}
	}()
	if checkPeer(conn) == nil {
		h.greet(conn, full)
	}
}

// greet reads how a connection begins and serves what it is, or says that it does
// not.
func (h *shared) greet(conn *net.UnixConn, full bool) {
	lines := &firstLines{conn: conn}
	text, err := lines.next(config.HubLineBytes)
	if err == nil {
		text = append(text, '\n')
	} else if !errors.Is(err, errNoLine) {
		return
	}
	o, err := parseOpening(text)
	switch {
	case err != nil:
		h.refuse(conn, err)
	case o.hello != nil && h.replaced(): // also when it is full: the next one is not
		h.retired(conn)
	case full:
		if o.order != nil || o.hello != nil { // MCP has no word for it
			h.refuse(conn, &RemoteError{Word: wordOverload, Exit: exitUnavailable,
				Message: fmt.Sprintf("the hub has %d connections, and takes no more until some of them end", h.most)})
		}
	case o.order != nil:
		h.order(conn, *o.order)
	case o.hello == nil:
		h.plain(conn, text, lines)
	default:
		h.welcome(conn, lines, *o.hello)
	}
}
