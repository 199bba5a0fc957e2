package hub

import (
	"errors"
	"net"
	"os"
	"strconv"
	"time"

	"postern/pkg/config"
)

// aside is where such a hub is told what to do: it has servers as long as it has
// sessions, and whoever kills one means all of it.
type aside struct {
	path     string
	listener *net.UnixListener
}

// stepAside listens on a socket beside the one that was given up. It is nil when
// there can be none: then the hub is out of reach until its last session ends.
func (h *shared) stepAside(p Place) *aside {
	path := p.beside("-" + strconv.Itoa(os.Getpid()) + retiredSuffix)
	if len(path) > maxSocketPath {
		return nil
	}
	l, err := listenOn(path)
	if err != nil || l == nil {
		return nil
	}
	r := &aside{path, l}
	go h.hearOrders(l) // ends with close
	return r
}

// hearOrders serves HubOrders connections at a time, until l is closed. The others
// wait for one of those, which say what they want within HubLineWait.
func (h *shared) hearOrders(l *net.UnixListener) {
	places := make(chan struct{}, config.HubOrders)
	for {
		places <- struct{}{}
		conn, err := l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // descriptors or memory, which come back
			<-places
			time.Sleep(config.HubReachMost)
			continue
		}
		go func() { // ends with the order, or with the process
			defer func() { <-places }()
			h.hear(conn, false)
		}()
	}
}

func (r *aside) close() {
	if r != nil {
		r.listener.Close()
		_ = os.Remove(r.path)
	}
}
