// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/transfer"
)

// makeRoom removes what is there for its chunks alone, before it is looked through, where the volume has no room for it
// and a snapshot of so many bytes: the engine's backups are there, too, and those of logs keep backups.Reserved, a 20th
// of the volume and 10 GiB at most.
func (m *Mirrors) makeRoom(one *mirror, p place, total int64) {
	begun, err := p.begun()
	aside, more := p.asides()
	if err == nil && more == nil && begun == "" && len(aside) == 0 {
		return
	}
	capacity, free, err := m.volume(p.parent)
	if err != nil {
		m.warn(one, "older files are looked through whatever room there is", err)
		return
	}
	if free < total-taken(p.partial())+backups.Reserved(capacity) {
		m.log.Info("older files are not looked through for lack of room", "subscription", one.order.Subscription,
			"free", free, "snapshot", p.snapshot, "bytes", total)
		m.warn(one, stays, m.searched(one, p))
	}
}

// fits refuses to write so many bytes more of what is on the volume already, where backups of logs would not keep what
// is theirs. Where nobody knows what is free the write says it.
func (m *Mirrors) fits(p place, n int64) error {
	capacity, free, err := m.volume(p.parent)
	if reserved := backups.Reserved(capacity); err == nil && free-n < reserved {
		return fmt.Errorf("%w: %d bytes are free on the volume of the mirror, of which backups of logs keep %d, and what is "+
			"taken next has %d; remove what is not needed there, or have the volume grow", transfer.ErrNoRoom, free,
			reserved, n)
	}
	return nil
}

// taken are the bytes that the files of a folder take on their volume: one of which parts are missing has its size, and
// takes less.
func taken(dir string) (n int64) {
	// What cannot be read counts as missing.
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			n += min(info.Size(), allocated(info))
		}
		return nil
	})
	return n
}
