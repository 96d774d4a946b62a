// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/engine"
)

// Sessions ask a database which one it is while another one changes its options. The race detector is what tells (make
// test-race).
func TestADatabaseIsAskedForItsNumberWhileItsOptionsChange(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	db := s.inst.Database("msdb")
	changed := make(chan error, 1)
	go func() {
		changed <- db.Update(context.Background(), func(info *engine.DatabaseInfo) { info.CompatibilityLevel = 150 })
	}()
	for done := false; !done; {
		g.Expect(db.ID()).To(BeEquivalentTo(4))
		g.Expect(db.System()).To(BeTrue())
		select {
		case err := <-changed:
			g.Expect(err).NotTo(HaveOccurred())
			done = true
		default:
		}
	}
}
