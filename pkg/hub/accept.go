package hub

import (
	"errors"
	"net"
	"runtime/debug"
	"time"

	"postern/pkg/config"
)

// accept takes connections until accepting fails for good, which leaving the post
// sees to.
func (h *shared) accept(l *net.UnixListener) {
	defer l.Close()
	short := false
	for {
		conn, err := l.AcceptUnix()
		var late net.Error
		switch {
		case err == nil:
			h.admit(conn)
			short = false
			continue
		case errors.As(err, &late) && late.Timeout(), errors.Is(err, net.ErrClosed):
			return
		case !short: // descriptors or memory, which come back
			short = true
			h.o.Say("no connection is accepted for the moment: " + err.Error())
		}
		time.Sleep(config.HubReachMost) // an event of the kernel's that nobody tells of
	}
}

// admit has a connection served, which is closed when that is over. More than
// HubConnections are not.
func (h *shared) admit(conn *net.UnixConn) {
	h.mu.Lock()
	full := len(h.open) >= config.HubConnections
	if !full {
		h.open[conn] = true
	}
	h.mu.Unlock()
	if full {
		conn.Close()
		return
	}
	h.wg.Go(func() { // ends with the connection, or with h.ctx
		defer func() {
			if v := recover(); v != nil { // R26
				h.o.Host.Panicked("a connection of the hub", v, debug.Stack())
			}
			h.mu.Lock()
			delete(h.open, conn)
			h.mu.Unlock()
			conn.Close()
		}()
		if checkPeer(conn) == nil {
			h.greet(conn)
		}
	})
}

// greet reads how a connection begins and serves what it is.
func (h *shared) greet(conn *net.UnixConn) {
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
	case o.order != nil:
		h.order(conn, *o.order)
	case h.replaced():
		h.retired(conn)
	case o.hello != nil:
		h.welcome(conn, lines, *o.hello)
	default:
		h.plain(conn, text, lines)
	}
}
