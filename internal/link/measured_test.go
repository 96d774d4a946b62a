// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/link"
)

func TestALinkIsSlowerThanDeclaredWhenItIsClearlySo(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name               string
		declared, measured time.Duration
		from, stays        bool
	}{
		{"as declared", 150 * ms, 150 * ms, false, false},
		{"faster", 150 * ms, 20 * ms, false, false},
		{"a sixth over", 150 * ms, 175 * ms, false, true},
		{"a quarter over", 150 * ms, 187500 * time.Microsecond, false, true},
		{"more", 150 * ms, 188 * ms, true, true},
		{"an eighth over", 150 * ms, 168750 * time.Microsecond, false, false},
		{"twice, of nothing that anybody notices", 4 * ms, 9 * ms, false, false},
		{"three times", 4 * ms, 13 * ms, false, true},
		{"four times", 4 * ms, 16 * ms, true, true},
		{"not declared", 0, 300 * ms, false, false},
		{"not measured", 150 * ms, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(link.Slower(c.declared, c.measured, false)).To(Equal(c.from), "from when on")
			g.Expect(link.Slower(c.declared, c.measured, true)).To(Equal(c.stays), "until when")
		})
	}
}

func TestAWindowIsTooSmallWhenItClearlyIs(t *testing.T) {
	// 18,750,000 bytes are on their way on the one, 125,000,000 on the other, of which 33,554,432 can be.
	far := link.Link{RoundTrip: 150 * time.Millisecond, Bandwidth: "1Gbit"}
	wider := link.Link{RoundTrip: 100 * time.Millisecond, Bandwidth: "10Gbit"}
	for _, c := range []struct {
		name        string
		link        link.Link
		window      int64
		from, stays bool
	}{
		{"what the link asks for", far, link.Window(36<<20, 36<<20), false, false},
		{"the kernel's own", far, 2 << 20, true, true},
		{"four fifths", far, 15_000_000, false, true},
		{"nine tenths", far, 16_875_000, false, false},
		{"the most that is set, of a link that several fill", wider, link.MostWindow, false, false},
		{"less than that", wider, 16 << 20, true, true},
		{"a window that nobody knows", far, 0, false, false},
		{"a bandwidth that nobody declares", link.Link{RoundTrip: time.Second}, 1, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.link.Narrow(c.window, false)).To(Equal(c.from), "from when on")
			g.Expect(c.link.Narrow(c.window, true)).To(Equal(c.stays), "until when")
		})
	}
}

// What has begun to be so stays so for as long as it would begin anew: there is no figure at which it comes and goes.
func TestNothingComesAndGoesAtOneFigure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		declared := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "declared"))
		measured := time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "measured"))
		window := rapid.Int64Range(0, 64<<20).Draw(t, "window")
		l := link.Link{RoundTrip: declared, Bandwidth: "1Gbit"}
		if link.Slower(declared, measured, false) && !link.Slower(declared, measured, true) ||
			l.Narrow(window, false) && !l.Narrow(window, true) {
			t.Fatalf("%s declared, %s measured, a window of %d", declared, measured, window)
		}
	})
}

func TestWhatOneConnectionCarries(t *testing.T) {
	far := link.Link{RoundTrip: 100 * time.Millisecond, Bandwidth: "1Gbit"}
	for _, c := range []struct {
		name   string
		link   link.Link
		window int64
		bound  link.Bound
		bits   float64
	}{
		// 65,536 x 8 / 0.1.
		{"a window of 64 KiB", far, 64 << 10, link.BoundWindow, 5_242_880},
		{"one that is wide enough", far, 18 << 20, link.BoundBandwidth, 1e9},
		{"one that nobody knows", far, 0, link.BoundBandwidth, 1e9},
		{"no round trip", link.Link{Bandwidth: "1Gbit"}, 1, link.BoundUnknown, 0},
		{"no bandwidth", link.Link{RoundTrip: time.Second}, 1, link.BoundUnknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			bound, bits := c.link.Stream(c.window)
			g.Expect(bound).To(Equal(c.bound))
			g.Expect(bits).To(BeNumerically("~", c.bits, 1))
		})
	}
}

// An agent that answers and has measured nothing is another thing than one that was not heard.
func TestWhatWasHeardOfAgents(t *testing.T) {
	g := NewWithT(t)
	server := types.NamespacedName{Namespace: "web", Name: "tukpub"}
	measured := []link.Measured{{To: "dublin", Peer: "dubsub", RoundTrip: time.Second, At: time.Now()}}
	var nobody *link.Heard
	nobody.Note(server, measured)
	nobody.Forget(server)
	_, known := nobody.Of(server)
	g.Expect(known).To(BeFalse())

	var heard link.Heard
	_, known = heard.Of(server)
	g.Expect(known).To(BeFalse())
	heard.Note(server, measured)
	all, known := heard.Of(server)
	g.Expect(known).To(BeTrue())
	g.Expect(all).To(Equal(measured))
	heard.Note(server, nil)
	all, known = heard.Of(server)
	g.Expect(known).To(BeTrue())
	g.Expect(all).To(BeEmpty())
	heard.Forget(server)
	_, known = heard.Of(server)
	g.Expect(known).To(BeFalse())
}
