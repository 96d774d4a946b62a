// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// The Subscription's word is before the Publication's, and the annotation makes Compare of a snapshot alone.
func TestMethod(t *testing.T) {
	const snapshot, none = v1alpha1.InitializeSnapshot, v1alpha1.InitializeReplicationSupportOnly
	const backup = v1alpha1.InitializeBackup
	const compare v1alpha1.InitializationMethod = v1alpha1.InitializeCompare
	const manual, packed = v1alpha1.InitializeManual, v1alpha1.InitializeCompressedSnapshot
	for name, c := range map[string]struct {
		published, subscribed v1alpha1.InitializationMethod
		annotated             bool
		method                v1alpha1.InitializationMethod
		// snapshots tells whether the Publication makes some for this Subscription or others.
		snapshots bool
		noCopies  string
	}{
		"nothing is said":                      {"", "", false, snapshot, true, "Publication articles"},
		"annotated":                            {"", "", true, compare, true, "Publication articles"},
		"the Publication compares":             {compare, "", false, compare, true, "Publication articles"},
		"the Publication copies nothing":       {none, "", false, none, false, "Publication articles"},
		"an annotation copies nothing":         {none, "", true, none, false, "Publication articles"},
		"a snapshot of one alone":              {none, snapshot, false, snapshot, true, "Subscription dublin"},
		"one that is compared alone":           {none, compare, false, compare, true, "Subscription dublin"},
		"a snapshot of one, annotated":         {none, snapshot, true, compare, true, "Subscription dublin"},
		"one that gets nothing":                {snapshot, none, false, none, true, "Subscription dublin"},
		"one that gets nothing, annotated":     {snapshot, none, true, none, true, "Subscription dublin"},
		"one that begins with a backup":        {none, backup, false, backup, false, "Subscription dublin"},
		"all begin with a backup":              {backup, "", false, backup, false, "Publication articles"},
		"a backup, annotated":                  {backup, "", true, compare, true, "Publication articles"},
		"a snapshot where others are compared": {compare, snapshot, false, snapshot, true, "Subscription dublin"},
		"files that a person brings":           {none, manual, false, manual, true, "Subscription dublin"},
		"files that a person brings to all":    {manual, "", false, manual, true, "Publication articles"},
		"packed once":                          {compare, packed, false, packed, true, "Subscription dublin"},
		"packed once, annotated":               {packed, "", true, compare, true, "Publication articles"},
		"such files, annotated":                {"", manual, true, compare, true, "Subscription dublin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := &v1alpha1.Publication{}, v1alpha1.Subscription{}
			p.Name, s.Name = "articles", "dublin"
			if c.published != "" {
				p.Spec.Initialization = &v1alpha1.Initialization{Method: c.published}
			}
			if c.subscribed != "" {
				s.Spec.Initialization = &v1alpha1.Initialization{Method: c.subscribed}
			}
			if c.annotated {
				s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
			}
			g.Expect(p.InitializationOf(&s)).To(Equal(c.method))
			g.Expect(p.Copies(&s)).To(Equal(c.method != none && c.method != backup))
			g.Expect(Snapshots(p, []v1alpha1.Subscription{s})).To(Equal(c.snapshots))
			g.Expect(Snapshots(p, nil)).To(Equal(c.published != none && c.published != backup))
			g.Expect(NoCopies(p, &s)).To(Equal(c.noCopies))
		})
	}
}

// Files are brought where the method says so, of the Subscription before the Publication: a comparison that a move asks
// for has nobody fetch them, and what is copied by a schedule is fetched.
func TestWhereFilesAreBrought(t *testing.T) {
	to := func(folder string) *v1alpha1.Initialization {
		return &v1alpha1.Initialization{Method: v1alpha1.InitializeManual,
			Manual: &v1alpha1.ManualInitialization{Folder: folder}}
	}
	snapshot := &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
	size, route := &v1alpha1.CopySize{Rows: 12, Bytes: 7_500_000_000}, Route{Site: "dublin"}
	for name, c := range map[string]struct {
		published, own *v1alpha1.Initialization
		scheduled      bool
		folder, price  string
	}{
		"fetched":           {price: "12 rows, 7.0 GiB, within site dublin"},
		"fetched after all": {published: to("all"), own: snapshot, price: "12 rows, 7.0 GiB, within site dublin"},
		"to one": {own: to("disk/1"), folder: "disk/1", price: "12 rows, 7.0 GiB (a person brings its files to " +
			"/var/opt/mssql-backup/brought/disk/1 of dubsub-0; over the link goes the list of them alone)"},
		"to all": {published: to("all"), folder: "all", price: "12 rows, 7.0 GiB (a person brings its files to " +
			"/var/opt/mssql-backup/brought/all of dubsub-0; over the link goes the list of them alone)"},
		"to one otherwise": {published: to("all"), own: to("one"), folder: "one", price: "12 rows, 7.0 GiB (a person " +
			"brings its files to /var/opt/mssql-backup/brought/one of dubsub-0; over the link goes the list of them alone)"},
		"by a schedule": {own: to("one"), scheduled: true, price: "12 rows, 7.0 GiB, within site dublin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := &v1alpha1.Publication{}, &v1alpha1.Subscription{}
			p.Spec.Initialization, s.Spec.Initialization = c.published, c.own
			if s.Spec.Subscriber.Server = "dubsub"; c.scheduled {
				p.Spec.Type = v1alpha1.PublicationSnapshot
			}
			g.Expect(p.Brought(s)).To(Equal(c.folder))
			g.Expect(PriceTo(p, s, size, 1, route)).To(Equal(c.price))
			s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
			g.Expect(p.Brought(s)).To(Equal(c.folder))
		})
	}
	NewWithT(t).Expect(PriceTo(&v1alpha1.Publication{}, &v1alpha1.Subscription{Spec: v1alpha1.SubscriptionSpec{
		Initialization: to("x")}}, nil, 1, route)).To(HavePrefix("whose size is not measured yet (a person brings"))
}

// What is packed once is told by the Subscription before the Publication, also where a schedule copies it; the price
// says so.
func TestWhatIsPackedOnce(t *testing.T) {
	g := NewWithT(t)
	p, s := &v1alpha1.Publication{}, &v1alpha1.Subscription{}
	g.Expect(p.Packs(s)).To(BeFalse())
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompressedSnapshot}
	p.Spec.Type = v1alpha1.PublicationSnapshot
	g.Expect(p.Packs(s)).To(BeTrue())
	g.Expect(p.Packs(nil)).To(BeTrue())
	g.Expect(PriceTo(p, s, &v1alpha1.CopySize{Rows: 12, Bytes: 7_500_000_000}, 1, Route{Site: "dublin"})).To(Equal(
		"12 rows, 7.0 GiB, within site dublin (packed once at the distributor, of which less goes over the link)"))
	s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeSnapshot}
	g.Expect(p.Packs(s)).To(BeFalse())
}
