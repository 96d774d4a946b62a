// SPDX-License-Identifier: Apache-2.0

// Package wan gives tests a hub and spokes, each in a network namespace of its own, with a link between the hub and
// every spoke that an emulator (hack/bed/netem) makes long and narrow.
package wan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"geosql.dev/operator/hack/bed/netem/shape"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/figures"
	"geosql.dev/operator/test/support/link"
)

// BinaryVariable names an environment variable with the path of the emulator's program. Unless it is set, hack/program
// builds it, or finds the one that was built from the same sources.
const BinaryVariable = "GEOSQL_NETEM"

// leastBuffer is what a link takes in before it drops, in bytes, where its bandwidth-delay product is less. The
// emulator's own of 256 KiB would hold a packet up for half a minute at 64 kbit/s.
const leastBuffer = 32 << 10

// device of a spoke. The hub has one for each, with the spoke's number behind.
const device = "eth"

// Net is a hub and its spokes.
type Net struct {
	// Hub is in a namespace of its own, and so is each of Spokes.
	Hub    Place
	Spokes []Place
	// Congestion is the control of congestion that all have.
	Congestion string

	netem string

	mu sync.Mutex
	// links are those of the spokes, as they are shaped.
	links []figures.Link
}

// Place is a network namespace.
type Place struct {
	namespace string
	// Address of it. The hub has another one on each link: HubAddress.
	Address string
}

var nets atomic.Int32

// Missing says what this machine lacks for a Net; empty where it lacks nothing.
func Missing() string {
	if os.Getuid() != 0 {
		return "needs root to make network namespaces"
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return fmt.Sprintf("needs /dev/net/tun: %v", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "needs the ip command (Debian package iproute2)"
	}
	return ""
}

// program is the path of the emulator's program.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		return path, nil
	}
	var complaint bytes.Buffer
	build := exec.Command(filepath.Join(checkout.Root(), "hack", "program"), "netem")
	build.Stderr = &complaint
	path, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build the emulator of links (hack/program netem): %w\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// New makes a hub with so many spokes, 1 to 200, whose links are as fast as the machine. All goes with the test. It
// skips the test where something is Missing.
func New(t testing.TB, spokes int) *Net {
	t.Helper()
	if why := Missing(); why != "" {
		t.Skip(why)
	}
	netem, err := program()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("gw%d-%d", os.Getpid(), nets.Add(1))
	n := &Net{netem: netem, Hub: Place{namespace: name}, links: make([]figures.Link, spokes)}
	// An emulator ends with its device, and that with its namespace.
	add := func(p Place) {
		ip(t, "netns", "add", p.namespace)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", p.namespace).Run() })
		ip(t, "-n", p.namespace, "link", "set", "lo", "up")
		n.congestion(t, p)
	}
	add(n.Hub)
	for i := range spokes {
		p := Place{namespace: fmt.Sprintf("%s-%d", name, i), Address: fmt.Sprintf("10.79.%d.2", i)}
		add(p)
		n.Spokes = append(n.Spokes, p)
		near := fmt.Sprint(device, i)
		ip(t, "link", "add", near, "netns", name, "type", "veth", "peer", "name", device, "netns", p.namespace)
		ip(t, "-n", name, "addr", "add", n.HubAddress(i)+"/24", "dev", near)
		ip(t, "-n", name, "link", "set", near, "up")
		ip(t, "-n", p.namespace, "addr", "add", p.Address+"/24", "dev", device)
		ip(t, "-n", p.namespace, "link", "set", device, "up")
	}
	t.Cleanup(n.stop)
	return n
}

// HubAddress is the hub's on the link of a spoke.
func (n *Net) HubAddress(spoke int) string { return fmt.Sprintf("10.79.%d.1", spoke) }

func ip(t testing.TB, arguments ...string) {
	t.Helper()
	if output, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// congestion has the namespace use CUBIC, which is Linux's default, where the kernel lets it.
func (n *Net) congestion(t testing.TB, p Place) {
	t.Helper()
	const file = "/proc/sys/net/ipv4/tcp_congestion_control"
	had, err := link.Inside(p.namespace, func() (string, error) {
		// What the kernel does not let a namespace have stays as it is.
		_ = os.WriteFile(file, []byte("cubic"), 0)
		content, err := os.ReadFile(file)
		return strings.TrimSpace(string(content)), err
	})
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	n.Congestion = had
}

// Command is a program that runs at the place.
func (p Place) Command(name string, arguments ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", p.namespace, name}, arguments...)...)
}

// Shape makes the links of all spokes alike, each with the rate for itself.
func (n *Net) Shape(t testing.TB, l figures.Link) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.links {
		n.links[i] = l
	}
	var all sync.WaitGroup
	errs := make([]error, len(n.links))
	for i := range n.links {
		all.Go(func() { errs[i] = n.apply(i, ruleOf(l)) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Cut has all that is sent over the link of a spoke be lost, and nobody told; Mend ends that.
func (n *Net) Cut(t testing.TB, spoke int) { n.change(t, spoke, shape.Rule{Cut: true}) }

// Mend makes the link of a spoke what it was before a Cut.
func (n *Net) Mend(t testing.TB, spoke int) {
	n.mu.Lock()
	rule := ruleOf(n.links[spoke])
	n.mu.Unlock()
	n.change(t, spoke, rule)
}

func (n *Net) change(t testing.TB, spoke int, rule shape.Rule) {
	t.Helper()
	if err := n.apply(spoke, rule); err != nil {
		t.Fatal(err)
	}
}

func ruleOf(l figures.Link) shape.Rule {
	rule := shape.Rule{Rate: l.Rate, Delay: l.RoundTrip / 2}
	if l.Rate > 0 {
		rule.Buffer = max(leastBuffer, int64(l.Rate/8*l.RoundTrip.Seconds()))
	}
	return rule
}

// class is one of the emulator's (hack/bed/netem/emulator.Class).
type class struct {
	Name string     `json:"name"`
	To   []string   `json:"to"`
	Rule shape.Rule `json:"rule"`
}

// apply has a rule hold at both ends of the link of a spoke.
func (n *Net) apply(spoke int, rule shape.Rule) error {
	return errors.Join(
		n.rule(n.Hub, fmt.Sprint(device, spoke), n.Spokes[spoke].Address, rule),
		n.rule(n.Spokes[spoke], device, n.HubAddress(spoke), rule))
}

func (n *Net) rule(at Place, device, to string, rule shape.Rule) error {
	content, err := json.Marshal([]class{{Name: "wan", To: []string{to + "/32"}, Rule: rule}})
	if err != nil {
		return fmt.Errorf("shape the link to %s: %w", to, err)
	}
	cmd := at.Command(n.netem, "apply", "--dev", device)
	cmd.Stdin = bytes.NewReader(content)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("shape the link to %s: %w\n%s", to, err, output)
	}
	return nil
}

// stopWithin bounds the end of an emulator.
const stopWithin = 20 * time.Second

// stop ends the emulators. What is left of them would end with its device.
func (n *Net) stop() {
	var all sync.WaitGroup
	stop := func(at Place, device string) {
		all.Go(func() {
			cmd := at.Command(n.netem, "stop", "--dev", device)
			cmd.WaitDelay = stopWithin
			_ = cmd.Run()
		})
	}
	for i, spoke := range n.Spokes {
		stop(n.Hub, fmt.Sprint(device, i))
		stop(spoke, device)
	}
	all.Wait()
}
