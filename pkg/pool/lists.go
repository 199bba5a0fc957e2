package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"postern/pkg/catalog"
	"postern/pkg/config"
	"postern/pkg/upstream"
	"postern/pkg/wire"
)

// list is one of the four lists of a server.
type list uint8

const (
	tools list = iota
	prompts
	resources
	templates
	lists // how many there are
)

// asking is how a list is asked for, and where a catalog has it.
type asking struct {
	capability, method, member string
	in                         func(*catalog.Raw) *[]json.RawMessage
}

func (l list) asking() asking {
	switch l {
	case prompts:
		return asking{"prompts", "prompts/list", "prompts", func(r *catalog.Raw) *[]json.RawMessage { return &r.Prompts }}
	case resources:
		return asking{"resources", "resources/list", "resources", func(r *catalog.Raw) *[]json.RawMessage { return &r.Resources }}
	case templates:
		return asking{"resources", "resources/templates/list", "resourceTemplates", func(r *catalog.Raw) *[]json.RawMessage { return &r.ResourceTemplates }}
	}
	return asking{"tools", "tools/list", "tools", func(r *catalog.Raw) *[]json.RawMessage { return &r.Tools }}
}

// known is a list as it was read last.
type known struct {
	items     []json.RawMessage
	truncated bool
	ttl       int64
	why       string // it could not be read; "" if it could
}

// changed says that lists are to be read again.
func (i *Instance) changed(which ...list) {
	for _, l := range which {
		i.stale.Or(1 << l)
	}
	select {
	case i.relists <- struct{}{}:
	default: // one is waiting already: it will see this change too
	}
}

// follow reads lists again after each list_changed, one reading at a time:
// changes that come while one runs are seen by the next. Some servers announce
// a change whenever they are listed (MB-093); a pause after each reading, longer
// each time that nothing was new, keeps them from keeping both sides busy.
func (i *Instance) follow() {
	defer i.pool.watch.Done()
	rest, pause := time.NewTimer(0), config.ListChangedEvery
	defer rest.Stop()
	for {
		select {
		case <-i.client.Done():
			return
		case <-rest.C:
		}
		var answer chan<- error // nil: nobody waits
		select {
		case <-i.client.Done():
			return
		case <-i.relists:
		case answer = <-i.asks:
			i.stale.Or(1<<lists - 1)
		}
		var changed bool
		var err error
		if !i.pool.contain("server "+i.server.ID, func() { changed, err = i.relist() }) {
			i.client.Close() // a panic ends the instance
			return
		}
		if answer != nil {
			answer <- err
		}
		if pause = min(2*pause, config.ListUnchangedRest); changed {
			pause = config.ListChangedEvery
		}
		rest.Reset(pause)
	}
}

// Relist reads all lists again, as after a list_changed of each, and waits for
// that: for config.ListUnchangedRest and the server's start_timeout at most, and as
// long as ctx lives. The error is the first *upstream.Failure of them, or ctx's
// cause; a list that could not be read stands as it was.
func (i *Instance) Relist(ctx context.Context) error {
	read := make(chan error, 1)
	select {
	case i.asks <- read:
	case <-i.client.Done():
		return i.pool.clean(i.client.Err())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-read:
		if err != nil {
			_, err = i.failed(err)
		}
		return err
	case <-i.client.Done():
		return i.pool.clean(i.client.Err())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// relist takes those lists that changed as they are now, announces what is new in
// them, and reports whether anything is. One that fails stands as it was, until the
// next change or start; the first error is returned.
func (i *Instance) relist() (changed bool, first error) {
	ctx, cancel := context.WithTimeout(context.Background(), i.server.StartTimeout)
	defer cancel()
	stale, read := i.stale.Swap(0), false
	for l := range lists {
		if stale&(1<<l) == 0 {
			continue
		}
		if err := i.read(ctx, l); err == nil {
			read = true
		} else if first == nil {
			first = err
		}
	}
	if !read {
		return false, first
	}
	c, err := i.build()
	if err != nil {
		return false, cmp.Or(first, err)
	}
	old := i.live.Swap(c)
	same := catalog.Same(old, c)
	if !same || !slices.Equal(old.Refused, c.Refused) {
		i.record(c)
	}
	if !same {
		i.pool.announce()
	}
	return !same, first
}

// record keeps a list in the cache. Without a cache the server still works, and
// the next process lists again (C6).
func (i *Instance) record(c *catalog.Catalog) {
	if i.pool.o.Catalogs != nil {
		_ = i.pool.o.Catalogs.Write(c)
	}
}

// readAll reads the lists of a server that has just started. Without its tools it
// is no use; the others are not waited for longer than config.SideListWait, and a
// late one is asked for once more.
func (i *Instance) readAll(ctx context.Context) error {
	if err := i.read(ctx, tools); err != nil {
		return err
	}
	side, cancel := context.WithTimeout(ctx, config.SideListWait)
	defer cancel()
	for _, l := range []list{prompts, resources, templates} {
		err := i.read(side, l)
		var f *upstream.Failure
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return &upstream.Failure{Word: upstream.Aborted, Server: i.server.ID, Phase: l.asking().method, Detail: context.Cause(ctx).Error()}
		case i.client.Err() != nil:
			return i.client.Err()
		case errors.As(err, &f) && f.Word == upstream.Timeout:
			i.changed(l)
		}
	}
	return nil
}

// read reads a list where the server declares it. A server that does not know
// the method has none.
func (i *Instance) read(ctx context.Context, l list) error {
	how := l.asking()
	if !declares(i.client.Info().Capabilities, how.capability, l == tools) {
		return nil
	}
	items, truncated, ttl, err := i.client.List(ctx, how.method, how.member)
	var f *upstream.Failure
	switch failed := errors.As(err, &f); {
	case failed && f.RPC != nil && f.RPC.Code == wire.CodeMethodNotFound:
		items, truncated, ttl = nil, false, 0
	case err != nil:
		if i.live.Load() == nil && failed {
			i.known[l].why = i.pool.clean(f).Error()
		}
		return err
	}
	for n := range items {
		items[n] = i.pool.o.Redactor.Definition(items[n])
	}
	i.known[l] = known{items: items, truncated: truncated, ttl: ttl}
	return nil
}

// build makes a catalog of what was read.
func (i *Instance) build() (*catalog.Catalog, error) {
	info := i.client.Info()
	raw := catalog.Raw{
		ServerInfo: info.ServerInfo, Capabilities: info.Capabilities, Instructions: info.Instructions,
		Protocol: info.Protocol, Era: info.Era, Noise: info.Noise,
	}
	i.pool.withoutCredentials(&raw)
	for l := range lists {
		k, how := i.known[l], l.asking()
		*how.in(&raw) = k.items
		raw.Truncated = raw.Truncated || k.truncated
		if k.ttl > 0 && (raw.TTLMS == 0 || k.ttl < raw.TTLMS) {
			raw.TTLMS = k.ttl
		}
		if k.why != "" {
			raw.Refused = append(raw.Refused, catalog.Refused{Name: how.member, Why: k.why})
		}
	}
	c, err := catalog.Build(i.identity, time.Now().UTC(), raw)
	if err != nil {
		return nil, &upstream.Failure{Word: upstream.Protocol, Server: i.server.ID, Phase: "tools/list", Detail: err.Error()}
	}
	return c, nil
}

// declares reports whether capabilities has the named member; doubtful is the
// answer for capabilities that cannot be read. For tools that is yes: asking
// costs one request, and without them a server is of no use.
func declares(capabilities json.RawMessage, name string, doubtful bool) bool {
	var span [1]wire.Span
	if err := wire.Lookup(capabilities, []string{name}, span[:]); err != nil {
		return doubtful
	}
	return span[0].Ok()
}
