// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"testing"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// TestCommitOfADatabaseThatWasRemoved: a commit that waits while its database is removed from the group waits for
// nobody, neither for a secondary that was about to be called synchronized nor for as many as the group requires.
func TestCommitOfADatabaseThatWasRemoved(t *testing.T) {
	g := NewWithT(t)
	database, secondary := uuid.New(), uuid.New()
	l := &leadership{
		committed: &group.Configuration{
			Options:   group.Options{RequiredSynchronized: 1},
			Databases: []group.Database{{ID: database}},
		},
		remotes: map[remoteKey]*remote{{secondary, database}: {gating: true}},
	}
	g.Expect(l.hardenedLocked(database, storage.MakeLSN(1, 1, 0))).To(BeFalse())
	l.committed = &group.Configuration{Options: group.Options{RequiredSynchronized: 1}}
	g.Expect(l.hardenedLocked(database, storage.MakeLSN(1, 1, 0))).To(BeTrue())
}
