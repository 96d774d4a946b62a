// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/conf"
)

// filesBelow are the contents of the files below a folder, by their paths.
func filesBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	NewWithT(t).Expect(filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err == nil {
			all[below], err = os.ReadFile(name)
		}
		return err
	})).To(Succeed())
	return all
}

// bring writes a file into a folder.
func bring(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	NewWithT(t).Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)).To(Succeed())
	NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, name), content, 0o644)).To(Succeed())
}

// A person brings the files of the snapshot from where status says they are to where it says they go. One that is torn
// is named, and nothing is applied; once it is whole the subscriber has its copy, of which nothing went over the link.
func TestAPersonBringsTheSnapshot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 200)
	d, p := published()
	s := subscribed(v1alpha1.SubscriptionPull)
	s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeManual,
		Manual: &v1alpha1.ManualInitialization{Folder: "disks/articles"}}
	b.create(t, d, p, s)
	brought := func() *v1alpha1.BroughtCopy {
		b.nudgeAll(t)
		if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || s.Status.Copy == nil {
			return nil
		}
		return s.Status.Copy.Brought
	}
	g.Eventually(brought, patient, 500*time.Millisecond).ShouldNot(BeNil())
	at := brought()
	source := filepath.Join(b.snapshots["dist"], strings.TrimPrefix(at.Source, conf.SnapshotDir))
	contents := filesBelow(t, source)
	list, torn := sha256.New(), ""
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(contents[name]), name)
		if strings.HasSuffix(name, ".bcp") && len(contents[name]) > 1 {
			torn = name
		}
	}
	g.Expect(torn).NotTo(BeEmpty())
	g.Expect(at).To(And(HaveField("Server", "dist-0"), HaveField("Folder", conf.BroughtDir+"/disks/articles"),
		HaveField("Files", BeEquivalentTo(len(contents))), HaveField("Manifest", fmt.Sprintf("%x", list.Sum(nil)))))

	folder := b.engines["dubsub"].OnDisk(at.Folder)
	g.Expect(folder).To(BeADirectory(), "somebody is to fill it")
	for name, content := range contents {
		if name == torn {
			content = content[:len(content)-1]
		}
		bring(t, folder, filepath.Join("disk-1", name), content)
	}
	g.Eventually(func() []v1alpha1.LackingFile {
		if at := brought(); at != nil {
			return at.Lacking
		}
		return nil
	}, patient, 500*time.Millisecond).Should(HaveExactElements(v1alpha1.LackingFile{File: torn, Why: "Differs"}))
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonWaitingForFiles)
	g.Expect(b.rowsIn(t, "dubsub", "Content", "SELECT name FROM sys.tables WHERE name = N'Article'")).To(Equal("[]"))

	bring(t, folder, torn, contents[torn])
	b.waitFor(t, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering)
	g.Expect(b.sum(t, "dubsub", "dbo.Article")()).To(Equal(b.sum(t, "tukpub", "dbo.Article")()))
	g.Expect(s.Status.Copy).To(And(HaveField("Phase", v1alpha1.CopyDone), HaveField("MovedBytes", BeZero()),
		HaveField("ReusedBytes", s.Status.Copy.Bytes), HaveField("Brought.LackingFiles", BeZero())))
	g.Expect(filesBelow(t, folder)).To(HaveLen(len(contents)+1), "all that was brought stays, and the torn one")

	b.sql(t, "tukpub", "Content", "UPDATE dbo.Article SET Body = N'changed' WHERE Id = 8")
	g.Eventually(func() string { return b.rowsIn(t, "dubsub", "Content", "SELECT Body FROM dbo.Article WHERE Id = 8") },
		patient, 200*time.Millisecond).Should(Equal("[changed]"))
}
