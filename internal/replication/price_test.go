// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

func declaredSite(name string, links ...v1alpha1.SiteLink) v1alpha1.Site {
	return v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{Links: links}}
}

func linkTo(site v1alpha1.SiteName, roundTrip time.Duration, bandwidth string) v1alpha1.SiteLink {
	l := v1alpha1.SiteLink{To: site, Bandwidth: bandwidth}
	if roundTrip > 0 {
		l.RoundTrip = &metav1.Duration{Duration: roundTrip}
	}
	return l
}

// A copy is on its way for its bytes over the bandwidth and the round trips, on each link; without a bandwidth nothing
// is said.
func TestEstimate(t *testing.T) {
	link := func(roundTrip time.Duration, bandwidth string) Link {
		return Link{From: "tukwila", To: "dublin", RoundTrip: roundTrip, Bandwidth: bandwidth}
	}
	for name, c := range map[string]struct {
		bytes    int64
		articles int
		links    []Link
		unknown  []v1alpha1.ServerName
		takes    time.Duration
		known    bool
	}{
		"a gigabyte in a minute":     {7_500_000_000, 0, []Link{link(0, "1Gbit")}, nil, time.Minute, true},
		"kilobits":                   {1000, 0, []Link{link(0, "8kbit")}, nil, time.Second, true},
		"half a megabit":             {62_500, 0, []Link{link(0, "0.5Mbit")}, nil, time.Second, true},
		"bits":                       {1, 0, []Link{link(0, "8bit")}, nil, time.Second, true},
		"terabits":                   {125_000_000_000, 0, []Link{link(0, "1Tbit")}, nil, time.Second, true},
		"an empty table far away":    {0, 1, []Link{link(125*time.Millisecond, "1Gbit")}, nil, time.Second, true},
		"many articles far away":     {0, 49, []Link{link(150*time.Millisecond, "1Gbit")}, nil, 30 * time.Second, true},
		"bytes and round trips":      {125e6, 1, []Link{link(125*time.Millisecond, "1Gbit")}, nil, 2 * time.Second, true},
		"two links":                  {125e6, 0, []Link{link(0, "1Gbit"), link(0, "500Mbit")}, nil, 3 * time.Second, true},
		"no bandwidth":               {1, 1, []Link{link(time.Second, "")}, nil, 0, false},
		"one of two":                 {1, 1, []Link{link(0, "1Gbit"), link(0, "")}, nil, 0, false},
		"a bandwidth of nothing":     {1, 1, []Link{link(0, "0bit")}, nil, 0, false},
		"no bandwidth that is one":   {1, 1, []Link{link(0, "fast")}, nil, 0, false},
		"within a site":              {1, 1, nil, nil, 0, false},
		"a server that nobody knows": {1, 1, []Link{link(0, "1Gbit")}, []v1alpha1.ServerName{"x"}, 0, false},
		"for ever":                   {1 << 62, 256, []Link{link(time.Second, "1bit")}, nil, maxEstimate, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			takes, known := Estimate(c.bytes, c.articles, Route{Links: c.links, Unknown: c.unknown})
			g.Expect(known).To(Equal(c.known))
			g.Expect(takes).To(Equal(c.takes))
		})
	}
}

// The price says what is copied, over which links as they are declared, and for how long it is on its way.
func TestPrice(t *testing.T) {
	declared := []v1alpha1.Site{
		declaredSite("tukwila", linkTo("dublin", 150*time.Millisecond, "1Gbit")),
		declaredSite("quincy", linkTo("tukwila", 4*time.Millisecond, "10Gbit"), linkTo("dublin", time.Millisecond, "")),
		declaredSite("dublin", linkTo("tukwila", 160*time.Millisecond, "500Mbit")),
	}
	at := map[v1alpha1.ServerName]v1alpha1.SiteName{
		"tukpub": "tukwila", "dist": "tukwila", "quipub": "quincy", "dubsub": "dublin", "dub2": "dublin", "lonely": "lonely"}
	size := &v1alpha1.CopySize{Rows: 12, Bytes: 7_500_000_000}
	for name, c := range map[string]struct {
		through []v1alpha1.ServerName
		size    *v1alpha1.CopySize
		says    string
	}{
		"over one link": {[]v1alpha1.ServerName{"tukpub", "dist", "dubsub"}, size,
			"12 rows, 7.0 GiB, from site tukwila to dublin (round trip 150ms, 1Gbit), on its way for at least 1m2s"},
		"back, as it declares itself": {[]v1alpha1.ServerName{"dubsub", "dubsub", "dist"}, size,
			"12 rows, 7.0 GiB, from site dublin to tukwila (round trip 160ms, 500Mbit), on its way for at least 2m2s"},
		"over two": {[]v1alpha1.ServerName{"quipub", "dist", "dubsub"}, size, "12 rows, 7.0 GiB, from site quincy to " +
			"tukwila (round trip 4ms, 10Gbit) and on to dublin (round trip 150ms, 1Gbit), on its way for at least 1m8s"},
		"declared by the other alone": {[]v1alpha1.ServerName{"tukpub", "tukpub", "quipub"}, size,
			"12 rows, 7.0 GiB, from site tukwila to quincy (round trip 4ms, 10Gbit), on its way for at least 6s"},
		"no bandwidth": {[]v1alpha1.ServerName{"quipub", "quipub", "dubsub"}, size, "12 rows, 7.0 GiB, from site quincy to " +
			"dublin (round trip 1ms, bandwidth not declared), so that nobody can tell for how long"},
		"nothing declared": {[]v1alpha1.ServerName{"lonely", "dist"}, size, "12 rows, 7.0 GiB, from site lonely to tukwila " +
			"(round trip not declared, bandwidth not declared), so that nobody can tell for how long"},
		"within a site": {[]v1alpha1.ServerName{"dubsub", "dub2"}, size, "12 rows, 7.0 GiB, within site dublin"},
		"nobody knows where": {[]v1alpha1.ServerName{"tukpub", "gone", "dubsub"}, size, "12 rows, 7.0 GiB, over a link " +
			"that is not known: nobody says where SQLServer gone runs"},
		"nothing is known": {[]v1alpha1.ServerName{"", ""}, size, "12 rows, 7.0 GiB"},
		"not measured": {[]v1alpha1.ServerName{"tukpub", "dubsub"}, nil,
			"whose size is not measured yet, from site tukwila to dublin (round trip 150ms, 1Gbit)"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Price(c.size, 2, RouteOf(at, declared, c.through...))).To(Equal(c.says))
		})
	}
}

// Who sends is the primary as its group's status says, else the one that is to be.
func TestPrimaryOf(t *testing.T) {
	g := NewWithT(t)
	group := &v1alpha1.AvailabilityGroup{Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "a",
		Replicas: []v1alpha1.Replica{{Server: "a"}, {Server: "b"}}}}
	g.Expect(PrimaryOf(group)).To(BeEquivalentTo("a"))
	group.Status.Primary = "b-0"
	g.Expect(PrimaryOf(group)).To(BeEquivalentTo("b"))
}
