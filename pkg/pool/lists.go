package pool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// follow reads the list again after each list_changed, one reading at a time:
// changes that come while one runs are seen by the next. Some servers announce
// a change whenever they are listed; a pause after each reading keeps them from
// keeping both sides busy.
func (i *Instance) follow(notify <-chan struct{}) {
	defer i.pool.watch.Done()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-i.client.Done():
			return
		case <-pause.C:
		}
		select {
		case <-i.client.Done():
			return
		case <-notify:
		}
		if !i.pool.contain("server "+i.server.ID, i.relist) {
			i.client.Close() // a panic ends the instance
			return
		}
		pause.Reset(config.ListChangedEvery)
	}
}

// relist takes the server's list as it is now and announces what is new in it.
// When that fails the last good list stands, until the next change or start.
func (i *Instance) relist() {
	ctx, cancel := context.WithTimeout(context.Background(), i.server.StartTimeout)
	defer cancel()
	c, err := i.list(ctx)
	if err != nil {
		return
	}
	old := i.live.Swap(c)
	if change := catalog.Compare(old, c); !change.Empty() {
		i.record(c)
		i.pool.announce()
	}
}

// record keeps a list in the cache. Without a cache the server still works, and
// the next process lists again (C6).
func (i *Instance) record(c *catalog.Catalog) {
	if i.pool.o.Catalogs != nil {
		_ = i.pool.o.Catalogs.Write(c)
	}
}

// list reads the server's tools.
func (i *Instance) list(ctx context.Context) (*catalog.Catalog, error) {
	info := i.client.Info()
	raw := catalog.Raw{
		ServerInfo: info.ServerInfo, Capabilities: info.Capabilities, Instructions: info.Instructions,
		Protocol: info.Protocol, Era: info.Era,
	}
	if err := i.listTools(ctx, &raw); err != nil {
		return nil, err
	}
	i.pool.withoutCredentials(&raw)
	raw.Noise = i.client.Info().Noise
	c, err := catalog.Build(i.identity, time.Now().UTC(), raw)
	if err != nil {
		return nil, &upstream.Failure{Word: upstream.Protocol, Server: i.server.ID, Phase: "tools/list", Detail: err.Error()}
	}
	return c, nil
}

// listTools asks for tools where the server declares them. A server that does
// not know the method has none.
func (i *Instance) listTools(ctx context.Context, raw *catalog.Raw) error {
	if !declares(raw.Capabilities, "tools") {
		return nil
	}
	tools, truncated, ttl, err := i.client.List(ctx, "tools/list", "tools")
	var f *upstream.Failure
	if errors.As(err, &f) && f.RPC != nil && f.RPC.Code == wire.CodeMethodNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	raw.Tools, raw.Truncated, raw.TTLMS = tools, truncated, ttl
	return nil
}

// declares reports whether capabilities has the named member. Capabilities
// that cannot be read count as declaring everything: asking costs one request.
func declares(capabilities json.RawMessage, name string) bool {
	var span [1]wire.Span
	if err := wire.Lookup(capabilities, []string{name}, span[:]); err != nil {
		return true
	}
	return span[0].Ok()
}
