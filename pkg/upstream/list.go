package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// listing is a list that is being read.
type listing struct {
	items     []json.RawMessage
	seen      map[string]bool // items, once there is a second page
	cursors   map[string]bool
	bytes     int
	truncated bool
	ttl       int64
}

// List reads a list to its end (R14): method is tools/list and its kin, key the
// member that holds the items, which are returned as they were received, in
// order. truncated is set when there was more than is returned (500 items, 100
// pages, 8 MiB) or the end is in doubt because a cursor came again; an item that
// a later page repeats byte for byte is left out. ttlMS is the shortest ttlMs of
// the pages, 0 if none had one. Each page must come within StartTimeout. Errors
// are *Failure; an error of the server's has the word server.
func (c *Client) List(ctx context.Context, method, key string) (items []json.RawMessage, truncated bool, ttlMS int64, err error) {
	l := &listing{cursors: map[string]bool{}}
	var params []byte
	for range config.MaxListPages {
		reply, err := c.do(ctx, Call{Method: method, Params: params, Timeout: c.o.StartTimeout}, ready)
		if err != nil {
			return nil, false, 0, err
		}
		result, err := c.result(method, reply)
		if err != nil {
			return nil, false, 0, err
		}
		cursor, err := l.page(result, key)
		if err != nil {
			return nil, false, 0, c.badAnswer(method, err.Error())
		}
		if cursor == nil || l.truncated {
			return l.items, l.truncated, l.ttl, nil
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return l.items, true, l.ttl, nil
}

// page takes one page in and returns the cursor of the next, nil at the end.
func (l *listing) page(result []byte, key string) (cursor []byte, err error) {
	var at [3]wire.Span
	if err := wire.Lookup(result, []string{key, "nextCursor", "ttlMs"}, at[:]); err != nil {
		return nil, err
	}
	array := at[0].Of(result)
	if err := wire.EachElement(array, func(v wire.Span) bool { return l.add(v.Of(array)) }); err != nil {
		return nil, fmt.Errorf("%q is no list: %w", key, err)
	}
	if ttl, err := strconv.ParseInt(string(at[2].Of(result)), 10, 64); err == nil && ttl > 0 && (l.ttl == 0 || ttl < l.ttl) {
		l.ttl = ttl
	}
	return l.next(at[1].Of(result))
}

// add appends an item; false when no more are taken.
func (l *listing) add(item []byte) bool {
	if l.seen != nil {
		if l.seen[string(item)] {
			return true
		}
		l.seen[string(item)] = true
	}
	if len(l.items) >= config.MaxTools || l.bytes+len(item) > config.MaxCatalogBytes {
		l.truncated = true
		return false
	}
	l.bytes += len(item)
	l.items = append(l.items, item)
	return true
}

// next judges a cursor. Absent and null end the list, "" is a cursor like any
// other, and one that was there before ends it too.
func (l *listing) next(raw []byte) ([]byte, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	cursor, err := wire.Unquote(raw)
	if err != nil {
		return nil, fmt.Errorf("nextCursor is no string: %w", err)
	}
	if l.cursors[cursor] {
		l.truncated = true
		return nil, nil
	}
	l.cursors[cursor] = true
	if l.seen == nil {
		l.seen = make(map[string]bool, 2*len(l.items))
		for _, item := range l.items {
			l.seen[string(item)] = true
		}
	}
	return raw, nil
}
