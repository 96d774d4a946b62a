// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/terminal"
)

// bucketAlone is what a hub has that knows a bucket, and nothing else.
func bucketAlone(s *bucket.Server) []client.Object {
	b := s.Bucket
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	return []client.Object{
		&corev1.Secret{ObjectMeta: meta("keys"), Data: map[string][]byte{
			v1alpha1.KeyAccessKeyID: []byte(b.AccessKey), v1alpha1.KeySecretAccessKey: []byte(b.SecretKey)}},
		&corev1.Secret{ObjectMeta: meta("ca"), Data: map[string][]byte{v1alpha1.KeyStoreCA: b.CA}},
		&v1alpha1.BackupStore{ObjectMeta: meta("s3"), Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{
			Endpoint: b.Endpoint, Bucket: b.Name, Prefix: b.Prefix, CredentialsSecretRef: v1alpha1.SecretName{Name: "keys"},
			CASecretRef: &v1alpha1.SecretReference{Name: "ca"}}}},
	}
}

// put keeps a set as an agent does; mark is the object beside it that says what reading it back gave.
func put(t *testing.T, s *bucket.Server, target string, set backup.Set, mark string) backup.Description {
	t.Helper()
	g := NewWithT(t)
	opened, err := store.Open(s.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	content := []byte("pages of " + set.ID)
	sum := sha256.Sum256(content)
	set.Database, set.Family, set.Fork, set.Begun = "Content", "f", "a", set.Finished
	if set.Kind == backup.Log {
		set.Until = set.Finished
	}
	d := backup.Description{Set: set, Namespace: "web", Target: target, Policy: "content", Server: "tukpub-0",
		Files: []backup.File{{Name: "1.bak", Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}}}
	g.Expect(opened.Put(t.Context(), d.KeyOf("1.bak"), content)).To(Succeed())
	encoded, err := d.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.Put(t.Context(), d.Key(), encoded)).To(Succeed())
	if mark != "" {
		g.Expect(opened.Put(t.Context(), path.Join(d.Folder(), mark), []byte("{}"))).To(Succeed())
	}
	return d
}

// encrypt describes a set as one whose file is encrypted: a list goes by that, and by the sizes.
func encrypt(t *testing.T, s *bucket.Server, d backup.Description) backup.Description {
	t.Helper()
	g := NewWithT(t)
	opened, err := store.Open(s.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	plain := d.Files[0]
	d.Encryption = &backup.Encryption{Scheme: backup.SchemeAge, Recipient: "age1somebody"}
	d.Files = []backup.File{{Name: "1.bak.age", Bytes: plain.Bytes, SHA256: plain.SHA256, Plain: &plain}}
	g.Expect(opened.Put(t.Context(), d.KeyOf("1.bak.age"), make([]byte, plain.Bytes))).To(Succeed())
	encoded, err := d.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.Put(t.Context(), d.Key(), encoded)).To(Succeed())
	return d
}

// With a BackupStore and its Secrets alone everything in the bucket is shown: of a group whose policy there is, and of
// a server of which the hub knows nothing.
func TestListReadsTheStore(t *testing.T) {
	g := NewWithT(t)
	s := bucket.Start(t)
	full := put(t, s, "group/content", backup.Set{ID: "full", Kind: backup.Full, FirstLSN: "10", LastLSN: "20",
		Finished: noon.Add(-time.Hour), CopyOnly: true}, "verified.json")
	put(t, s, "group/content", backup.Set{ID: "log", Kind: backup.Log, FirstLSN: "10", LastLSN: "30",
		Finished: noon.Add(-time.Minute)}, "")
	put(t, s, "server/gone", backup.Set{ID: "other", Kind: backup.Full, FirstLSN: "10", LastLSN: "20",
		Finished: noon.Add(-2 * time.Hour)}, "damaged.json")
	hub := terminal.Hub(bucketAlone(s)...).Build()
	text, err := run(t, hub, func(l look) error { return list(l, "", &listFlags{output: "text", store: true}) })
	g.Expect(err).NotTo(HaveOccurred())
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	g.Expect(lines).To(ContainElements(
		"group/content Content 2026-03-01T11:00:00Z 2026-03-01T11:59:00Z",
		"server/gone Content nothing",
		"Full (copy) Content 2026-03-01T11:00:00Z 13 B verified tukpub-0 "+full.Folder(),
		ContainSubstring("Log Content 2026-03-01T11:59:00Z 12 B not read back"),
		ContainSubstring("Full Content 2026-03-01T10:00:00Z 14 B damaged"),
	))
	g.Expect(text).NotTo(ContainSubstring(s.Bucket.SecretKey))

	// What is encrypted is shown without the key; the Secret that has it need not be there.
	sealed := encrypt(t, s, full)
	objects := bucketAlone(s)
	objects[2].(*v1alpha1.BackupStore).Spec.Encryption = &v1alpha1.BackupEncryption{
		KeySecretRef: v1alpha1.SecretReference{Name: "not-here"}}
	text, err = run(t, terminal.Hub(objects...).Build(), func(l look) error {
		return list(l, "", &listFlags{output: "text", store: true})
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Join(strings.Fields(text), " ")).
		To(ContainSubstring("verified, encrypted tukpub-0 " + sealed.Folder()))

	// A policy's alone, as JSON.
	hub = terminal.Hub(append(bucketAlone(s), policy())...).Build()
	text, err = run(t, hub, func(l look) error { return list(l, "content", &listFlags{output: "json", store: true}) })
	g.Expect(err).NotTo(HaveOccurred())
	var read struct{ Stores []storeShown }
	g.Expect(json.Unmarshal([]byte(text), &read)).To(Succeed())
	g.Expect(read.Stores).To(HaveLen(1))
	g.Expect(read.Stores[0].Databases).To(HaveLen(1))
	g.Expect(read.Stores[0].Databases[0].Sets).To(HaveLen(2))
	g.Expect(read.Stores[0].Databases[0].Windows).To(HaveLen(1))

	// A store that does not answer is an error, and what others say is shown before.
	s.Stop()
	text, err = run(t, hub, func(l look) error { return list(l, "", &listFlags{output: "json", store: true}) })
	g.Expect(err).To(MatchError(ContainSubstring("BackupStore s3: ")))
	g.Expect(text).To(ContainSubstring(`"stores": []`))
}

// What the retention has no need of is shown with why, and goes when that is wanted; what is left restores as before.
func TestPrune(t *testing.T) {
	g := NewWithT(t)
	s := bucket.Start(t)
	put(t, s, "group/content", backup.Set{ID: "old", Kind: backup.Full, FirstLSN: "10", LastLSN: "20",
		Finished: noon.Add(-99 * time.Hour)}, "verified.json")
	newest := func(mark string) {
		put(t, s, "group/content", backup.Set{ID: "full", Kind: backup.Full, FirstLSN: "30", LastLSN: "40",
			Finished: noon.Add(-time.Hour)}, mark)
		put(t, s, "group/content", backup.Set{ID: "log", Kind: backup.Log, FirstLSN: "30", LastLSN: "50",
			Finished: noon.Add(-time.Minute)}, mark)
	}
	newest("")
	other := put(t, s, "server/other", backup.Set{ID: "other", Kind: backup.Full, FirstLSN: "10", LastLSN: "20",
		Finished: noon.Add(-99 * time.Hour)}, "")
	p := policy()
	hub := terminal.Hub(append(bucketAlone(s), p)...).Build()
	keys := func() []string {
		opened, err := store.Open(s.Bucket)
		g.Expect(err).NotTo(HaveOccurred())
		defer opened.Close()
		objects, err := opened.List(t.Context(), "web/")
		g.Expect(err).NotTo(HaveOccurred())
		var all []string
		for _, o := range objects {
			all = append(all, o.Key)
		}
		return all
	}
	pruned := func(yes bool) string {
		text, err := run(t, hub, func(l look) error {
			return prune(l, "content", &pruneFlags{yes: yes, now: func() time.Time { return noon }})
		})
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
	before := keys()
	g.Expect(pruned(true)).To(And(ContainSubstring("there is no retention"), ContainSubstring("0 of 3 backups may go")))
	g.Expect(keys()).To(Equal(before))

	p.Spec.Retention = &v1alpha1.BackupRetention{Fulls: 1}
	g.Expect(hub.Update(t.Context(), p)).To(Succeed())
	g.Expect(pruned(true)).To(And(ContainSubstring("0 of 3 backups may go"),
		MatchRegexp(`keep +Full +Content +2026-02-25T09:00:00Z +12 B +the newest point needs it`)))
	newest("verified.json")
	opened, err := store.Open(s.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	owner, err := backup.Owner{Hub: "another", Claim: "c", Policy: "web/theirs"}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.Put(t.Context(), backup.OwnerKey("web/group/content"), owner)).To(Succeed())
	g.Expect(hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem,
		UID: "this"}})).To(Succeed())
	before = keys()
	_, err = run(t, hub, func(l look) error {
		return prune(l, "content", &pruneFlags{yes: true, now: func() time.Time { return noon }})
	})
	g.Expect(err).To(MatchError(ContainSubstring("that of another hub, by its BackupPolicy web/theirs")))
	g.Expect(keys()).To(Equal(before))
	owner, err = backup.Owner{Hub: "this", Claim: "d"}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.Put(t.Context(), backup.OwnerKey("web/group/content"), owner)).To(Succeed())
	text := pruned(false)
	g.Expect(text).To(And(MatchRegexp(`remove +Full +Content +2026-02-25T09:00:00Z +12 B +nothing needs it`),
		MatchRegexp(`keep +Log .* the newest point needs it`), ContainSubstring("1 of 3 backups may go, with 12 B"),
		ContainSubstring("Nothing was changed.")))
	g.Expect(keys()).To(Equal(before))
	g.Expect(pruned(true)).To(ContainSubstring("removed web/group/content/Content/20260225T090000Z-full-old"))
	after := keys()
	g.Expect(after).To(HaveLen(len(before) - 3))
	g.Expect(after).To(ContainElement(other.Key()))
	g.Expect(after).NotTo(ContainElement(ContainSubstring("-full-old/")))
	g.Expect(pruned(true)).To(ContainSubstring("0 of 2 backups may go"))
}
