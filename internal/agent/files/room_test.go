// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
)

// What is there for its chunks alone goes before it is looked through where the volume has no room for it as well, with
// what backups of logs need.
func TestRoomForOlderFiles(t *testing.T) {
	const capacity, total = 100 << 30, 6 << 20
	contents := map[string][]byte{"Article_2.bcp": random(1, total)}
	half := map[string][]byte{"Article_2.bcp": random(1, total)[:total/2]}
	reserved := backups.Reserved(capacity)
	for name, c := range map[string]struct {
		free  int64
		err   error
		begun bool
		kept  bool
	}{
		"just enough":           {free: total + reserved, kept: true},
		"too little":            {free: total + reserved - 1},
		"for what is missing":   {free: total/2 + reserved + 1<<20, begun: true, kept: true},
		"not even for that":     {free: total/2 + reserved - 1<<20, begun: true},
		"nobody knows":          {err: errors.New("no such file system"), kept: true},
		"a volume that is full": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.snapshot(t, next, contents)
			older, aside := p.at(partialName(first)), p.at("."+next+asideSuffix+"0")
			put(t, older, half)
			put(t, aside, half)
			if c.begun {
				put(t, p.at(partialName(next)), half)
			}
			m := p.keeper()
			m.volume = func(string) (int64, int64, error) { return capacity, c.free, c.err }
			looked := make(chan bool, 1)
			m.at = func(step string) error {
				if step == "opened" {
					_, one := os.Stat(older)
					_, other := os.Stat(aside)
					looked <- one == nil && other == nil
				}
				return nil
			}
			order := p.order
			order.Generation = "2026-11-20T11:30:00"
			m.Set(t.Context(), []orders.Mirror{order})
			p.mirrored(t, m, next, contents)
			g.Expect(looked).To(Receive(Equal(c.kept)))
			g.Expect(older).NotTo(BeADirectory())
			g.Expect(aside).NotTo(BeADirectory())
		})
	}
}
