// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/shape"
)

var threeSites = []Site{
	{"tukwila", netip.MustParsePrefix("10.101.0.0/16")},
	{"quincy", netip.MustParsePrefix("10.102.0.0/16")},
	{"dublin", netip.MustParsePrefix("10.103.0.0/16")},
}

func node(name, site, address string) Node {
	return Node{Name: name, Site: site, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
}

var fourNodes = []Node{
	node("dublin-control-plane", "dublin", "10.100.0.31"),
	node("quincy-control-plane", "quincy", "10.100.0.21"),
	node("tukwila-control-plane", "tukwila", "10.100.0.11"),
	node("tukwila-worker", "tukwila", "10.100.0.12"),
}

func TestTheBedsTableOfSitesIsRead(t *testing.T) {
	g := NewWithT(t)
	sites, err := ReadSites(filepath.Join("..", "..", "sites.env"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sites).To(Equal(threeSites))
}

func TestABadTableOfSitesIsRefused(t *testing.T) {
	for text, message := range map[string]string{
		"":                          `there is no BED_SITES="..."`,
		`BED_SITES="`:               `there is no BED_SITES="..."`,
		"BED_SITES=\"\n\"":          "BED_SITES has no line",
		"BED_SITES=\"\ntukwila\n\"": "needs a name of its own and a pod subnet",
		"BED_SITES=\"\na 10.0.0.0/8\na 11.0.0.0/8\n\"": "needs a name of its own",
		"BED_SITES=\"\na fd00::/8\n\"":                 `pod subnet "fd00::/8" of a is not an IPv4 prefix`,
	} {
		_, err := parseSites(text)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)), text)
	}
}

func TestTheDefaultMatrix(t *testing.T) {
	g := NewWithT(t)
	asked := DefaultMatrix(threeSites)
	g.Expect(asked.Links).To(HaveLen(6))
	for pair, half := range map[[2]string]time.Duration{
		{"tukwila", "quincy"}: 2 * time.Millisecond,
		{"quincy", "dublin"}:  73 * time.Millisecond,
		{"tukwila", "dublin"}: 75 * time.Millisecond,
	} {
		want := shape.Rule{Delay: half, Rate: 1e9}
		g.Expect(asked.Link(pair[0], pair[1]).Effective()).To(Equal(want))
		g.Expect(asked.Link(pair[1], pair[0]).Effective()).To(Equal(want))
	}
	g.Expect(asked.Link("tukwila", "tukwila").Effective().Transparent()).To(BeTrue())
}

func TestPlan(t *testing.T) {
	g := NewWithT(t)
	asked := DefaultMatrix(threeSites)
	link := asked.Link("tukwila", "dublin")
	link.Cut = true
	asked.Put(link)
	asked.Put(Link{From: "tukwila", To: "quincy"})
	plan := Plan(threeSites, fourNodes, asked)
	g.Expect(plan).To(HaveLen(4))
	cut := []emulator.Class{{
		Name: "dublin",
		To:   []netip.Prefix{netip.MustParsePrefix("10.100.0.31/32"), netip.MustParsePrefix("10.103.0.0/16")},
		Rule: shape.Rule{Delay: 75 * time.Millisecond, Rate: 1e9, Cut: true},
	}}
	g.Expect(plan["tukwila-control-plane"]).To(Equal(cut), "a direct link needs no class, a cut one covers pods and nodes")
	g.Expect(plan["tukwila-worker"]).To(Equal(cut), "every node of the sending site")
	g.Expect(plan["dublin-control-plane"]).To(HaveLen(2))
	back := plan["dublin-control-plane"][0]
	g.Expect(back.Name).To(Equal("tukwila"))
	g.Expect(back.Rule.Cut).To(BeFalse(), "cut one way only")
	g.Expect(back.To).
		To(ConsistOf(netip.MustParsePrefix("10.100.0.11/32"), netip.MustParsePrefix("10.100.0.12/32"),
			netip.MustParsePrefix("10.101.0.0/16")))
	for name, classes := range plan {
		g.Expect(emulator.Validate(classes)).To(Succeed(), name)
	}
}

func TestASiteThatIsDownIsPlannedForItsPods(t *testing.T) {
	plan := Plan(threeSites, fourNodes[1:], DefaultMatrix(threeSites))
	NewWithT(t).Expect(plan["quincy-control-plane"][1]).To(Equal(emulator.Class{
		Name: "dublin", To: []netip.Prefix{netip.MustParsePrefix("10.103.0.0/16")},
		Rule: shape.Rule{Delay: 73 * time.Millisecond, Rate: 1e9},
	}))
}

func TestWhatIsAskedIsKept(t *testing.T) {
	g := NewWithT(t)
	directory := filepath.Join(t.TempDir(), "cache")
	store, release, err := OpenStore(directory, time.Second)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(store.Read()).To(Equal(Asked{}))
	asked := DefaultMatrix(threeSites)
	asked.Put(Link{From: "quincy", To: "dublin", Cut: true, Rule: shape.Rule{Loss: 0.01}})
	g.Expect(store.Write(asked)).To(Succeed())

	_, _, err = OpenStore(directory, 50*time.Millisecond)
	g.Expect(err).To(MatchError(ContainSubstring("does another wan command hang?")))
	release()
	again, release, err := OpenStore(directory, time.Second)
	g.Expect(err).NotTo(HaveOccurred())
	defer release()
	g.Expect(again.Read()).To(Equal(asked))

	g.Expect(os.WriteFile(filepath.Join(directory, "wan.json"), []byte("{"), 0o644)).To(Succeed())
	_, err = again.Read()
	g.Expect(err).To(MatchError(ContainSubstring("remove it and run wan reset")))
}

func TestEditsChangeOnlyWhatIsGiven(t *testing.T) {
	g := NewWithT(t)
	rule := shape.Rule{Delay: 75 * time.Millisecond, Rate: 1e9}
	edit, err := parseEdit(map[string]string{"rtt": "151ms", "loss": "1%"})
	g.Expect(err).NotTo(HaveOccurred())
	edit(&rule)
	g.Expect(rule).To(Equal(shape.Rule{Delay: 75500 * time.Microsecond, Loss: 0.01, Rate: 1e9}))
	_, err = parseEdit(map[string]string{"rtt": "150", "loss": "2"})
	g.Expect(err).To(MatchError(And(ContainSubstring("--rtt"), ContainSubstring("--loss"))))
	_, err = parseEdit(map[string]string{})
	g.Expect(err).To(MatchError(ContainSubstring("nothing to change")))
}

func TestCompare(t *testing.T) {
	asked := DefaultMatrix(threeSites)
	plan := Plan(threeSites, fourNodes, asked)
	asPlanned := func() []NodeStatus {
		var statuses []NodeStatus
		for _, n := range fourNodes {
			status := NodeStatus{Node: n, Emulator: UserSpace}
			for _, class := range plan[n.Name] {
				status.Classes = append(status.Classes, emulator.ClassStatus{Class: class, Counters: emulator.Counters{Sent: 5}})
			}
			statuses = append(statuses, status)
		}
		return statuses
	}
	problem := func(statuses []NodeStatus, from, to string) LinkStatus {
		for _, link := range Compare(threeSites, asked, statuses) {
			if link.From == from && link.To == to {
				return link
			}
		}
		return LinkStatus{}
	}
	g := NewWithT(t)
	for _, link := range Compare(threeSites, asked, asPlanned()) {
		g.Expect(link.Problem).To(BeEmpty())
		g.Expect(*link.InForce).To(Equal(link.Asked))
	}
	g.Expect(problem(asPlanned(), "tukwila", "dublin").Sent).To(BeEquivalentTo(10), "two nodes")

	dead := asPlanned()
	dead[3].Emulator, dead[3].Classes = None, nil
	link := problem(dead, "tukwila", "dublin")
	g.Expect(link.Problem).To(Equal(`tukwila-worker has "direct": run wan reapply`))
	g.Expect(link.InForce).To(BeNil())
	g.Expect(problem(dead, "dublin", "tukwila").Problem).To(BeEmpty())

	moved := asPlanned()
	moved[0].Node.Addresses = []netip.Addr{netip.MustParseAddr("10.100.0.99")}
	g.Expect(problem(moved, "quincy", "dublin").Problem).
		To(ContainSubstring("shapes other addresses than those of dublin"))

	g.Expect(problem(asPlanned()[1:], "dublin", "quincy").Problem).To(Equal("no node of dublin runs"))
}

// A site is cut off from several others by one command.
func TestDirectionsOfACut(t *testing.T) {
	g := NewWithT(t)
	sites := []string{"tukwila", "quincy", "dublin"}
	g.Expect(edges(sites, false)).To(ConsistOf(
		[2]string{
			"tukwila",
			"quincy",
		},
		[2]string{"quincy", "tukwila"},
		[2]string{"tukwila", "dublin"},
		[2]string{"dublin", "tukwila"},
	))
	g.Expect(edges(sites, true)).To(ConsistOf([2]string{"tukwila", "quincy"}, [2]string{"tukwila", "dublin"}))
}
