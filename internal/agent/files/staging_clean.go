// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/transfer"
)

// tend looks at what mirrors take until ctx ends, and removes what nobody needs above the high watermark.
func (m *Mirrors) tend(ctx context.Context) {
	for {
		if err := m.tendOnce(); err != nil {
			m.log.Warn("what mirrors take is not kept below its high watermark", "error", err)
		}
		if !pause(ctx, stagingEvery) {
			return
		}
	}
}

func (m *Mirrors) tendOnce() error {
	m.staging.deciding.Lock()
	defer m.staging.deciding.Unlock()
	bounds, _ := m.bounds()
	if bounds.Quota == 0 {
		return nil
	}
	all, err := m.see()
	if err != nil {
		return err
	}
	if high, low := bounds.Watermarks(); takenBy(all) > high {
		_, err = m.clean(all, low)
	}
	return err
}

// bounds are those of now, with what is claimed.
func (m *Mirrors) bounds() (transfer.Staging, map[spot]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.staging.bounds, m.staging.claimed()
}

// claimed is what the snapshots under way are to have, once for all mirrors of one. Mirrors.mu is held.
func (s *staging) claimed() map[spot]int64 {
	all := map[spot]int64{}
	for _, c := range s.claims {
		all[c.at] = max(all[c.at], c.total)
	}
	return all
}

// see measures what lies there, for the status as well. staging.deciding is held.
func (m *Mirrors) see() ([]staged, error) {
	all, err := m.lying()
	if err != nil {
		return nil, err
	}
	waiting := waitingOf(all, m.naming, m.staging.now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.staging.last = &seenStaging{used: takenBy(all), waiting: waiting}
	return all, nil
}

// clean removes what may be, until no more than goal is taken, and returns what is left. staging.deciding is held.
func (m *Mirrors) clean(all []staged, goal int64) ([]staged, error) {
	now := m.staging.now()
	for i, s := range all {
		// The name of a record is not enough: a person may have put something in its snapshot's place.
		if s.kind == whole && s.removable(m.naming(s), now) {
			p := m.placeAt(s.spot)
			all[i].recorded = transfer.Recorded(p.final(), p.record())
		}
	}
	var removed int64
	for _, s := range choose(all, m.naming, now, goal) {
		done, err := m.discard(s)
		if err != nil {
			m.log.Warn("what no order needs is not removed", "distributor", s.host, "folder", s.folder,
				"snapshot", s.snapshot, "error", err)
		}
		if done {
			removed += s.bytes
			m.log.Info("what no order has named for an hour is removed to keep the staging quota", "distributor", s.host,
				"folder", s.folder, "snapshot", s.snapshot, "bytes", s.bytes)
		}
	}
	if removed > 0 {
		m.mu.Lock()
		m.staging.cleaned = &Cleaned{At: now, Bytes: removed}
		m.staging.removed += removed
		m.mu.Unlock()
	}
	return m.see()
}

// discard removes what was chosen, unless an order has come meanwhile: one that comes later waits for the turn, and
// begins with nothing.
func (m *Mirrors) discard(s staged) (done bool, err error) {
	p := m.placeAt(s.spot)
	leave, entered := m.enterNow(p.parent)
	if !entered {
		return false, nil // a mirror is at it, whose order is newer than what was chosen
	}
	defer leave()
	if !s.removable(m.naming(s), m.staging.now()) {
		return false, nil
	}
	if s.kind == whole {
		// Not under its own name: what is left by a crash would be taken for what was brought whole.
		if _, err := os.Lstat(p.partial()); !errors.Is(err, fs.ErrNotExist) {
			return false, err // that goes first
		}
		if err := os.Rename(p.final(), p.partial()); err != nil {
			return false, err
		}
		if err := durable.Remove(p.record()); err != nil {
			return false, err
		}
	}
	err = m.removeAll(p.partial())
	return err == nil, err
}

// placeAt is where a snapshot is mirrored to.
func (m *Mirrors) placeAt(at spot) place {
	return place{parent: filepath.Join(m.dir, at.host, tree, at.folder), snapshot: at.snapshot,
		seed: filepath.Join(m.dir, at.host, seedFolder), removeAll: m.removeAll}
}

// claim takes room for a snapshot that is brought, which the mirror keeps until release. Where the quota has none it
// makes some of what nobody needs; a BlockedError says that it could not.
func (m *Mirrors) claim(one *mirror, p place, listing *Listing) error {
	stage, want := m.staging, claim{spot{one.order.Host, listing.Folder, listing.Snapshot}, listing.total()}
	stage.deciding.Lock()
	defer stage.deciding.Unlock()
	if m.promised(one, want) {
		return nil
	}
	blocked, err := m.fit(one, p, want)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if blocked != nil {
		stage.blocked[one] = refusal{want, *blocked}
		return &BlockedError{*blocked}
	}
	delete(stage.blocked, one)
	stage.claims[one] = want
	return nil
}

// promised tells that a snapshot has its room already, by an attempt before or another mirror of it, and has the mirror
// keep it: a quota that is lowered stops nothing that is under way. What it was promised of another snapshot is free.
func (m *Mirrors) promised(one *mirror, want claim) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	stage := m.staging
	if stage.claimed()[want.at] < want.total {
		delete(stage.claims, one)
		return false
	}
	delete(stage.blocked, one)
	stage.claims[one] = want
	return true
}

// release gives back what a mirror was promised: its snapshot is here, or it has ended.
func (m *Mirrors) release(one *mirror) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.staging.claims, one)
	delete(m.staging.blocked, one)
}

// unblock notes that a mirror waits for no quota, whatever else it waits for. True says that it did.
func (m *Mirrors) unblock(one *mirror) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, was := m.staging.blocked[one]
	delete(m.staging.blocked, one)
	return was
}

// fit makes room for what a mirror wants. What it returns says which quota would have it. staging.deciding is held.
func (m *Mirrors) fit(one *mirror, p place, want claim) (*Blocked, error) {
	bounds, claims := m.bounds()
	if bounds.Quota == 0 {
		return nil, nil
	}
	claims[want.at] = want.total
	all, err := m.see()
	if err != nil {
		return nil, err
	}
	if over := needed(all, claims) - bounds.Quota; over > 0 {
		_, low := bounds.Watermarks()
		if all, err = m.clean(all, min(low, takenBy(all)-over)); err != nil {
			return nil, err
		}
	}
	// Begun of snapshots that this one has superseded, and kept for their chunks alone, which are fetched then. It stays
	// where that is not enough.
	spare := m.superseded(one, want.at, all)
	if over := needed(all, claims) - bounds.Quota; over > 0 && over <= spare {
		m.warn(one, stays, m.prunePartial(one, p, ""))
		if all, err = m.see(); err != nil {
			return nil, err
		}
		spare = m.superseded(one, want.at, all)
	}
	if needed(all, claims) <= bounds.Quota {
		return nil, nil
	}
	return &Blocked{Subscription: one.order.Subscription, Snapshot: want.at.snapshot, Bytes: want.total,
		NeededBytes: needed(all, m.alsoBlocked(one, claims)) - spare, QuotaBytes: bounds.Quota,
		WaitingBytes: waitingOf(all, m.naming, m.staging.now())}, nil
}

// superseded are the bytes that prunePartial would remove. Of a Manual mirror nothing: a person would have to bring
// them again.
func (m *Mirrors) superseded(one *mirror, at spot, all []staged) (n int64) {
	for _, s := range all {
		if one.order.Manual == "" && s.kind == begun && s.host == at.host && s.folder == at.folder &&
			s.snapshot < at.snapshot && !m.copying(one, s.snapshot) {
			n += s.bytes
		}
	}
	return n
}

// alsoBlocked are claims with those of all mirrors that wait for the quota: a figure that has room for one alone would
// let the next one say another.
func (m *Mirrors) alsoBlocked(one *mirror, claims map[spot]int64) map[spot]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, r := range m.staging.blocked {
		if other != one && m.running[other.order.Subscription] == other {
			claims[r.at] = max(claims[r.at], r.total)
		}
	}
	return claims
}
