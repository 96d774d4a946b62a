// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"maps"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/test/support/bucket"
)

// hub is a server of a hub that leads, and keeps the newest full backup alone.
func hub(t *testing.T, name string, to *bucket.Server) *shipping {
	t.Helper()
	s := shippingTo(t, to, "of-"+name, func(o *orders.Backup) { o.Owner, o.KeepFulls, o.Verify = name, 1, false })
	s.runner.mu.Lock()
	defer s.runner.mu.Unlock()
	leads := source(func(b *mssql.BackupSource) { b.Primary, b.Preferred = true, true })
	s.seen, s.runner.read = []mssql.BackupSource{leads}, s.runner.now()
	return s
}

// look lists, and claims what is to be claimed.
func (s *shipping) look(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(s.list(t.Context())).To(Succeed())
	g.Expect(s.claim(t.Context(), s.catalog)).To(Succeed())
}

// round is all that a server does with the bucket, the second list shows what was claimed after the first.
func (s *shipping) round(t *testing.T) {
	t.Helper()
	s.look(t)
	s.look(t)
	s.write(t)
	s.look(t)
}

// write is all that it writes and removes there.
func (s *shipping) write(t *testing.T) {
	t.Helper()
	for _, logs := range []bool{true, false} {
		s.sendAll(t.Context(), s.catalog, logs)
	}
	s.checkAll(t.Context(), s.catalog)
	s.removeAll(t.Context(), s.catalog)
	s.forgetAll()
}

// other is the claim of another hub that has the folder, as the status says it.
func (s *shipping) other() string {
	if o := s.status().Stores[0].OtherHub; o != nil {
		return o.Claim
	}
	return ""
}

// objects are those of the bucket's folder, with when each was stored.
func (s *shipping) objects(t *testing.T) map[string]time.Time {
	t.Helper()
	listed, err := s.catalog.store.List(t.Context(), "web/group/content/")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all := map[string]time.Time{}
	for _, o := range listed {
		all[o.Key] = o.Modified
	}
	return all
}

func (s *shipping) has(t *testing.T, d backup.Description) bool {
	t.Helper()
	_, has := s.objects(t)[d.Key()]
	return has
}

// Two hubs that have one place for their backups would each remove what the other keeps. The first one has it; the
// other writes and removes nothing there, keeps its own sets and goes on taking logs.
func TestAFolderOfBackupsIsOneHubs(t *testing.T) {
	g := NewWithT(t)
	to := bucket.Start(t)
	first, second := hub(t, "first", to), hub(t, "second", to)
	first.round(t)
	g.Expect(first.has(t, first.own)).To(BeTrue())
	g.Expect(first.other()).To(BeEmpty())
	before := first.objects(t)
	g.Expect(before).To(HaveKey("web/group/content/" + backup.OwnerName))

	second.round(t)
	g.Expect(second.objects(t)).To(Equal(before))
	g.Expect(second.other()).NotTo(BeEmpty())
	g.Expect(second.status().Stores[0].OtherHub.Hub).To(Equal("first"))
	g.Expect(second.status().Failing).To(BeEmpty())
	g.Expect(second.sets.all("web", "group/content")).To(HaveLen(1))
	g.Expect(second.planLogs(second.observed())).To(HaveLen(1))

	restorable, err := Folder(t.Context(), second.catalog.store, path.Dir(first.own.Folder()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(restorable.Sets).To(HaveLen(1), "whoever restores by path reads it")
}

// Of two that find the folder empty at once one has it.
func TestTwoHubsThatClaimAtOnce(t *testing.T) {
	g := NewWithT(t)
	to := bucket.Start(t)
	first, second := hub(t, "first", to), hub(t, "second", to)
	g.Expect(first.list(t.Context())).To(Succeed())
	g.Expect(second.list(t.Context())).To(Succeed())
	g.Expect(second.claim(t.Context(), second.catalog)).To(Succeed())
	g.Expect(first.claim(t.Context(), first.catalog)).To(Succeed())
	first.write(t)
	g.Expect(first.objects(t)).To(HaveLen(1), "what was claimed is nobody's before a list shows it")
	first.round(t)
	second.round(t)
	g.Expect(first.other()).NotTo(BeEmpty())
	g.Expect(second.other()).To(BeEmpty())
	g.Expect(slices.Collect(maps.Keys(second.objects(t)))).To(HaveLen(4), "the owner, and one set of two files")
}

// A person's word makes the folder another hub's, once: the former one writes nothing from then on, also by a list of
// before, and the word is not good for what the former one is given back.
func TestAFolderOfBackupsIsTakenOver(t *testing.T) {
	g := NewWithT(t)
	to := bucket.Start(t)
	first, second := hub(t, "first", to), hub(t, "second", to)
	first.round(t)
	second.look(t)
	second.order.TakeOver = []string{"another", second.other()}
	second.look(t)
	late := taken("late", backup.Log, time.Minute, "20", "30")
	g.Expect(os.MkdirAll(first.sets.dir+"/.new-2", 0o750)).To(Succeed())
	g.Expect(os.WriteFile(first.sets.dir+"/.new-2/1.bak", []byte("x"), 0o600)).To(Succeed())
	g.Expect(first.sets.add(first.sets.dir+"/.new-2", late)).To(Succeed())
	before := first.objects(t)
	g.Expect(first.planSends(first.observed())).NotTo(BeEmpty(), "it does not know it yet")
	first.write(t)
	g.Expect(first.objects(t)).To(Equal(before))
	g.Expect(first.status().Failing).To(HaveKeyWithValue(ContainSubstring("send the log backup"),
		ContainSubstring(errOtherHub.Error())))
	first.look(t)
	g.Expect(first.status().Stores[0].OtherHub.Hub).To(Equal("second"))

	second.round(t)
	g.Expect(second.has(t, second.own)).To(BeTrue())
	g.Expect(second.other()).To(BeEmpty())

	first.order.TakeOver = []string{first.other()}
	first.round(t)
	g.Expect(first.other()).To(BeEmpty())
	second.round(t)
	g.Expect(second.status().Stores[0].OtherHub.Hub).To(Equal("first"), "what it was told was of another claim")
}

// A mark that cannot be read is nobody's that is known: nobody writes before a person has said so.
func TestAnOwnerThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	to := bucket.Start(t)
	one := hub(t, "first", to)
	g.Expect(one.catalog.store.Put(t.Context(), "web/group/content/"+backup.OwnerName, []byte("{"))).To(Succeed())
	one.round(t)
	g.Expect(one.objects(t)).To(HaveLen(1))
	g.Expect(one.other()).To(HavePrefix("unreadable-"))
	one.order.TakeOver = []string{one.other()}
	one.round(t)
	g.Expect(one.has(t, one.own)).To(BeTrue())
}

// An order of a manager that says nothing of its hub goes on, but not where a hub has the folder.
func TestAnOrderWithoutAHub(t *testing.T) {
	g := NewWithT(t)
	to := bucket.Start(t)
	old, first := hub(t, "", to), hub(t, "first", to)
	old.round(t)
	g.Expect(old.has(t, old.own)).To(BeTrue())
	g.Expect(old.objects(t)).NotTo(HaveKey("web/group/content/" + backup.OwnerName))
	first.round(t)
	before := first.objects(t)
	old.round(t)
	g.Expect(old.objects(t)).To(Equal(before))
	g.Expect(old.other()).NotTo(BeEmpty())
}
