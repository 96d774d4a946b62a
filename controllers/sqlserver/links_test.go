// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/links"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile"
)

// Of the servers at two sites one times the other, in each direction: the first by name of those that let it in, which
// are its peers and who keeps backups, and the first of all where nobody does.
func TestOnePairTimesALink(t *testing.T) {
	// Of each site, by the server that times: the site and the server to which it does.
	told := func(w Surroundings) map[string][]orders.Link {
		all := map[string][]orders.Link{}
		for i := range w.Servers {
			if s := &w.Servers[i]; len(timed(s, w)) > 0 {
				all[s.Name] = timed(s, w)
			}
		}
		return all
	}
	dublin := func(server string) orders.Link { return orders.Link{Site: "dublin", Server: server} }
	quincy, tukwila := orders.Link{Site: "quincy", Server: "quipub"}, orders.Link{Site: "tukwila", Server: "tukdist"}
	for _, c := range []struct {
		name   string
		change func(*Surroundings)
		want   map[string][]orders.Link
	}{
		{"a group, and what it publishes", func(*Surroundings) {}, map[string][]orders.Link{
			"tukdist": {dublin("dubsub"), quincy}, "quipub": {dublin("dubsub"), tukwila}, "dubsub": {quincy, tukwila}}},
		{"nobody is anybody's peer", func(w *Surroundings) { w.Groups, w.Publications, w.Distributors = nil, nil, nil },
			map[string][]orders.Link{"tukdist": {dublin("dubsub"), quincy}, "quipub": {dublin("dubsub"), tukwila},
				"dubsub": {quincy, tukwila}}},
		{"one that nobody lets in comes first by name", func(w *Surroundings) {
			w.Servers = append(w.Servers, at("another", "dublin"), at("quiother", "quincy"))
		}, map[string][]orders.Link{"tukdist": {dublin("dubsub"), quincy}, "quipub": {dublin("dubsub"), tukwila},
			"dubsub": {quincy, tukwila}}},
		{"it keeps everybody's backups", func(w *Surroundings) {
			w.Servers = append(w.Servers, at("another", "dublin"))
			w.Stores = []v1alpha1.BackupStore{{Spec: v1alpha1.BackupStoreSpec{
				Volume: &v1alpha1.ServerVolume{Server: "another"}}}}
		}, map[string][]orders.Link{"tukdist": {dublin("another"), quincy}, "quipub": {dublin("another"), tukwila},
			"dubsub": {quincy, tukwila}}},
		{"a site is lost", func(w *Surroundings) { w.Sites[2].Spec.Lifecycle = v1alpha1.SiteLost },
			map[string][]orders.Link{"tukdist": {quincy}, "quipub": {tukwila}, "dubsub": {quincy, tukwila}}},
		{"a site is not declared", func(w *Surroundings) { w.Sites = w.Sites[:2] },
			map[string][]orders.Link{"tukdist": {quincy}, "quipub": {tukwila}, "dubsub": {quincy, tukwila}}},
		{"a server goes", func(w *Surroundings) { w.Servers[3].DeletionTimestamp = &metav1.Time{Time: time.Now()} },
			map[string][]orders.Link{"tukpub": {dublin("dubsub"), quincy},
				"quipub": {dublin("dubsub"), {Site: "tukwila", Server: "tukpub"}},
				"dubsub": {quincy, {Site: "tukwila", Server: "tukpub"}}}},
		{"a new server comes first by name", func(w *Surroundings) {
			for i := range w.Servers {
				w.Servers[i].Status.Version = "16.0.4185.3"
			}
			w.Servers = append(w.Servers, at("another", "dublin"), at("quiother", "quincy"))
			w.Groups[0] = groupOf("tuk", "tukpub", "tukrep", "quipub", "another", "quiother")
			w.Servers[3].Status.Version = ""
		}, map[string][]orders.Link{"tukpub": {dublin("dubsub"), quincy},
			"quipub": {dublin("dubsub"), {Site: "tukwila", Server: "tukpub"}},
			"dubsub": {quincy, {Site: "tukwila", Server: "tukpub"}}}},
		{"one site", func(w *Surroundings) { w.Servers = w.Servers[:2] }, map[string][]orders.Link{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world()
			c.change(&w)
			NewWithT(t).Expect(told(w)).To(Equal(c.want))
		})
	}
}

// A sidecar is told once, and again when something else is to be timed, or nothing.
func TestASidecarIsToldWhatItTimes(t *testing.T) {
	g := NewWithT(t)
	var d Desired
	var o Observed
	steps := func() []reconcile.Step {
		var p reconcile.Plan
		g.Expect(planLinks(d, o, &p)).To(BeTrue())
		return p.All()
	}
	g.Expect(steps()).To(BeEmpty(), "a server by itself")
	d.Timed = []orders.Link{{Site: "dublin", Server: "dubsub"}}
	g.Expect(steps()).To(Equal([]reconcile.Step{TellLinks{Links: d.Timed}}))
	value, err := orders.EncodeLinks(d.Timed)
	g.Expect(err).NotTo(HaveOccurred())
	o.Orders = map[string][]byte{orders.LinksKey: value, "group.content": []byte("of another owner")}
	g.Expect(steps()).To(BeEmpty())
	d.Timed = nil
	g.Expect(steps()).To(Equal([]reconcile.Step{TellLinks{}}))
}

// A measurement is as old as the sidecar says, whatever its clock; a release that does not measure says nothing.
func TestWhatASidecarHasMeasured(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	g.Expect(heard(nil, now)).To(BeNil())
	g.Expect(heard([]links.Measured{}, now)).To(And(BeEmpty(), Not(BeNil())))
	g.Expect(heard([]links.Measured{{Site: "dublin", Server: "dubsub", RoundTripMicroseconds: 150_000,
		AgeMilliseconds: 2000}}, now)).To(Equal([]link.Measured{{To: "dublin", Peer: "dubsub",
		RoundTrip: 150 * time.Millisecond, At: now.Add(-2 * time.Second)}}))
}
