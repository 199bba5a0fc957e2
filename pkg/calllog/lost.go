package calllog

import (
	"bytes"
	"time"

	"postern/pkg/config"
	"postern/pkg/wire"
)

// HubLost is the word of a row that a bridge writes for a call whose answer did
// not come before its hub was lost. The hub may have written one with the same id,
// which then says what became of the call: readers keep that one alone (C81).
const HubLost = "hub_lost"

var lostMember = []byte(`"word":"` + HubLost + `"`)

// lost knows which bridges' rows are not to be shown. It looks for the hub's rows
// only where there are such of bridges, and then for all of that time at once.
type lost struct {
	superseded map[string]bool // by id of a bridge's row
}

// isLost reports whether a row is a bridge's, and is its id.
func isLost(row []byte) (id string, is bool) {
	if !bytes.Contains(row, lostMember) {
		return "", false
	}
	return idOfLost(row, true)
}

// idOfLost is the id of a row that a bridge wrote, or that it did not.
func idOfLost(row []byte, bridge bool) (id string, is bool) {
	var at [2]wire.Span
	if wire.Lookup(row, []string{"id", "word"}, at[:]) != nil {
		return "", false
	}
	id, _ = plainText(at[0].Of(row))
	word, _ := plainText(at[1].Of(row))
	return id, id != "" && (word == HubLost) == bridge
}

// hides reports whether a row gives way to another one with its id.
func (s *scanner) hides(row []byte) (bool, error) {
	if s.lost == nil {
		return false, nil
	}
	id, is := isLost(row)
	if !is {
		return false, nil
	}
	gone, known := s.lost.superseded[id]
	if known {
		return gone, nil
	}
	if err := s.learnAbout(row); err != nil {
		return false, err
	}
	return s.lost.superseded[id], nil
}

// learnAbout looks at all bridges' rows around one, and then for those of hubs
// with their ids: they began before those ended.
func (s *scanner) learnAbout(row []byte) error {
	var at [1]wire.Span
	if err := wire.Lookup(row, []string{"ts"}, at[:]); err != nil {
		return nil // it was read before
	}
	ts, _ := parseTS(at[0].Of(row))
	around := Query{Since: ts.Add(-config.LogLossWindow), Until: ts.Add(config.LogLossWindow)}
	found, until := map[string]bool{}, around.Until
	err := s.inside(around, func(_ place, row []byte) error {
		if id, is := isLost(row); is {
			found[id] = false
			if end, ok := rowEnd(row); ok {
				until = later(until, end)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	around.Since, around.Until = around.Since.Add(-config.LogOrder), until.Add(time.Nanosecond)
	err = s.inside(around, func(_ place, row []byte) error {
		if id, is := idOfLost(row, false); is {
			if _, asked := found[id]; asked {
				found[id] = true
			}
		}
		return nil
	})
	s.lost.superseded = found
	return err
}

// inside gives all rows of a time, bridges' included.
func (s *scanner) inside(q Query, emit emitter) error {
	files, err := dayFiles(s.dir)
	if err != nil {
		return err
	}
	all := &scanner{ctx: s.ctx, dir: s.dir, query: &q, files: q.cover(files)}
	return all.read(false, emit)
}
