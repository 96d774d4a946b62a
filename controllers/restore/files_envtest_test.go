// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

// What cannot be meant is refused at once, and what is said names the field.
func TestSourcesThatAreRefused(t *testing.T) {
	b := newBed(t)
	files := []v1alpha1.ObjectKey{"imports/Sales.bak"}
	many := make([]v1alpha1.ObjectKey, 65)
	for n := range many {
		many[n] = v1alpha1.ObjectKey("imports/" + strings.Repeat("x", n+1))
	}
	target := v1alpha1.RestoreTarget{Server: "quisec", Database: "Sales"}
	for _, row := range []struct {
		why, says string
		source    v1alpha1.RestoreSource
		target    v1alpha1.RestoreTarget
	}{
		{why: "files", source: v1alpha1.RestoreSource{Store: "s3", Files: files}},
		{why: "a folder", source: v1alpha1.RestoreSource{Store: "s3", Folder: "imports/Sales"}},
		{why: "all that goes together", source: v1alpha1.RestoreSource{Store: "s3", Files: many[:64], Folder: "imports",
			Database: "Sales", TimeZone: "America/Argentina/Buenos_Aires"}},
		{why: "no store", source: v1alpha1.RestoreSource{Files: files}, says: "name exactly one of policy"},
		{why: "a policy", source: v1alpha1.RestoreSource{Policy: "nightly", Database: "Content", Files: files},
			says: "path, or files or folder, go with store"},
		{why: "a path", source: v1alpha1.RestoreSource{Store: "s3", Path: "web/group/content/Content", Files: files},
			says: "files and folder do not go with it"},
		{why: "a store alone", source: v1alpha1.RestoreSource{Store: "s3"}, says: "one is needed there"},
		{why: "a store with a database alone", source: v1alpha1.RestoreSource{Store: "s3", Database: "Content",
			Path: "web/group/content/Content"}, says: "database goes with policy, or with files or folder"},
		{why: "too many", source: v1alpha1.RestoreSource{Store: "s3", Files: many}, says: "at most 64"},
		{why: "one twice", source: v1alpha1.RestoreSource{Store: "s3", Files: append(files, files...)}, says: "Duplicate"},
		{why: "from the root", source: v1alpha1.RestoreSource{Store: "s3", Files: []v1alpha1.ObjectKey{"/Sales.bak"}},
			says: "a key has no slash at either end"},
		{why: "out of the prefix", source: v1alpha1.RestoreSource{Store: "s3", Folder: "imports/../others"},
			says: "a key has no slash at either end"},
		{why: "a folder with a slash", source: v1alpha1.RestoreSource{Store: "s3", Folder: "imports/"},
			says: "a key has no slash at either end"},
		{why: "no zone", source: v1alpha1.RestoreSource{Store: "s3", Files: files, TimeZone: "../etc/passwd"},
			says: "timeZone is a name in the tz database"},
		{why: "a zone without files", source: v1alpha1.RestoreSource{Store: "s3", Path: "web/group/content/Content",
			TimeZone: "Europe/Dublin"}, says: "timeZone goes with files or folder"},
		{why: "no name", source: v1alpha1.RestoreSource{Store: "s3", Files: files},
			target: v1alpha1.RestoreTarget{Server: "quisec"}, says: "target.database is needed with source.files"},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			r := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", GenerateName: "x-"},
				Spec: v1alpha1.RestoreSpec{Source: row.source, Target: target, DryRun: true}}
			if row.target.Server != "" {
				r.Spec.Target = row.target
			}
			err := b.hub.Client.Create(t.Context(), r)
			if row.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(b.hub.Client.Delete(t.Context(), r)).To(Succeed())
				return
			}
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(row.says))
		})
	}
}

// The sample is one that the API server takes.
func TestTheSampleIsTaken(t *testing.T) {
	g, hub := NewWithT(t), apiserver.StartHub(t)
	hub.Namespace(t, "web")
	content, err := os.ReadFile(filepath.Join(checkout.Root(), "config", "samples", "restore_files.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var r v1alpha1.Restore
	g.Expect(yaml.UnmarshalStrict(content, &r)).To(Succeed())
	g.Expect(r.Spec.Source.Files).To(HaveLen(2))
	g.Expect(hub.Client.Create(t.Context(), &r)).To(Succeed())
}

// A dry run from files asks the engine what is in them: its agent has the right to for that time. What it found stays.
func TestADryRunFromFiles(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.store()
	r := b.restore("look", v1alpha1.RestoreSpec{DryRun: true, Source: v1alpha1.RestoreSource{Store: "s3",
		Files: []v1alpha1.ObjectKey{"imports/Sales.bak", "imports/Sales_1.trn"}, Database: "Sales",
		TimeZone: "Europe/Dublin"}, Target: v1alpha1.RestoreTarget{Server: "quisec", Database: "Sales"}})
	g.Eventually(b.order("look"), patient, often).ShouldNot(BeNil())
	g.Expect(b.order("look")().Folder).To(Equal(orders.ImportFolder))
	g.Expect(b.order("look")().Import).To(Equal(&orders.Import{Files: []string{"imports/Sales.bak", "imports/Sales_1.trn"},
		Database: "Sales", TimeZone: "Europe/Dublin"}))
	g.Expect(b.rights()).To(ContainElement(mayMake), "before the order")
	says := restores.Status{Name: "look", UID: string(r.UID), Step: restores.Ended, Database: "Sales", Store: "s3",
		Sets: 1, Bytes: 100, Downloaded: 100, Started: time.Now(), ToTime: time.Now(), UnusedSets: 70,
		Chain: []restores.SetStatus{{ID: "f", Kind: backup.Full, FirstLSN: "1", LastLSN: "2", Finished: time.Now(),
			Bytes: 100, Files: []string{"imports/Sales.bak"}, Position: 2}},
		Unused: []backup.Unused{{Key: "imports/Sales_1.trn", Position: 1, Kind: backup.Log, Database: "Sales",
			Why: "it leads nowhere"}},
		Result: &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestorePlanned, Message: "1 set",
			Finished: time.Now()}}
	b.agent.say(says)
	g.Eventually(b.status("look"), patient, often).Should(And(
		ready(metav1.ConditionTrue, v1alpha1.ReasonRestorePlanned), HaveField("Phase", v1alpha1.RestoreCompleted)))
	g.Expect(b.order("look")()).To(BeNil())
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))
	status := b.status("look")()
	g.Expect(status.Chain).To(ConsistOf(And(HaveField("Files", []string{"imports/Sales.bak"}),
		HaveField("Position", int32(2)))))
	g.Expect(status.Unused).To(Equal([]v1alpha1.UnusedSet{{File: "imports/Sales_1.trn", Position: 1, Type: "Log",
		Database: "Sales", Why: "it leads nowhere"}}))
	g.Expect(status.UnusedSets).To(BeEquivalentTo(70))

	b.restore("zone", v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Store: "s3", Folder: "imports",
		TimeZone: "Europe/Atlantis"}, Target: v1alpha1.RestoreTarget{Server: "quisec", Database: "Sales"}})
	g.Eventually(b.status("zone"), patient, often).Should(And(
		ready(metav1.ConditionFalse, v1alpha1.ReasonRestoreRefused),
		HaveField("Message", ContainSubstring("Europe/Atlantis"))))
	g.Expect(b.order("zone")()).To(BeNil())
}
