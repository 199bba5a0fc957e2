package hub

import (
	"errors"
	"net"
	"os"
	"time"

	"postern/pkg/config"
)

// accept takes connections until the post is left. Those that were made before are
// taken then as well, and told, unless the socket stays where it is.
func (h *shared) accept(l *net.UnixListener) {
	defer l.Close()
	var said time.Time
	for {
		conn, err := l.AcceptUnix()
		if err == nil {
			h.admit(conn)
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if time.Since(said) > config.HubSayEvery { // descriptors or memory, which come back
			said = time.Now()
			h.o.Say("no connection is accepted for the moment: " + err.Error())
		}
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
		h.hear(conn)
		h.mu.Lock()
		delete(h.open, conn)
		h.mu.Unlock()
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
	case o.hello == nil:
		h.plain(conn, text, lines)
	case h.replaced():
		h.retired(conn)
	default:
		h.welcome(conn, lines, *o.hello)
	}
}
