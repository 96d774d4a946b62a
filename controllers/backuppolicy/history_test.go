// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/reconcile"
)

// pastSet is a full set that ended so many hours ago.
func pastSet(id string, hours int, in ...backups.AnswerPlace) backups.PastSet {
	at := noon.Add(-time.Duration(hours) * time.Hour)
	return backups.PastSet{ID: id, Kind: backup.Full, Database: "Content", Folder: "web/group/content/Content/" + id,
		Server: "tukpub-0", FirstLSN: "10", LastLSN: "20", Begun: at.Add(-2 * time.Second), Finished: at, Bytes: 3000,
		Stored: 1000, In: in}
}

// tells has servers tell of sets, whole or not.
func tells(o *Observed, whole bool, sets ...backups.PastSet) {
	for name := range o.Servers {
		says, err := o.Servers[name].Says.Get()
		if err == nil && says != nil {
			says.Past, says.PastWhole = sets, whole
		}
	}
}

// recorded is the record of a set.
func recorded(d Desired, id string, hours int, edit func(*v1alpha1.Backup)) v1alpha1.Backup {
	b := *recordOf(d.Policy, pastSet(id, hours))
	b.UID = types.UID("uid-" + id)
	if edit != nil {
		edit(&b)
	}
	return b
}

func TestWhatIsRecorded(t *testing.T) {
	away := errors.New("nobody answers")
	for _, row := range []struct {
		why   string
		limit int32
		edit  func(*Desired, *Observed)
		steps []string
	}{
		{why: "nothing was taken"},
		{why: "two were, the newest first", edit: func(_ *Desired, o *Observed) {
			tells(o, true, pastSet("aaaaaaaa-1", 2), pastSet("bbbbbbbb-2", 1))
		}, steps: []string{"record a backup as Backup nightly-20260301t110000z-bbbbbbbb",
			"record a backup as Backup nightly-20260301t100000z-aaaaaaaa"}},
		{why: "they are recorded already", edit: func(d *Desired, o *Observed) {
			tells(o, true, pastSet("a", 2), pastSet("b", 1))
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 2, nil), recorded(*d, "b", 1, nil)}
		}},
		{why: "no more than the limit, though a store is not listed", limit: 1, edit: func(_ *Desired, o *Observed) {
			tells(o, false, pastSet("a", 2), pastSet("b", 1))
		}, steps: []string{"record a backup as Backup nightly-20260301t110000z-b"}},
		{why: "what is beyond the limit goes", limit: 2, edit: func(d *Desired, o *Observed) {
			tells(o, false, pastSet("a", 3), pastSet("b", 2), pastSet("c", 1))
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 3, nil), recorded(*d, "b", 2, nil)}
		}, steps: []string{"delete Backup nightly-20260301t090000z-a, a record: beyond the history limit",
			"record a backup as Backup nightly-20260301t110000z-c"}},
		{why: "a set that was removed", edit: func(d *Desired, o *Observed) {
			tells(o, true, pastSet("b", 1))
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 2, nil), recorded(*d, "b", 1, nil)}
		}, steps: []string{"delete Backup nightly-20260301t100000z-a, a record: every server and store has told what there " +
			"is, and no set a"}},
		{why: "one that may be in a store that does not answer", edit: func(d *Desired, o *Observed) {
			tells(o, false, pastSet("b", 1))
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 2, nil), recorded(*d, "b", 1, nil)}
		}},
		{why: "or at a server that does not", edit: func(d *Desired, o *Observed) {
			tells(o, true, pastSet("b", 1))
			o.Servers["quisec"] = Server{Order: o.Servers["quisec"].Order, Says: reconcile.NotRead[*backups.Status](away)}
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 2, nil), recorded(*d, "b", 1, nil)}
		}},
		{why: "one that is not told counts as long as it is not known to be gone", limit: 1,
			edit: func(d *Desired, o *Observed) {
				tells(o, false, pastSet("a", 2))
				d.Backups = []v1alpha1.Backup{recorded(*d, "b", 1, nil)}
			}},
		{why: "an agent of an earlier release tells nothing", edit: func(d *Desired, o *Observed) {
			tells(o, false)
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 2, nil)}
		}},
		{why: "what people declared is neither counted nor deleted", limit: 1, edit: func(d *Desired, o *Observed) {
			tells(o, true, pastSet("b", 2))
			d.Backups = []v1alpha1.Backup{
				recorded(*d, "x", 1, func(b *v1alpha1.Backup) { b.Spec.Record = nil }),
				recorded(*d, "y", 1, func(b *v1alpha1.Backup) { b.OwnerReferences = nil }),
				recorded(*d, "z", 1, func(b *v1alpha1.Backup) { b.OwnerReferences[0].UID = "former" }),
				recorded(*d, "a", 3, nil),
			}
		}, steps: []string{"delete Backup nightly-20260301t090000z-a, a record: every server and store has told what there " +
			"is, and no set a", "record a backup as Backup nightly-20260301t100000z-b"}},
		{why: "one that is being deleted is waited for", edit: func(d *Desired, o *Observed) {
			tells(o, true, pastSet("a", 1))
			d.Backups = []v1alpha1.Backup{recorded(*d, "a", 1, func(b *v1alpha1.Backup) {
				b.DeletionTimestamp = &metav1.Time{Time: noon}
			})}
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			d, o := desired(), observed(t, noon)
			d.Policy.UID, d.Policy.Spec.HistoryLimit = "p1", row.limit
			if row.edit != nil {
				row.edit(&d, &o)
			}
			var steps []string
			for _, s := range plan(d, o).Steps {
				steps = append(steps, s.Describe())
			}
			NewWithT(t).Expect(steps).To(Equal(row.steps))
		})
	}
}

// A hub that was away for long records the newest ones, ten unless the policy says otherwise.
func TestAHubThatWasAwayRecordsTheNewest(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	var all []backups.PastSet
	for n := range 50 {
		all = append(all, pastSet(fmt.Sprintf("set-%d", n), n+1))
	}
	slices.Reverse(all)
	tells(&o, true, all...)
	p := plan(d, o)
	g.Expect(p.Steps).To(HaveLen(historyDefault))
	for n, s := range p.Steps {
		b := s.(Record).Backup
		g.Expect(b.Spec).To(Equal(v1alpha1.BackupSpec{Policy: "nightly", Type: v1alpha1.BackupFull,
			Databases: []v1alpha1.DatabaseName{"Content"}, Record: &v1alpha1.BackupRecord{Set: fmt.Sprintf("set-%d", n),
				Finished: metav1.NewTime(noon.Add(-time.Duration(n+1) * time.Hour))}}))
		g.Expect(b.Labels).To(HaveKeyWithValue("geosql.dev/backup-policy", "nightly"))
		d.Backups = append(d.Backups, *b)
	}
	// None of them is told to the servers as something to take.
	g.Expect(asks(d.Backups)).To(BeEmpty())
	before, err := desired().Order.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(order(d, o).Encode()).To(Equal(before))
}

// What the servers tell of a set that is recorded is told its record until that has its outcome.
func TestWhatIsToldOfRecords(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	d.Policy.UID = "p1"
	tukpub, _ := o.Servers["tukpub"].Says.Get()
	quisec, _ := o.Servers["quisec"].Says.Get()
	tukpub.Past = []backups.PastSet{pastSet("a", 1, backups.AnswerPlace{Store: "near"})}
	quisec.Past = []backups.PastSet{pastSet("a", 1, backups.AnswerPlace{Store: "near", Verified: true})}
	d.Backups = []v1alpha1.Backup{recorded(d, "a", 1, nil), recorded(d, "unknown", 2, nil)}
	s := reported(d, o)
	g.Expect(s.Answers).To(HaveLen(1))
	g.Expect(s.Answers[0].Request).To(Equal("uid-a/Content"))
	g.Expect(s.Answers[0].Set).To(And(HaveField("ID", "a"), HaveField("Ratio", "3.0"),
		HaveField("BytesPerSecond", int64(1500)), HaveField("Duration.Duration", 2*time.Second),
		HaveField("Folder", "web/group/content/Content/a"),
		HaveField("Places", ConsistOf(v1alpha1.BackupSetPlace{Store: "near", Verified: true}))))
	d.Policy.Status = s
	o.Servers = map[v1alpha1.ServerName]Server{}
	g.Expect(reported(d, o).Answers).To(Equal(s.Answers))
	d.Backups[0].Status.Outcome = v1alpha1.BackupSucceeded
	g.Expect(reported(d, o).Answers).To(BeEmpty())
}
