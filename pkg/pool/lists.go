package pool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// follow reads the list again after each list_changed, one reading at a time:
// changes that come while one runs are seen by the next.
func (i *Instance) follow(notify <-chan struct{}) {
	defer i.pool.watch.Done()
	for {
		select {
		case <-i.client.Done():
			return
		case <-notify:
		}
		ctx, cancel := context.WithTimeout(context.Background(), i.server.StartTimeout)
		c, err := i.list(ctx)
		cancel()
		if err != nil {
			continue // the last good list stands; the next change or start asks again
		}
		old := i.live.Swap(c)
		if change := catalog.Compare(old, c); !change.Empty() {
			i.pool.announce()
		}
	}
}

// list reads the server's tools and records them in the cache.
func (i *Instance) list(ctx context.Context) (*catalog.Catalog, error) {
	info := i.client.Info()
	raw := catalog.Raw{
		ServerInfo: info.ServerInfo, Capabilities: info.Capabilities, Instructions: info.Instructions,
		Protocol: info.Protocol, Era: info.Era,
	}
	if err := i.listTools(ctx, &raw); err != nil {
		return nil, err
	}
	c, err := catalog.Build(i.identity, time.Now().UTC(), raw)
	if err != nil {
		return nil, &upstream.Failure{Word: upstream.Protocol, Server: i.server.ID, Phase: "tools/list", Detail: err.Error()}
	}
	if i.pool.o.Catalogs != nil {
		// C6: without a cache the server still works; the next process lists again.
		_ = i.pool.o.Catalogs.Write(c)
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
