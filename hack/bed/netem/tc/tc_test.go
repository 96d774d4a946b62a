// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/shape"
)

func TestParseCommand(t *testing.T) {
	g := NewWithT(t)
	// As Chaos Mesh's daemon splits it, an empty argument included.
	g.Expect(ParseCommand(strings.Split("qdisc add dev eth0 parent 3:4 handle 7: netem delay 75000 5000  limit 1000",
		" "))).
		To(Equal(Command{
			Verb: "add", Device: "eth0", Parent: 0x30004, Handle: 0x70000, Kind: "netem",
			Options: []string{"delay", "75000", "5000", "limit", "1000"},
		}))
	g.Expect(ParseCommand(strings.Fields("qdisc del dev eth0 root"))).
		To(Equal(Command{Verb: "del", Device: "eth0", Parent: Root}))
	g.Expect(ParseCommand(strings.Fields("qdisc add dev eth0 root handle a1:0 sfq"))).
		To(Equal(Command{Verb: "add", Device: "eth0", Parent: Root, Handle: 0xa10000, Kind: "sfq", Options: []string{}}))
	for _, foreign := range []string{"", "qdisc", "class add dev eth0", "filter show dev eth0",
		"qdisc add dev eth0 root htb", "-s qdisc show dev eth0", "qdisc show", "qdisc help"} {
		_, err := ParseCommand(strings.Fields(foreign))
		g.Expect(errors.Is(err, ErrForeign)).To(BeTrue(), foreign)
	}
	for _, bad := range []string{"qdisc add dev eth0 parent", "qdisc add dev eth0 parent x:1 netem",
		"qdisc add dev eth0 handle 1 netem"} {
		_, err := ParseCommand(strings.Fields(bad))
		g.Expect(err).To(HaveOccurred())
		g.Expect(errors.Is(err, ErrForeign)).To(BeFalse(), bad)
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]shape.Rule{
		"netem":             {Limit: 1000},
		"netem delay 75000": {Limit: 1000, Delay: 75 * time.Millisecond},
		"netem delay 75ms 5ms 25%": {Limit: 1000, Delay: 75 * time.Millisecond, Jitter: 5 * time.Millisecond,
			DelayCorrelation: 0.25},
		"netem delay 1s loss random 1.500000 25": {Limit: 1000, Delay: time.Second, Loss: 0.015, LossCorrelation: 0.25},
		"netem delay 10000 reorder 25.000000 50.000000 gap 3 limit 50": {Limit: 50, Delay: 10 * time.Millisecond,
			Reorder: 0.25, Gap: 3},
		"netem duplicate 1 25 corrupt 2% 25": {Limit: 1000, Duplicate: 0.01, Corrupt: 0.02},
		"netem rate 1mbit":                   {Limit: 1000, Rate: 1e6},
		"tbf rate 1mbps burst 10000 limit 20971520 peakrate 2mbps mtu 1500": {Rate: 8e6, Burst: 10000, Buffer: 20 << 20},
		"tbf rate 1000000 burst 32kb latency 400ms":                         {Rate: 1e6, Burst: 32 << 10, Buffer: 50_000},
		"prio bands 5 priomap 1 2 2 2":                                      {},
		"sfq":                                                               {},
	} {
		words := strings.Fields(text)
		rule, err := rule(words[0], words[1:])
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(rule).To(Equal(want), text)
	}
	for text, message := range map[string]string{
		"netem delay":                  "delay needs a value",
		"netem delay soon":             "illegal delay",
		"netem delay -5ms":             "illegal delay",
		"netem loss 101%":              "loss 1.01 is outside",
		"netem slot 1ms":               `what is "slot"?`,
		"netem loss state 1%":          "illegal loss",
		"tbf rate 1mbit":               `both "rate" and "burst" are required`,
		"tbf rate 1furlong burst 1000": "unknown unit",
		"netem reorder 5%":             "reorder needs a delay",
	} {
		words := strings.Fields(text)
		_, err := rule(words[0], words[1:])
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)), text)
	}
}

// grow runs command lines one after the other.
func grow(t *testing.T, lines ...string) Tree {
	t.Helper()
	var tree Tree
	for _, line := range lines {
		command, err := ParseCommand(strings.Fields("qdisc " + line))
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = tree.Change(command); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return tree
}

// chaosMesh is what its daemon runs for two faults without a target and two
// with one (pkg/chaosdaemon/tc_server.go, SetTcs).
var chaosMesh = []string{
	"add dev eth0 root handle 1: netem delay 50000",
	"add dev eth0 parent 1: handle 2: tbf rate 8000000 burst 10000 limit 20000",
	"add dev eth0 parent 2: handle 3: prio bands 5 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
	"add dev eth0 parent 3:1 handle 4: sfq",
	"add dev eth0 parent 3:2 handle 5: sfq",
	"add dev eth0 parent 3:3 handle 6: sfq",
	"add dev eth0 parent 3:4 handle 7: netem delay 100000",
	"add dev eth0 parent 3:5 handle 8: netem loss 10.000000",
	"add dev eth0 parent 8: handle 9: netem corrupt 1.000000",
}

func TestChaosMeshsTreeBecomesClasses(t *testing.T) {
	g := NewWithT(t)
	tree := grow(t, chaosMesh...)
	classes, err := tree.Classes()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(emulator.Validate(classes)).To(Succeed())
	first := shape.Rule{Limit: 1000, Delay: 50 * time.Millisecond}
	second := shape.Rule{Rate: 8e6, Burst: 10000, Buffer: 20000}
	byPriority := map[uint32]emulator.Class{}
	for _, class := range classes {
		byPriority[class.Priorities[0]] = class
	}
	g.Expect(byPriority[0x30004]).
		To(Equal(emulator.Class{Name: "tc 3:4", Priorities: []uint32{0x30004}, Rule: first,
			Then: []shape.Rule{second, {Limit: 1000, Delay: 100 * time.Millisecond}}}))
	g.Expect(byPriority[0x30005].Then).
		To(Equal([]shape.Rule{second, {Limit: 1000, Loss: 0.1}, {Limit: 1000, Corrupt: 0.01}}))
	g.Expect(byPriority[link.Everything]).
		To(Equal(emulator.Class{Name: "tc root", Priorities: []uint32{link.Everything}, Rule: first,
			Then: []shape.Rule{second}}))
	g.Expect(byPriority[0x30001].Then).
		To(Equal([]shape.Rule{second}), "what CLASSIFY puts into a band with sfq only meets what is above")
	g.Expect(classes).To(HaveLen(6))
}

func TestFiltersAloneLeaveOtherTrafficAlone(t *testing.T) {
	g := NewWithT(t)
	classes, err := grow(
		t,
		"add dev eth0 root handle 1: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
		"add dev eth0 parent 1:1 handle 2: sfq",
		"add dev eth0 parent 1:2 handle 3: sfq",
		"add dev eth0 parent 1:3 handle 4: sfq",
		"add dev eth0 parent 1:4 handle 5: netem delay 75000 5000",
	).Classes()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(classes).To(HaveLen(1))
	g.Expect(classes[0].Priorities).To(Equal([]uint32{0x10004}))
}

func TestTreeChanges(t *testing.T) {
	g := NewWithT(t)
	tree := grow(t, chaosMesh...)
	try := func(line string) (Tree, error) {
		command, err := ParseCommand(strings.Fields("qdisc " + line))
		g.Expect(err).NotTo(HaveOccurred())
		return tree.Change(command)
	}
	_, err := try("add dev eth0 root handle 1: netem delay 1ms")
	g.Expect(err).To(MatchError(ErrExists))
	_, err = try("add dev eth0 parent 8:1 netem delay 1ms")
	g.Expect(err).To(MatchError(ErrExists), "8: and 8:1 are one place")
	_, err = try("add dev eth0 parent 77:1 netem delay 1ms")
	g.Expect(err).To(MatchError(ErrNoParent))
	_, err = try("change dev eth0 root tbf rate 1mbit burst 1000")
	g.Expect(err).To(MatchError(ErrWrongKind))
	_, err = try("replace dev eth0 root netem delay nonsense")
	g.Expect(err).To(MatchError(ContainSubstring("illegal delay")))
	changed, err := try("change dev eth0 root netem delay 1ms")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changed).To(HaveLen(len(tree)))
	g.Expect(changed[0].Options).To(Equal([]string{"delay", "1ms"}))
	g.Expect(changed[0].Handle).To(Equal(Handle(0x10000)))
	g.Expect(tree[0].Options).To(Equal([]string{"delay", "50000"}), "the tree before is left as it was")
	pruned, err := try("del dev eth0 parent 3:5")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pruned).To(HaveLen(len(tree)-2), "with what hangs below")
	g.Expect(try("del dev eth0 root")).To(BeEmpty())
	tree = nil
	_, err = try("del dev eth0 root")
	g.Expect(err).To(MatchError(ErrNothing))
}

func TestShow(t *testing.T) {
	NewWithT(t).Expect(grow(t, chaosMesh[0], chaosMesh[1]).Show("eth0")).To(Equal(
		"qdisc netem 1: dev eth0 root refcnt 2 delay 50000\nqdisc tbf 2: dev eth0 parent 1: refcnt 2 rate 8000000 burst " +
			"10000 limit 20000\n",
	))
}

func TestGroupFolders(t *testing.T) {
	g := NewWithT(t)
	folders := groupFolders("12:cpu,cpuacct:/kubepods/x\n3:name=systemd:/init.scope\n\n0::/init.scope\n")
	g.Expect(folders).To(HaveLen(3))
	g.Expect(folders[:2]).To(Equal([]string{"/sys/fs/cgroup/cpu,cpuacct/kubepods/x", "/sys/fs/cgroup/systemd/init.scope"}))
	g.Expect(folders[2]).To(Or(Equal("/sys/fs/cgroup/init.scope"), Equal("/sys/fs/cgroup/unified/init.scope")))
}
