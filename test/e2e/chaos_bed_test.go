// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// chaosPods are the ends of the connections that faults are measured at: a client, a server at the same site and one
// across the WAN, and what the client knows them by.
type chaosPods struct {
	*testing.T
	b         *bed.Bed
	namespace string
	site      *bed.Site
	client    *bed.Shell
	near, far *bed.Shell
	// farService is the client's local name for the far server: a ClusterIP whose one endpoint is a pod elsewhere.
	farService string
}

const iperfPort = 5201

func newChaosPods(t *testing.T) *chaosPods {
	t.Helper()
	b := bed.Open(t, client.Options{})
	b.NeedChaosMesh(t)
	b.ResetWan(t)
	c := &chaosPods{T: t, b: b, namespace: b.Namespace(t, "chaos"), site: b.Site("tukwila")}
	serve := fmt.Sprintf(
		"iperf3 -s -p %d >/dev/null & exec socat TCP-LISTEN:%d,fork,reuseaddr,backlog=64 SYSTEM:true",
		iperfPort,
		echoPort,
	)
	// ping's file has a capability that such a pod may not have; a copy comes without it and may ping all the same.
	c.client = c.site.StartShell(
		t,
		c.site.ShellPod(t, c.namespace, "client", "cp /usr/bin/ping /tmp/ping; exec sleep infinity"),
	)
	c.near = c.site.StartShell(t, c.site.ShellPod(t, c.namespace, "near", serve))
	far := b.Site("quincy")
	c.far = far.StartShell(t, far.ShellPod(t, c.namespace, "far", serve))
	c.farService = remoteService(t, c.site, c.namespace, "far", c.far.Pod.Status.PodIP)
	return c
}

// selector is Chaos Mesh's for one of the pods.
func (c *chaosPods) selector(name string) map[string]any {
	return map[string]any{"namespaces": []any{c.namespace}, "labelSelectors": map[string]any{"app": name}}
}

// network is the spec of a NetworkChaos on the client, with more of it.
func (c *chaosPods) network(action string, more map[string]any) map[string]any {
	spec := map[string]any{"action": action, "mode": "all", "selector": c.selector("client"), "direction": "to"}
	for key, value := range more {
		spec[key] = value
	}
	return spec
}

func (c *chaosPods) injectNetwork(name, action string, more map[string]any) *bed.Chaos {
	c.Helper()
	return c.site.Inject(c.T, "NetworkChaos", c.namespace, name, c.network(action, more))
}

// pings is what ping(8) says of a series.
type pings struct {
	lossPercent, duplicatePercent float64
	least, mean, most             float64 // milliseconds
}

var (
	pingCounts = regexp.MustCompile(
		`(\d+) packets transmitted, (\d+) received,(?: \+(\d+) duplicates,)?(?: \+\d+ corrupted,)?(?: \+\d+ errors,)? ([0-9.]+)% packet loss`,
	)
	pingTimes = regexp.MustCompile(`= ([0-9.]+)/([0-9.]+)/([0-9.]+)/`)
)

// ping sends as many echo requests, 10 ms apart, and waits a second for the last answer.
func (c *chaosPods) ping(address string, count int) (pings, error) {
	out, err := c.client.Run(c.Context(), fmt.Sprintf("/tmp/ping -n -q -i 0.01 -W 1 -c %d %s || true", count, address))
	if err != nil {
		return pings{}, err
	}
	counts := pingCounts.FindStringSubmatch(out)
	if counts == nil {
		return pings{}, fmt.Errorf("ping %s printed no counts: %q", address, out)
	}
	number := func(text string) float64 { value, _ := strconv.ParseFloat(text, 64); return value }
	result := pings{lossPercent: number(counts[4]), duplicatePercent: 100 * number(counts[3]) / max(number(counts[2]), 1)}
	if times := pingTimes.FindStringSubmatch(out); times != nil {
		result.least, result.mean, result.most = number(times[1]), number(times[2]), number(times[3])
	}
	return result, nil
}

// megabits is the rate of one TCP stream from the client, in Mbit/s, over some seconds; what a bucket had saved up is
// not counted.
func (c *chaosPods) megabits(address string, seconds int) (float64, error) {
	out, err := c.client.Run(c.Context(), fmt.Sprintf("iperf3 -J -O 1 -t %d -p %d -c %s", seconds, iperfPort, address))
	if err != nil {
		return 0, err
	}
	var report struct {
		End struct {
			Received struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return 0, fmt.Errorf("iperf3 printed %q: %w", out, err)
	}
	return report.End.Received.BitsPerSecond / 1e6, nil
}

// expectPing holds a series of pings to what is asked, more than once: the machine may be busy for a moment.
func (c *chaosPods) expectPing(what, address string, count int, check func(g Gomega, p pings)) {
	c.Helper()
	NewWithT(c.T).Eventually(func(g Gomega) {
		p, err := c.ping(address, count)
		g.Expect(err).NotTo(HaveOccurred())
		c.Logf(
			"%s: least %.1f mean %.1f most %.1f ms, %.1f %% lost, %.1f %% twice",
			what,
			p.least,
			p.mean,
			p.most,
			p.lossPercent,
			p.duplicatePercent,
		)
		check(g, p)
	}).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(Succeed())
}

// opens tells whether a TCP connection from a pod is made within 3 s.
func opens(ctx context.Context, from *bed.Shell, address string, port int) (bool, error) {
	out, err := from.Run(
		ctx,
		fmt.Sprintf(`timeout 3 bash -c 'exec 3<>/dev/tcp/%s/%d && echo open' || true`, address, port),
	)
	return strings.Contains(out, "open"), err
}

func (c *chaosPods) expectOpens(from *bed.Shell, address string, port int, want bool) {
	c.Helper()
	NewWithT(c.T).Eventually(func() (bool, error) { return opens(c.Context(), from, address, port) }).
		WithTimeout(60*time.Second).
		WithPolling(time.Second).Should(Equal(want), "%s opens %s:%d", from.Pod.Name, address, port)
}

// inClient runs a script on the client's node, in the network namespace of the client.
func (c *chaosPods) inClient(script string) string {
	c.Helper()
	return c.b.NodeExec(c.T, c.client.Pod.Spec.NodeName, "bash", "-c", fmt.Sprintf(
		`id=$(crictl pods -q --namespace %s --name client) && pid=$(crictl inspectp -o go-template --template '{{.info.pid}}' $id) && nsenter -n -t $pid -- bash -c %s`,
		c.namespace,
		"'"+script+"'",
	))
}

// expectNothingLeft looks for what a recovered fault may not leave behind: a rule that packets reach, a full set, a
// discipline, a device or a process of the emulator. Chaos Mesh leaves its chains, empty, and sets without members.
func (c *chaosPods) expectNothingLeft() {
	c.Helper()
	NewWithT(c.T).Eventually(func(g Gomega) {
		rules := c.inClient("iptables-legacy -S")
		for _, rule := range strings.Split(rules, "\n") {
			if strings.HasPrefix(rule, "-A CHAOS-") {
				g.Expect(rule).To(BeEmpty(), "a rule that packets reach")
			}
		}
		g.Expect(c.inClient("ip -br link")).NotTo(ContainSubstring("netem"), "devices")
		g.Expect(c.inClient("tc qdisc show dev eth0")).NotTo(MatchRegexp("netem|tbf|prio"), "disciplines")
		g.Expect(c.inClient("ss -xlH")).NotTo(ContainSubstring("netem"), "an emulator's socket")
	}).WithTimeout(60 * time.Second).WithPolling(time.Second).Should(Succeed())
	for _, address := range []string{c.near.Pod.Status.PodIP, c.far.Pod.Status.PodIP} {
		c.expectPing("after recovery", address, 20, func(g Gomega, p pings) {
			g.Expect(p.lossPercent).To(BeZero())
			g.Expect(p.duplicatePercent).To(BeZero())
			g.Expect(p.least).To(BeNumerically("<", roundTrip("tukwila", "quincy")+5))
		})
	}
}

// onlyInSoak skips, except in the long form, what differs little from another case or takes minutes.
func onlyInSoak(t *testing.T) {
	t.Helper()
	if os.Getenv(soakRounds) == "" {
		t.Skip("in make soak only")
	}
}

// TestChaosNetwork injects each kind of network fault and measures it between pods.
func TestChaosNetwork(t *testing.T) {
	c := newChaosPods(t)
	near := c.near.Pod.Status.PodIP
	lost := func(percent float64) func(g Gomega, p pings) {
		return func(g Gomega, p pings) { g.Expect(p.lossPercent).To(BeNumerically("~", percent, 7)) }
	}
	for _, fault := range []struct {
		name, action string
		more         map[string]any
		check        func(g Gomega, p pings)
	}{
		{"delay 120 ms", "delay", map[string]any{"delay": map[string]any{"latency": "120ms"}}, func(g Gomega, p pings) {
			g.Expect(p.least).To(BeNumerically("~", 120, 3))
			g.Expect(p.mean).To(BeNumerically("~", 120, 10))
		}},
		{"delay 60 ms +- 20 ms", "delay", map[string]any{"delay": map[string]any{"latency": "60ms", "jitter": "20ms"}},
			func(g Gomega, p pings) {
				g.Expect(p.least).To(BeNumerically("~", 42, 5))
				g.Expect(p.mean).To(BeNumerically("~", 60, 8))
				g.Expect(p.most).To(BeNumerically(">", 74))
			}},
		{"loss 25 %", "loss", map[string]any{"loss": map[string]any{"loss": "25"}}, lost(25)},
		{"corrupt 30 %", "corrupt", map[string]any{"corrupt": map[string]any{"corrupt": "30"}}, lost(30)},
		{"duplicate 40 %", "duplicate", map[string]any{"duplicate": map[string]any{"duplicate": "40"}},
			func(g Gomega, p pings) {
				g.Expect(p.lossPercent).To(BeZero())
				g.Expect(p.duplicatePercent).To(BeNumerically("~", 40, 9))
			}},
		{"80 ms with 20 % loss and 30 % duplicates", "netem", map[string]any{"delay": map[string]any{"latency": "80ms"},
			"loss": map[string]any{"loss": "20"}, "duplicate": map[string]any{"duplicate": "30"}}, func(g Gomega, p pings) {
			g.Expect(p.least).To(BeNumerically("~", 80, 3))
			g.Expect(p.lossPercent).To(BeNumerically("~", 20, 7))
			g.Expect(p.duplicatePercent).To(BeNumerically("~", 30, 9))
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			if fault.action == "loss" || fault.action == "duplicate" || fault.name == "delay 120 ms" {
				onlyInSoak(t)
			}
			onlyInAll(t)
			c := *c
			c.T = t
			chaos := c.injectNetwork("fault", fault.action, fault.more)
			c.expectPing(fault.name, near, 300, fault.check)
			chaos.Remove(t)
			c.expectNothingLeft()
		})
	}
	for _, limit := range []struct {
		name, action string
		more         map[string]any
	}{
		{"bandwidth 1 Mbyte/s", "bandwidth",
			map[string]any{"bandwidth": map[string]any{"rate": "1mbps", "limit": int64(200000), "buffer": int64(20000)}}},
		{"rate 8 Mbit/s", "netem", map[string]any{"rate": map[string]any{"rate": "8mbit"}}},
	} {
		t.Run(limit.name, func(t *testing.T) {
			if limit.action == "netem" {
				onlyInSoak(t)
			}
			onlyInAll(t)
			c := *c
			c.T = t
			chaos := c.injectNetwork("fault", limit.action, limit.more)
			NewWithT(t).Eventually(func(g Gomega) {
				rate, err := c.megabits(near, 4)
				g.Expect(err).NotTo(HaveOccurred())
				t.Logf("%s: %.2f Mbit/s", limit.name, rate)
				g.Expect(rate).To(BeNumerically("~", 8, 1.2))
			}).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(Succeed())
			chaos.Remove(t)
			c.expectNothingLeft()
		})
	}
	t.Run("two faults one behind the other", func(t *testing.T) {
		c := *c
		c.T = t
		first := c.injectNetwork("first", "delay", map[string]any{"delay": map[string]any{"latency": "50ms"}})
		second := c.injectNetwork(
			"second",
			"netem",
			map[string]any{"delay": map[string]any{"latency": "70ms"}, "loss": map[string]any{"loss": "25"}},
		)
		c.expectPing("both", near, 300, func(g Gomega, p pings) {
			g.Expect(p.least).To(BeNumerically("~", 120, 4))
			g.Expect(p.lossPercent).To(BeNumerically("~", 25, 7))
		})
		first.Remove(t)
		c.expectPing(
			"the second alone",
			near,
			100,
			func(g Gomega, p pings) { g.Expect(p.least).To(BeNumerically("~", 70, 3)) },
		)
		second.Remove(t)
		c.expectNothingLeft()
	})
}

// TestChaosTargets aims faults at one of several destinations, by each of the names it has.
func TestChaosTargets(t *testing.T) {
	c := newChaosPods(t)
	usual := roundTrip("tukwila", "quincy")
	delay := func(name string, targets ...any) *bed.Chaos {
		return c.injectNetwork(
			name,
			"delay",
			map[string]any{"delay": map[string]any{"latency": "100ms"}, "externalTargets": targets},
		)
	}
	farPod, farAPI := c.far.Pod.Status.PodIP, c.b.Site("quincy").Address
	t.Run("a pod's address", func(t *testing.T) {
		onlyInAll(t)
		c := *c
		c.T = t
		chaos := delay("address", farPod)
		expectRoundTrip(t, "by the pod's address", c.client, farPod, echoPort, usual+100)
		// Addresses are translated on the node: in the pod the destination is still the ClusterIP.
		expectRoundTrip(t, "by the Service", c.client, c.farService, echoPort, usual)
		expectRoundTrip(t, "another pod", c.client, c.near.Pod.Status.PodIP, echoPort, 0)
		chaos.Remove(t)
		c.expectNothingLeft()
	})
	t.Run("its ClusterIP too, and the API server of its site", func(t *testing.T) {
		c := *c
		c.T = t
		chaos := delay("all-names", farPod, c.farService, farAPI)
		expectRoundTrip(t, "by the pod's address", c.client, farPod, echoPort, usual+100)
		expectRoundTrip(t, "by the Service", c.client, c.farService, echoPort, usual+100)
		expectRoundTrip(t, "the API server", c.client, farAPI, 6443, usual+100)
		expectRoundTrip(t, "another pod", c.client, c.near.Pod.Status.PodIP, echoPort, 0)
		chaos.Remove(t)
		c.expectNothingLeft()
	})
	t.Run("a target by its labels", func(t *testing.T) {
		onlyInSoak(t)
		c := *c
		c.T = t
		chaos := c.injectNetwork(
			"labels",
			"delay",
			map[string]any{"delay": map[string]any{"latency": "100ms"}, "direction": "both",
				"target": map[string]any{"mode": "all", "selector": c.selector("near")}},
		)
		expectRoundTrip(t, "both ways", c.client, c.near.Pod.Status.PodIP, echoPort, 200)
		expectRoundTrip(t, "another pod", c.client, farPod, echoPort, usual)
		chaos.Remove(t)
		c.expectNothingLeft()
	})
	t.Run("different faults for two destinations", func(t *testing.T) {
		onlyInAll(t)
		c := *c
		c.T = t
		slow := delay("slow", farPod)
		lossy := c.injectNetwork(
			"lossy",
			"loss",
			map[string]any{"loss": map[string]any{"loss": "30"}, "externalTargets": []any{c.near.Pod.Status.PodIP}},
		)
		expectRoundTrip(t, "the slow one", c.client, farPod, echoPort, usual+100)
		c.expectPing("the lossy one", c.near.Pod.Status.PodIP, 300, func(g Gomega, p pings) {
			g.Expect(p.lossPercent).To(BeNumerically("~", 30, 8))
			g.Expect(p.least).To(BeNumerically("<", 20))
		})
		slow.Remove(t)
		lossy.Remove(t)
		c.expectNothingLeft()
	})
}

// TestChaosPartition cuts connections in both directions, and packets in one.
func TestChaosPartition(t *testing.T) {
	onlyInSoak(t)
	c := newChaosPods(t)
	farPod, farAPI := c.far.Pod.Status.PodIP, c.b.Site("quincy").Address
	for _, direction := range []string{"to", "from", "both"} {
		t.Run(direction, func(t *testing.T) {
			if direction == "to" {
				onlyInSoak(t)
			}
			c := *c
			c.T = t
			c.expectOpens(c.client, farPod, echoPort, true)
			chaos := c.injectNetwork("cut-"+direction, "partition", map[string]any{"direction": direction,
				"externalTargets": []any{farPod, c.farService, farAPI}})
			c.expectOpens(c.client, farPod, echoPort, false)
			c.expectOpens(c.client, c.farService, echoPort, false)
			c.expectOpens(c.client, farAPI, 6443, false)
			c.expectOpens(c.client, c.near.Pod.Status.PodIP, echoPort, true)
			sent, received := c.oneWay()
			t.Logf("direction %s: datagrams reach the far pod %t, and the client %t", direction, sent, received)
			g := NewWithT(t)
			g.Expect(sent).To(Equal(direction == "from"), "datagrams from the client")
			g.Expect(received).To(Equal(direction == "to"), "datagrams to the client")
			chaos.Remove(t)
			c.expectOpens(c.client, c.farService, echoPort, true)
			c.expectNothingLeft()
		})
	}
}

// oneWay sends datagrams each way between the client and the far pod and tells which way some arrive.
func (c *chaosPods) oneWay() (fromClient, toClient bool) {
	c.Helper()
	arrives := func(from, to *bed.Shell) bool {
		port := 7000 + time.Now().Nanosecond()%1000
		result := make(chan bool, 1)
		go func() {
			out, _ := to.Run(c.Context(), fmt.Sprintf("timeout 4 socat -u UDP-RECV:%d STDOUT | head -c 2; true", port))
			result <- strings.Contains(out, "hi")
		}()
		_, err := from.Run(
			c.Context(),
			fmt.Sprintf(
				"for i in $(seq 12); do echo hi | socat -u STDIN UDP-SENDTO:%s:%d || true; sleep 0.25; done",
				to.Pod.Status.PodIP,
				port,
			),
		)
		if err != nil {
			c.Fatal(err)
		}
		return <-result
	}
	return arrives(c.client, c.far), arrives(c.far, c.client)
}

// TestChaosDaemonRestart finds out what becomes of faults whose daemon is restarted: those of the kernel stay in force,
// and recovery takes all of them back, whoever made them.
func TestChaosDaemonRestart(t *testing.T) {
	onlyInSoak(t)
	c := newChaosPods(t)
	far := c.far.Pod.Status.PodIP
	cut := c.injectNetwork("cut", "partition", map[string]any{"externalTargets": []any{far}})
	slow := c.injectNetwork(
		"slow",
		"delay",
		map[string]any{"delay": map[string]any{"latency": "100ms"}, "externalTargets": []any{c.near.Pod.Status.PodIP}},
	)
	c.expectOpens(c.client, far, echoPort, false)
	expectRoundTrip(t, "before the restart", c.client, c.near.Pod.Status.PodIP, echoPort, 100)
	c.restartDaemon(c.client.Pod.Spec.NodeName)
	open, err := opens(t.Context(), c.client, far, echoPort)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(open).To(BeFalse(), "a partition outlives the daemon")
	expectRoundTrip(t, "after the restart", c.client, c.near.Pod.Status.PodIP, echoPort, 100)
	cut.Remove(t)
	c.expectOpens(c.client, far, echoPort, true)
	slow.Remove(t)
	c.expectNothingLeft()
}

// restartDaemon deletes the daemon of a node and waits for the next.
func (c *chaosPods) restartDaemon(node string) {
	c.Helper()
	selector := client.MatchingLabels{"app.kubernetes.io/component": "chaos-daemon"}
	daemon := func(ctx context.Context) (*corev1.Pod, error) {
		var pods corev1.PodList
		if err := c.site.Client.List(ctx, &pods, client.InNamespace("chaos-mesh"), selector); err != nil {
			return nil, err
		}
		for i, pod := range pods.Items {
			if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
				return &pods.Items[i], nil
			}
		}
		return nil, nil
	}
	old, err := daemon(c.Context())
	NewWithT(c.T).Expect(err).NotTo(HaveOccurred())
	NewWithT(c.T).Expect(old).NotTo(BeNil())
	NewWithT(c.T).Expect(c.site.Client.Delete(c.Context(), old, client.GracePeriodSeconds(1))).To(Succeed())
	bed.Wait(c.T, "the daemon of "+node+" is another", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		pod, err := daemon(ctx)
		if err != nil || pod == nil {
			return false, "there is none", err
		}
		return pod.UID != old.UID && bed.Ready(pod), string(pod.Status.Phase), nil
	})
}
