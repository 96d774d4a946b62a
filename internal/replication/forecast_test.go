// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

func serverAt(name string, site v1alpha1.SiteName) v1alpha1.SQLServer {
	return v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SQLServerSpec{Site: site}}
}

func subscriptionOf(name, publication string, to v1alpha1.ServerName) v1alpha1.Subscription {
	return v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SubscriptionSpec{
		Publication: v1alpha1.ObjectName(publication), Subscriber: v1alpha1.ServerOrGroup{Server: to}}}
}

// landscape has a distributor at tukwila and subscribers at dublin and, without bandwidth, at lima.
func landscape() Landscape {
	published := func(name string) v1alpha1.Publication {
		return v1alpha1.Publication{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.PublicationSpec{Distributor: "main"}}
	}
	scheduled := published("nightly")
	scheduled.Spec.Type = v1alpha1.PublicationSnapshot
	return Landscape{
		Sites: []v1alpha1.Site{
			declaredSite("tukwila", linkTo("dublin", 150*time.Millisecond, "1Gbit"), linkTo("lima", time.Second, "")),
		},
		Servers: []v1alpha1.SQLServer{serverAt("dist", "tukwila"), serverAt("near", "tukwila"), serverAt("dubsub", "dublin"),
			serverAt("dub2", "dublin"), serverAt("limsub", "lima")},
		Distributors: []v1alpha1.Distributor{
			{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.DistributorSpec{Server: "dist"}}},
		Publications:  []v1alpha1.Publication{published("articles"), scheduled},
		Subscriptions: []v1alpha1.Subscription{subscriptionOf("one", "articles", "dubsub")},
	}
}

// A forecast follows from the declared link, the row as it is measured, who shares the link, the agent's place and
// streams, and the buffers at both ends. A row of 1,024 bytes takes 1187.8 of the link, so that 1 Gbit/s carry 105,239.
func TestForecastOfASubscription(t *testing.T) {
	window := func(size string) *v1alpha1.ServerNetwork {
		return &v1alpha1.ServerNetwork{ReceiveWindow: ptr.To(resource.MustParse(size))}
	}
	type world struct {
		Landscape
		publication  *v1alpha1.Publication
		subscription *v1alpha1.Subscription
		profile      *v1alpha1.AgentProfileSpec
	}
	for name, c := range map[string]struct {
		change func(*world)
		bound  v1alpha1.ForecastBound
		rows   int64
		says   []string
	}{
		"a pull subscription": {func(*world) {}, v1alpha1.BoundByBandwidth, 110_000, []string{
			"rows of 1.0 KiB (nobody has measured them yet) take 1200 bytes each of the link from tukwila to dublin (round " +
				"trip 150ms, 1Gbit): the bandwidth lets through 110000 a second, a window of 18.0 MiB 110000 a second"}},
		"rows that are measured": {func(w *world) {
			w.publication.Status.Size = &v1alpha1.CopySize{Rows: 1000, Bytes: 10_240_000}
		}, v1alpha1.BoundByBandwidth, 12_000, []string{"rows of 9.8 KiB take 11000 bytes"}},
		"tables without a row": {func(w *world) { w.publication.Status.Size = &v1alpha1.CopySize{Bytes: 8192} },
			v1alpha1.BoundByBandwidth, 110_000, []string{"nobody has measured"}},
		// The third is at another site, the fourth comes by a schedule, the fifth goes.
		"a link that two share": {func(w *world) {
			gone := subscriptionOf("gone", "articles", "dub2")
			gone.DeletionTimestamp = &metav1.Time{}
			w.Subscriptions = append(w.Subscriptions, subscriptionOf("two", "articles", "dub2"),
				subscriptionOf("three", "articles", "limsub"), subscriptionOf("four", "nightly", "dub2"), gone)
		}, v1alpha1.BoundByBandwidth, 53_000, []string{"which 2 Subscriptions share"}},
		// 65,536 / 0.15 / 1136.
		"a receiver with a small window": {func(w *world) { w.Servers[2].Spec.Network = window("64Ki") },
			v1alpha1.BoundByWindow, 380, []string{"a window of 64.0 KiB 380 a second"}},
		// The kernel's own 4 MiB for sending: 2 MiB / 0.15 / 1136.
		"a sender that is not tuned": {func(w *world) {
			w.Servers[0].Spec.Network = &v1alpha1.ServerNetwork{Tuning: v1alpha1.TuningNone}
		}, v1alpha1.BoundByWindow, 12_000, []string{"a window of 2.0 MiB"}},
		"what the running pod has, not what is declared": {func(w *world) {
			w.Servers[2].Status.Tuning = &v1alpha1.TuningStatus{Kernel: &v1alpha1.TCPKernel{Receive: "4096 131072 6291456"}}
		}, v1alpha1.BoundByWindow, 18_000, []string{"a window of 3.0 MiB"}},
		"buffers that nobody can read": {func(w *world) {
			w.Servers[2].Status.Tuning = &v1alpha1.TuningStatus{Kernel: &v1alpha1.TCPKernel{Receive: "4096 131072 x", Send: "1"}}
		}, v1alpha1.BoundByBandwidth, 110_000, nil},
		"an agent at the distributor": {func(w *world) { w.subscription.Spec.Type = v1alpha1.SubscriptionPush },
			v1alpha1.BoundByRoundTrip, 250, []string{"an agent at the distributor, which waits for answers, 250 a second"}},
		"an agent at the distributor with streams": {func(w *world) {
			w.subscription.Spec.Type = v1alpha1.SubscriptionPush
			w.profile = &v1alpha1.AgentProfileSpec{SubscriptionStreams: ptr.To(int32(16))}
		}, v1alpha1.BoundByRoundTrip, 4000, []string{"on 16 connections"}},
		"an agent of a push subscription at the subscriber": {func(w *world) {
			w.subscription.Spec.Type, w.subscription.Spec.AgentAt = v1alpha1.SubscriptionPush, v1alpha1.AgentAtSubscriber
		}, v1alpha1.BoundByBandwidth, 110_000, nil},
		"a link without bandwidth": {func(w *world) { w.subscription.Spec.Subscriber.Server = "limsub" },
			v1alpha1.BoundUnknown, 0, []string{"the link from tukwila to lima has round trip 1s, bandwidth not declared",
				"declare both in spec.links of either Site"}},
		"a server that nobody has declared": {func(w *world) { w.subscription.Spec.Subscriber.Server = "nobody" },
			v1alpha1.BoundUnknown, 0, []string{"nobody says where"}},
		"a distributor that nobody has declared": {func(w *world) { w.Distributors = nil }, v1alpha1.BoundUnknown, 0,
			[]string{"nobody says where"}},
		"within the site":      {func(w *world) { w.subscription.Spec.Subscriber.Server = "near" }, "", 0, nil},
		"copies by a schedule": {func(w *world) { w.publication = &w.Publications[1] }, "", 0, nil},
		"a group, which cannot yet be": {func(w *world) {
			w.subscription.Spec.Subscriber = v1alpha1.ServerOrGroup{}
		}, "", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := &world{Landscape: landscape()}
			w.publication, w.subscription = &w.Publications[0], w.Subscriptions[0].DeepCopy()
			c.change(w)
			f := w.Forecast(w.publication, w.subscription, w.profile)
			if c.bound == "" {
				g.Expect(f).To(BeNil())
				return
			}
			g.Expect(f.BoundBy).To(Equal(c.bound), "%+v", f)
			if c.bound == v1alpha1.BoundUnknown {
				g.Expect(f.RowsPerSecond).To(BeNil())
			} else {
				g.Expect(*f.RowsPerSecond).To(Equal(c.rows), f.Words)
			}
			for _, says := range c.says {
				g.Expect(f.Words).To(ContainSubstring(says))
			}
		})
	}
}

// Figures have two digits, whatever their size, so that a status is not written for each row that comes.
func TestForecastsHaveTwoDigits(t *testing.T) {
	g := NewWithT(t)
	for x, says := range map[float64]string{105_239: "110000", 104_999: "100000", 99.4: "99", 99.6: "100", 10: "10",
		9.87: "9.9", 0.347: "0.35", 1: "1"} {
		g.Expect(rate(x)).To(Equal(says))
	}
	g.Expect(TwoDigits(0)).To(BeZero())
}
