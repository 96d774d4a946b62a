// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
)

// A store that was made anew under its name, at another place, lacks what the former one had. One that has other
// credentials is the same.
func TestAStoreOfTheSameNameElsewhereHasNothing(t *testing.T) {
	g := NewWithT(t)
	full := backup.Set{ID: "1", Database: "Content", Family: "f", Kind: backup.Full}
	one := Own{Description: backup.Description{Set: full, Namespace: "web", Target: "group/content"},
		In: map[string]time.Time{}}
	sets := &local{dir: t.TempDir(), own: map[string]Own{"1": one}}
	g.Expect(os.MkdirAll(sets.path(one, ""), 0o750)).To(Succeed())
	with := func(s orders.BackupStore) *runner {
		return &runner{sets: sets, planner: planner{order: orders.Backup{Namespace: "web", Target: "group/content",
			Stores: []orders.BackupStore{s}}}}
	}
	// An encryption that is declared makes it no other place: what is there is not sent again.
	plain := orders.BackupStore{Name: "s3", Endpoint: "https://s3.example", Bucket: "backups"}
	sealed := plain.Encrypted("age1somebody", nil)
	g.Expect(sealed.Place()).To(Equal(plain.Place()))
	g.Expect(sealed.Endpoint).To(Equal(orders.EncryptedEndpoint))
	g.Expect([]string{plain.Recipient(), sealed.Recipient()}).To(Equal([]string{"", "age1somebody"}))
	first := orders.BackupStore{Name: "s3", Endpoint: "https://s3.example", Bucket: "backups", SecretKey: "first"}
	r := with(first)
	g.Expect(r.planSends(&Observed{Own: r.own()})).To(HaveLen(1))
	g.Expect(sets.stored(one, r.place("s3"), time.Now())).To(Succeed())
	g.Expect(r.planSends(&Observed{Own: r.own()})).To(BeEmpty())

	rotated := first
	rotated.SecretKey = "second"
	r = with(rotated)
	g.Expect(r.planSends(&Observed{Own: r.own()})).To(BeEmpty())
	for _, change := range []func(*orders.BackupStore){
		func(s *orders.BackupStore) { s.Endpoint = "https://s4.example" },
		func(s *orders.BackupStore) { s.Bucket = "other" },
		func(s *orders.BackupStore) { s.Prefix = "sql" },
	} {
		another := first
		change(&another)
		r = with(another)
		g.Expect(r.planSends(&Observed{Own: r.own()})).To(HaveLen(1))
	}
	r = with(first)
	g.Expect(r.planSends(&Observed{Own: r.own()})).To(BeEmpty(), "what the first has is still known")
}
