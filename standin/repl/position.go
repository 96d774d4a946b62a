// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
)

// watchedPosition is a subscription's position as of the end of its database's log: one of all those who wait for their
// turns looks it up after a commit.
type watchedPosition struct {
	mu       sync.Mutex
	storage  *storage.Database
	end      storage.LSN
	position []byte
}

// awaitPosition waits until a subscription is at a position.
func (e *Extension) awaitPosition(ctx context.Context, call *engine.ProcCall) error {
	args := []any{call.String("@publisher"), call.String("@publisher_db"), call.String("@publication")}
	key := fmt.Sprintf("%d %q", call.Database.ID(), args)
	e.mu.Lock()
	w := e.positions[key]
	if w == nil {
		w = &watchedPosition{}
		e.positions[key] = w
	}
	e.mu.Unlock()
	for {
		at := call.Database.Storage()
		if at == nil {
			return raise(20017, 1)
		}
		// Asked for before the look: a commit after it is not missed.
		changed := at.Log().Changed()
		position, err := w.read(ctx, at, call.Session, args)
		if err != nil || bytes.Equal(position, call.Bytes("@position")) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read gives the position after all that is committed.
func (w *watchedPosition) read(
	ctx context.Context,
	at *storage.Database,
	s *engine.Session,
	args []any,
) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := at.Log().End()
	if w.storage == at && w.end == end {
		return w.position, nil
	}
	r, err := s.Query(
		ctx,
		"SELECT transaction_timestamp FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 "+
			"AND publication = @p3",
		args...)
	if err != nil {
		return nil, err
	}
	if r.Len() == 0 {
		return nil, raise(20017, 1)
	}
	w.storage, w.end, w.position = at, end, r.Bytes(0, "transaction_timestamp")
	return w.position, nil
}
