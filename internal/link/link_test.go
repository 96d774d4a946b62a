// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
)

func site(name string, links ...v1alpha1.SiteLink) v1alpha1.Site {
	return v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{Links: links}}
}

func to(site v1alpha1.SiteName, roundTrip time.Duration, bandwidth string) v1alpha1.SiteLink {
	l := v1alpha1.SiteLink{To: site, Bandwidth: bandwidth}
	if roundTrip > 0 {
		l.RoundTrip = &metav1.Duration{Duration: roundTrip}
	}
	return l
}

// The maximum is twice the bandwidth-delay product in whole MiB. What the kernel's own 4 MiB hold needs none; else it
// is 6 MiB at least and 64 MiB at most.
func TestTheBufferOfALink(t *testing.T) {
	for _, c := range []struct {
		bandwidth string
		roundTrip time.Duration
		product   int64
		mebibytes int64
		says      string
	}{
		// 1e9 / 8 x 0.15 = 18.75e6; twice that is 37.5e6, 35.8 MiB.
		{"1Gbit", 150 * time.Millisecond, 18_750_000, 36,
			"2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole MiB 36Mi"},
		// 1e9 / 8 x 0.077 = 9.625e6; twice that is 19.25e6, 18.4 MiB.
		{"1Gbit", 77 * time.Millisecond, 9_625_000, 19, "= 19250000 bytes, in whole MiB 19Mi"},
		// 1e9 / 8 x 0.004 = 500e3; twice that is 1e6.
		{"1Gbit", 4 * time.Millisecond, 500_000, 0, "= 1000000 bytes, which the kernel's own 4Mi hold"},
		// 100e6 / 8 x 0.077 = 962,500; twice that is 1.925e6.
		{"100Mbit", 77 * time.Millisecond, 962_500, 0, "which the kernel's own 4Mi hold"},
		// 100e6 / 8 x 0.2 = 2.5e6; twice that is 5e6, 4.8 MiB.
		{"100Mbit", 200 * time.Millisecond, 2_500_000, 6, "= 5000000 bytes, at least 6Mi"},
		// 10e9 / 8 x 0.15 = 187.5e6: one connection does not fill it.
		{"10Gbit", 150 * time.Millisecond, 187_500_000, 64,
			"= 375000000 bytes, at most 64Mi: several connections fill the link"},
		// 1e9 / 8 x 0.268 = 33.5e6; twice that is 67e6, 63.9 MiB.
		{"1Gbit", 268 * time.Millisecond, 33_500_000, 64, "= 67000000 bytes, in whole MiB 64Mi"},
		{"512kbit", 600 * time.Millisecond, 38_400, 0, "which the kernel's own 4Mi hold"},
		{"1.5Gbit", 100 * time.Millisecond, 18_750_000, 36, "2 x 1.5Gbit x 100ms / 8 = 37500000 bytes"},
		// Nothing is longer and wider than 1 TiB.
		{"1000000Tbit", time.Hour, 1 << 40, 64, "several connections"},
	} {
		t.Run(fmt.Sprint(c.bandwidth, " ", c.roundTrip), func(t *testing.T) {
			g := NewWithT(t)
			l := link.Link{From: "tukwila", To: "dublin", RoundTrip: c.roundTrip, Bandwidth: c.bandwidth}
			g.Expect(l.Product()).To(Equal(c.product))
			g.Expect(link.Buffer(l.Product())).To(Equal(c.mebibytes << 20))
			g.Expect(l.Arithmetic()).To(ContainSubstring(c.says))
		})
	}
}

// Longer and wider links have buffers that are as large or larger, within the bounds, in whole MiB, and no larger than
// twice the product asks for.
func TestBuffersAreMonotoneAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		megabits := rapid.Int64Range(1, 1_000_000).Draw(t, "megabits")
		milliseconds := rapid.Int64Range(1, 5_000).Draw(t, "milliseconds")
		of := func(megabits, milliseconds int64) link.Link {
			return link.Link{RoundTrip: time.Duration(milliseconds) * time.Millisecond,
				Bandwidth: fmt.Sprintf("%dMbit", megabits)}
		}
		l := of(megabits, milliseconds)
		buffer := link.Buffer(l.Product())
		longer := of(megabits, milliseconds+rapid.Int64Range(0, 1000).Draw(t, "longer"))
		wider := of(megabits+rapid.Int64Range(0, 10_000).Draw(t, "wider"), milliseconds)
		for _, more := range []link.Link{longer, wider} {
			if link.Buffer(more.Product()) < buffer {
				t.Fatalf("%v has %d, and %v less", l, buffer, more)
			}
		}
		switch {
		case buffer == 0:
			if 2*l.Product() > link.KernelMost {
				t.Fatalf("%v has none", l)
			}
		case buffer < link.LeastBuffer || buffer > link.MostBuffer || buffer%(1<<20) != 0:
			t.Fatalf("%v has %d", l, buffer)
		case buffer < link.MostBuffer && buffer < 2*l.Product():
			t.Fatalf("%v has %d, too little", l, buffer)
		case buffer > link.LeastBuffer && buffer-2*l.Product() >= 1<<20:
			t.Fatalf("%v has %d, too much", l, buffer)
		}
	})
}

// A receive window of 64 KiB is what TCP has without window scaling: half of the buffer that the kernel begins with.
func TestTheBufferOfAWindow(t *testing.T) {
	g := NewWithT(t)
	g.Expect(link.ReceiveMemory(link.WindowBuffer(64 << 10))).To(Equal("4096 131072 131072"))
	g.Expect(link.ReceiveMemory(link.WindowBuffer(1 << 20))).To(Equal("4096 131072 2097152"))
	g.Expect(link.WindowBuffer(1)).To(BeEquivalentTo(131072), "what went by admission is bounded")
	g.Expect(link.WindowBuffer(1 << 62)).To(BeEquivalentTo(link.MostBuffer))
	g.Expect(link.ReceiveMemory(36 << 20)).To(Equal("4096 131072 37748736"))
	g.Expect(link.SendMemory(36 << 20)).To(Equal("4096 16384 37748736"))
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Int64Range(link.LeastWindow, link.MostWindow).Draw(t, "window")
		buffer := link.WindowBuffer(window)
		if buffer/2 != window || buffer > link.MostBuffer {
			t.Fatalf("%d has %d", window, buffer)
		}
	})
}

// What one of two sites declares counts for both, and a site's own word before the other's.
func TestTheLinksOfASite(t *testing.T) {
	g := NewWithT(t)
	declared := []v1alpha1.Site{
		site("tukwila", to("quincy", 4*time.Millisecond, "1Gbit"), to("tukwila", time.Second, "1Gbit")),
		site("dublin", to("tukwila", 150*time.Millisecond, "1Gbit"), to("quincy", 146*time.Millisecond, "10Gbit")),
		site("quincy", to("tukwila", 6*time.Millisecond, "2Gbit"), to("lima", time.Second, "")),
	}
	g.Expect(link.Of("tukwila", declared)).To(Equal([]link.Link{
		{From: "tukwila", To: "dublin", RoundTrip: 150 * time.Millisecond, Bandwidth: "1Gbit"},
		{From: "tukwila", To: "quincy", RoundTrip: 4 * time.Millisecond, Bandwidth: "1Gbit"},
	}))
	g.Expect(link.Of("lima", declared)).To(Equal([]link.Link{{From: "lima", To: "quincy", RoundTrip: time.Second}}))
	g.Expect(link.Of("elsewhere", declared)).To(BeEmpty())

	slowest, known := link.SlowestToFill(link.Of("tukwila", declared))
	g.Expect(known).To(BeTrue())
	g.Expect(slowest.To).To(BeEquivalentTo("dublin"))
	slowest, _ = link.SlowestToFill(link.Of("quincy", declared))
	g.Expect(slowest).To(Equal(link.Between("quincy", "dublin", declared)), "ten times as wide, nearly as long")
	for _, none := range [][]link.Link{nil, link.Of("lima", declared)} {
		_, known = link.SlowestToFill(none)
		g.Expect(known).To(BeFalse(), "without a bandwidth nothing is computed")
	}
}

// The words of bandwidths are those that Sites take.
func TestBitsPerSecond(t *testing.T) {
	g := NewWithT(t)
	for declared, bits := range map[string]float64{"1bit": 1, "512kbit": 512e3, "0.5Mbit": 5e5, "1Gbit": 1e9,
		"2Tbit": 2e12, "": 0, "fast": 0, "1": 0, "Gbit": 0, "Inf": 0, "NaN": 0} {
		g.Expect(link.BitsPerSecond(declared)).To(Equal(bits), declared)
	}
}
