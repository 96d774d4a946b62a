// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// Only what was read back as it was written counts for what a store restores alone.
func TestWhatAStoreRestoresByWhatWasReadBack(t *testing.T) {
	full := taken("full", backup.Full, 30*time.Minute, "10", "20")
	first := taken("first", backup.Log, 20*time.Minute, "15", "30")
	second := taken("second", backup.Log, 10*time.Minute, "30", "40")
	third := taken("third", backup.Log, 5*time.Minute, "40", "50")
	good := func(d backup.Description) Kept { return Kept{Description: d, Verified: true} }
	damaged := func(d backup.Description) Kept { return Kept{Description: d, Verified: true, Damaged: true} }
	for _, row := range []struct {
		why  string
		sets []Kept
		want StoredDatabase
	}{
		{why: "nothing"},
		{why: "all of it", sets: []Kept{good(full), good(first), good(second)},
			want: StoredDatabase{Verified: ago(10 * time.Minute)}},
		{why: "up to a set that was not read back yet", sets: []Kept{good(full), good(first), {Description: second},
			good(third)}, want: StoredDatabase{Verified: ago(20 * time.Minute)}},
		{why: "up to one that is damaged, though it was read back once", sets: []Kept{good(full), good(first),
			damaged(second), good(third)}, want: StoredDatabase{Verified: ago(20 * time.Minute),
			Damaged: ago(10 * time.Minute)}},
		{why: "no full backup was read back", sets: []Kept{{Description: full}, good(first), good(second)}},
		{why: "one that is lost ends it", sets: []Kept{good(full), good(first), good(third)},
			want: StoredDatabase{Verified: ago(20 * time.Minute)}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.want.Store = "bucket"
			NewWithT(t).Expect(Stored{Name: "bucket", Sets: row.sets}.of(backup.IdentityOf("f", "Content"))).To(Equal(row.want))
		})
	}
}
