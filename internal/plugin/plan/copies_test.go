// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	topologies "geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/internal/topology"
)

// What a copy costs stands in the plan: rows and bytes once the publisher has measured them, and the link.
func TestWhatCopiesCost(t *testing.T) {
	const link = "from site tukwila to quincy (round trip 4ms, 1Gbit) and on to dublin (round trip 146ms, " +
		"1Gbit)"
	size := &v1alpha1.CopySize{Rows: 12, Bytes: 7_500_000_000}
	for name, c := range map[string]struct {
		verb   topologies.Verb
		size   *v1alpha1.CopySize
		was    v1alpha1.SubscriptionType
		method v1alpha1.InitializationMethod
		says   string
	}{
		"new": {topologies.Create, nil, "", "", "    its first copy: whose size is not measured yet, " + link + "\n"},
		"new to a publication that is there": {topologies.Create, size, "", v1alpha1.InitializeSnapshot,
			"    its first copy: 12 rows, 7.0 GiB, " + link + ", on its way for at least 2m2s\n"},
		"compared": {topologies.Create, size, "", v1alpha1.InitializeCompare, "    its tables are kept where all are equal " +
			"to the publisher's; else its first copy: 12 rows, 7.0 GiB, " + link + ", on its way for at least 2m2s\n"},
		"brought": {topologies.Create, size, "", v1alpha1.InitializeReplicationSupportOnly,
			"    it gets no copy: a person brings the data\n"},
		"packed once": {topologies.Create, size, "", v1alpha1.InitializeCompressedSnapshot, "    its first copy: 12 rows, " +
			"7.0 GiB, " + link + ", on its way for at least 2m2s (packed once at the distributor, of which less goes over the " +
			"link)\n"},
		"brought as files": {topologies.Create, size, "", v1alpha1.InitializeManual, "    its first copy: 12 rows, 7.0 GiB " +
			"(a person brings its files to /var/opt/mssql-backup/brought/disk of dubsub-0; over the link goes the list of " +
			"them alone)\n"},
		"a backup": {topologies.Create, size, "", v1alpha1.InitializeBackup, "    it begins with a backup of all of " +
			"Content, of which the articles are: 12 rows, 7.0 GiB, " + link + ", on its way for at least 2m2s\n"},
		"another type": {topologies.Change, size, v1alpha1.SubscriptionPush, "", "    the other type takes a new copy, " +
			"made when it is asked for unless reinitialization is Automatic: 12 rows, 7.0 GiB, " + link +
			", on its way for at least 2m2s\n"},
		"another type, of what begins with a backup": {topologies.Change, size, v1alpha1.SubscriptionPush,
			v1alpha1.InitializeBackup, "    the other type takes a new copy, which a backup does not bring: once it is " +
				"registered it stays what it is\n"},
		"something else": {topologies.Change, size, v1alpha1.SubscriptionPull, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := planned(g, c.verb)
			var out bytes.Buffer
			p.out = &out
			x := s.Object.(*v1alpha1.Subscription)
			x.Spec.Initialization = &v1alpha1.Initialization{Method: c.method}
			if c.method == v1alpha1.InitializeManual {
				x.Spec.Initialization.Manual = &v1alpha1.ManualInitialization{Folder: "disk"}
			}
			if c.size != nil {
				live := &v1alpha1.Publication{Status: v1alpha1.PublicationStatus{Size: c.size}}
				live.Name = "articles"
				p.observed.Objects[topologies.Key{Kind: "Publication", Name: "articles"}] = live
			}
			if c.was != "" {
				was := x.DeepCopy()
				was.Spec.Type = c.was
				s.Existing = was
			}
			p.copies(s)
			g.Expect(out.String()).To(Equal(c.says))
		})
	}
}

// Tables that a person has brought are compared by another method: the plan says until when they are kept, and what a
// copy costs, also where the Publication has it.
func TestWhatAnotherMethodOfWhatWasBroughtCosts(t *testing.T) {
	const compare, none = v1alpha1.InitializeCompare, v1alpha1.InitializeReplicationSupportOnly
	const backup = v1alpha1.InitializeBackup
	for name, c := range map[string]struct {
		began, own, published v1alpha1.InitializationMethod
		says                  string
	}{
		"the Subscription's": {none, compare, none, "a person has brought, are compared, and kept unless they differ: " +
			"12 rows, 7.0 GiB, from site"},
		"the Publication's": {none, none, compare, "are compared, and kept until a new copy is asked for: 12 rows, 7.0 GiB"},
		"neither's":         {none, none, none, ""},
		"the Subscription's, of what began with a backup": {backup, compare, backup, "which came with a backup, are " +
			"compared where their articles came later, and kept unless they differ: 12 rows"},
		"the Publication's, of what began with a backup": {backup, backup, compare, "which came with a backup, are " +
			"compared where their articles came later, and kept until a new copy is asked for: 12 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := planned(g, topologies.Change)
			var out bytes.Buffer
			p.out = &out
			x := s.Object.(*v1alpha1.Subscription)
			declared := p.published(string(x.Spec.Publication))
			live := declared.DeepCopy()
			live.Spec.Initialization = &v1alpha1.Initialization{Method: c.began}
			live.Status.Size = &v1alpha1.CopySize{Rows: 12, Bytes: 7_500_000_000}
			p.observed.Objects[topologies.Key{Kind: "Publication", Name: live.Name}] = live
			was := x.DeepCopy()
			was.Spec.Initialization = nil
			was.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: c.began}
			p.observed.Objects[topologies.Key{Kind: "Subscription", Name: x.Name}] = was
			s.Existing = was
			declared.Spec.Initialization = &v1alpha1.Initialization{Method: c.published}
			if c.published == compare {
				s.Object, s.Existing = declared, live
			} else {
				x.Spec.Initialization = &v1alpha1.Initialization{Method: c.own}
			}
			p.copies(s)
			if c.says == "" {
				g.Expect(out.String()).To(BeEmpty())
				return
			}
			g.Expect(out.String()).To(And(HavePrefix("    the tables of "+x.Name+", which "), ContainSubstring(c.says)))
		})
	}
}

// planned is a step with the subscription of the examples.
func planned(g *WithT, verb topologies.Verb) (*planner, topologies.Step) {
	var manifests []byte
	for _, file := range []string{"sites.yaml", "msdn.yaml"} {
		data, err := os.ReadFile(examples + file)
		g.Expect(err).NotTo(HaveOccurred())
		manifests = append(append(manifests, "\n---\n"...), data...)
	}
	snapshot, err := overview.Decode(bytes.NewReader(manifests))
	g.Expect(err).NotTo(HaveOccurred())
	p := &planner{topology: &snapshot.Topologies[0], sites: snapshot.Sites, now: time.Now()}
	p.observed.Objects = map[topologies.Key]client.Object{}
	p.objects, err = topology.Expand(p.topology)
	g.Expect(err).NotTo(HaveOccurred())
	return p, topologies.Step{Verb: verb, Object: p.objects.Subscriptions[0]}
}
