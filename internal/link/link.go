// SPDX-License-Identifier: Apache-2.0

// Package link is what the declared network between two sites means: which link there is, how many bytes are on their
// way on it, and which buffers of TCP fill it; and what a round trip that agents have measured means beside it. It is
// arithmetic: it reads no cluster and measures nothing.
package link

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// Link is the network from one site to another as their Sites declare it.
type Link struct {
	From, To v1alpha1.SiteName
	// RoundTrip is 0 where nobody declares one.
	RoundTrip time.Duration
	// Bandwidth as declared, such as 1Gbit; empty where nobody declares one.
	Bandwidth string
}

// Between is the link from one site to another. What only one of the two declares counts for both directions.
func Between(from, to v1alpha1.SiteName, declared []v1alpha1.Site) Link {
	l := Link{From: from, To: to}
	for _, pair := range [][2]v1alpha1.SiteName{{from, to}, {to, from}} {
		for _, site := range declared {
			for _, x := range site.Spec.Links {
				if site.Name != string(pair[0]) || x.To != pair[1] {
					continue
				}
				if l.RoundTrip == 0 && x.RoundTrip != nil {
					l.RoundTrip = x.RoundTrip.Duration
				}
				if l.Bandwidth == "" {
					l.Bandwidth = x.Bandwidth
				}
			}
		}
	}
	return l
}

// Of are the links of a site, by the names of the others: those that it declares, and those that others declare to it.
func Of(site v1alpha1.SiteName, declared []v1alpha1.Site) []Link {
	var others []v1alpha1.SiteName
	for _, s := range declared {
		for _, x := range s.Spec.Links {
			switch from := v1alpha1.SiteName(s.Name); {
			case from == x.To:
			case from == site:
				others = append(others, x.To)
			case x.To == site:
				others = append(others, from)
			}
		}
	}
	slices.Sort(others)
	var links []Link
	for _, other := range slices.Compact(others) {
		links = append(links, Between(site, other, declared))
	}
	return links
}

// BitsPerSecond of a declared bandwidth such as 1Gbit, 0 when it says none.
func BitsPerSecond(declared string) float64 {
	number := strings.TrimRight(declared, "bkMGTit")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0
	}
	unit := map[string]float64{"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}[declared[len(number):]]
	return n * unit
}

// mostProduct bounds what is counted as on its way, in bytes: no link is longer and wider.
const mostProduct = 1 << 40

// Product is the bandwidth-delay product: how many bytes are on their way on a link that is full, the answers to which
// have not come yet. It is 0 while round trip or bandwidth is not declared, and 1 TiB at most.
func (l Link) Product() int64 {
	if l.RoundTrip <= 0 {
		return 0
	}
	return int64(math.Round(min(BitsPerSecond(l.Bandwidth)/8*l.RoundTrip.Seconds(), mostProduct)))
}

// SlowestToFill is the link with the largest bandwidth-delay product, the first of several; false while no link has
// both round trip and bandwidth.
func SlowestToFill(links []Link) (Link, bool) {
	if len(links) == 0 {
		return Link{}, false
	}
	slowest := slices.MaxFunc(links, func(a, b Link) int { return cmp.Compare(a.Product(), b.Product()) })
	return slowest, slowest.Product() > 0
}
