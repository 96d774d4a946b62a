// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// backups are the files of backups that lie on any server's volume.
func (b *bed) backups(t *testing.T) (found []string) {
	t.Helper()
	for _, dirs := range []map[v1alpha1.ServerName]string{b.snapshots, b.mirrors} {
		for _, dir := range dirs {
			err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if err == nil && filepath.Base(path) == "full.bak" {
					found = append(found, path)
				}
				return err
			})
			if err != nil && !os.IsNotExist(err) {
				t.Logf("look for backups in %s: %v", dir, err)
			}
		}
	}
	return found
}

// A subscriber begins with a backup of the published database, gets what was committed while it was under way and
// afterwards, once, and keeps nothing of a publisher; the backup goes from both ends.
func TestASubscriberBeginsWithABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 500)
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "Unpublished"))
	b.fill(t, "tukpub", "dbo.Unpublished", 0, 20)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	b.create(t, d, p, s)
	phases, next := map[v1alpha1.CopyPhase]bool{}, 1000
	g.Eventually(func() string {
		b.nudgeAll(t)
		b.fill(t, "tukpub", "dbo.Article", next, next+1)
		next++
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		if s.Status.Copy != nil {
			phases[s.Status.Copy.Phase] = true
			return string(s.Status.Copy.Phase)
		}
		return ""
	}, patient, 300*time.Millisecond).Should(Equal(string(v1alpha1.CopyDone)), func() string {
		return fmt.Sprintf("%+v", s.Status.Conditions)
	})
	b.sql(t, "tukpub", "Content", "DELETE dbo.Article WHERE Id = 7; UPDATE dbo.Article SET Body = N'changed' WHERE Id = 8")
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.sum(t, "dubsub", "dbo.Unpublished")()).To(HavePrefix("20 "), "a backup brings all")
	g.Expect(s.Status.Initialization).To(And(HaveField("Method", v1alpha1.InitializeBackup),
		HaveField("ValidatedArticles", HaveLen(1))))
	g.Expect(s.Status.Copy.BackupSeconds).NotTo(BeNil())
	g.Expect(s.Status.Copy.Bytes).To(BeNumerically(">", 0))
	g.Expect(b.rowsIn(t, "dubsub", "master",
		"SELECT CAST(is_published AS varchar(1)) FROM sys.databases WHERE name = N'Content'")).To(Equal("[0]"))
	g.Eventually(func() []string { b.nudgeAll(t); return b.backups(t) }, patient, 500*time.Millisecond).Should(BeEmpty())
	g.Eventually(func() string {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Copy.Backup
	}, patient, 500*time.Millisecond).Should(BeEmpty())
	g.Eventually(func() any {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Conditions
	}, patient, 500*time.Millisecond).Should(ContainElement(HaveField("Type", v1alpha1.ConditionLogTruncated)))
	t.Logf("phases that were seen: %v", phases)
}

// A database with tables stays until a person agrees, and then under another name. An article that comes later, whose
// table the backup had brought, is compared, and is another one's affair once it differs.
func TestABackupTakesThePlaceOfADatabaseByConsentAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	b.sql(t, "tukpub", "Content", fmt.Sprintf(createTable, "Later"))
	b.fill(t, "tukpub", "dbo.Later", 0, 30)
	b.sql(t, "dubsub", "master", "CREATE DATABASE Content")
	b.sql(t, "dubsub", "Content", fmt.Sprintf(createTable, "Own"))
	b.fill(t, "dubsub", "dbo.Own", 0, 10)
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	s := subscribed(v1alpha1.SubscriptionPush)
	b.create(t, d, p, s)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonSubscriberNotEmpty)
	g.Expect(b.backups(t)).To(BeEmpty(), "nothing is taken for it before")
	g.Expect(b.sum(t, "dubsub", "dbo.Own")()).To(HavePrefix("10 "))
	change(t, b, s, func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	})
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.rowsIn(t, "dubsub", "master",
		"SELECT LEFT(name, 17) FROM sys.databases WHERE name LIKE N'Content[_]%'")).To(Equal("[Content_replaced_]"))

	b.sql(t, "tukpub", "Content", "INSERT dbo.Later (Id, Body) VALUES (100, N'after the backup')")
	change(t, b, p, func(p *v1alpha1.Publication) {
		p.Spec.Articles = append(p.Spec.Articles, v1alpha1.Article{Table: "dbo.Later"})
	})
	g.Eventually(func() string {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Initialization.Differs
	}, patient, 500*time.Millisecond).Should(ContainSubstring("dbo.later"))
	b.sql(t, "dubsub", "Content", "INSERT dbo.Later (Id, Body) VALUES (100, N'after the backup')")
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	b.settle(t, s, "dbo.Article", "dbo.Later")
	g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s) }, patient,
		200*time.Millisecond).Should(HaveOccurred())
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(HavePrefix("100 "))
}

// A backup that the publisher's engine refuses to register with is given up, and the subscriber begins with another
// one: it has every row once.
func TestARefusedBackupIsTakenAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
	p.Spec.Initialization = s.Spec.Initialization
	b.create(t, d, p)
	b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
	// So long the log reader is not given the right that the registration waits for.
	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Suspend = true })
	b.create(t, s)
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonWaitingForLogReader)
	g.Expect(b.backups(t)).To(HaveLen(2), "at both ends")
	readOnly := func() string {
		return b.rowsIn(t, "dubsub", "master",
			"SELECT CAST(is_read_only AS varchar(1)) FROM sys.databases WHERE name = N'Content'")
	}
	g.Expect(readOnly()).To(Equal("[1]"), "nobody writes what is not registered")
	first := s.Status.Copy.Backup
	b.sql(t, "tukpub", "Content", "INSERT dbo.Article (Id, Body) VALUES (1000, N'after the first')")
	b.sql(t, "tukpub", "Content", "EXEC sp_changepublication @publication = N'articles', "+
		"@property = N'allow_initialize_from_backup', @value = N'true'")
	change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Suspend = false })
	g.Eventually(func() (said string) {
		b.nudgeAll(t)
		g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		for _, c := range s.Status.Conditions {
			said += c.Message
		}
		return said
	}, patient, 300*time.Millisecond).Should(ContainSubstring("21397"))
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	b.settle(t, s, "dbo.Article")
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(HavePrefix("101 "))
	g.Expect(readOnly()).To(Equal("[0]"))
	g.Expect(s.Status.Initialization.Reason).NotTo(ContainSubstring(first))
	g.Eventually(func() []string { b.nudgeAll(t); return b.backups(t) }, patient, 500*time.Millisecond).Should(BeEmpty())
}
