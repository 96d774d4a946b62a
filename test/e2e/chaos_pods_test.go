// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// chaosVictim is one pod that faults are injected into. It writes what its own clock says to a file, ten times a
// second, from a process that lives throughout.
type chaosVictim struct {
	*testing.T
	site      *bed.Site
	namespace string
	shell     *bed.Shell
}

const tellTime = `while :; do echo $EPOCHREALTIME >/tmp/now.new; mv /tmp/now.new /tmp/now; sleep 0.1; done`

func newChaosVictim(t *testing.T) *chaosVictim {
	t.Helper()
	b := bed.Open(t, client.Options{})
	b.NeedChaosMesh(t)
	v := &chaosVictim{T: t, site: b.Site("tukwila"), namespace: b.Namespace(t, "chaos")}
	v.shell = v.site.StartShell(t, v.site.ShellPod(t, v.namespace, "victim", tellTime))
	return v
}

func (v *chaosVictim) spec(more map[string]any) map[string]any {
	spec := map[string]any{
		"mode":     "all",
		"selector": map[string]any{"namespaces": []any{v.namespace}, "labelSelectors": map[string]any{"app": "victim"}},
	}
	for key, value := range more {
		spec[key] = value
	}
	return spec
}

func (v *chaosVictim) inject(kind, name string, more map[string]any) *bed.Chaos {
	v.Helper()
	return v.site.Inject(v.T, kind, v.namespace, name, v.spec(more))
}

// waitPod waits until the pod is as wanted.
func (v *chaosVictim) waitPod(what string, wanted func(pod *corev1.Pod, container corev1.ContainerStatus) bool) {
	v.Helper()
	bed.Wait(v.T, what, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		pod := &corev1.Pod{}
		if err := v.site.Client.Get(ctx, client.ObjectKeyFromObject(v.shell.Pod), pod); err != nil {
			return false, "", err
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			return false, string(pod.Status.Phase), nil
		}
		container := pod.Status.ContainerStatuses[0]
		return wanted(pod, container), fmt.Sprintf("%s, ready %t, %d restarts, image %s",
			pod.Status.Phase, container.Ready, container.RestartCount, container.Image), nil
	})
}

func (v *chaosVictim) number(script string) (float64, error) {
	out, err := v.shell.Run(v.Context(), script)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		return 0, fmt.Errorf("%q printed %q: %w", script, out, err)
	}
	return number, nil
}

func TestChaosPods(t *testing.T) {
	onlyInSoak(t)
	t.Run("container killed", func(t *testing.T) {
		v := newChaosVictim(t)
		v.inject("PodChaos", "kill-container", map[string]any{"action": "container-kill", "containerNames": []any{"shell"}})
		v.waitPod(
			"its container was started again",
			func(_ *corev1.Pod, c corev1.ContainerStatus) bool { return c.RestartCount == 1 && c.Ready },
		)
	})
	t.Run("pod failing, then well again", func(t *testing.T) {
		v := newChaosVictim(t)
		image := v.shell.Pod.Spec.Containers[0].Image
		chaos := v.inject("PodChaos", "fail", map[string]any{"action": "pod-failure", "duration": "10m"})
		v.waitPod("it does not run", func(pod *corev1.Pod, c corev1.ContainerStatus) bool {
			return pod.Spec.Containers[0].Image != image && !c.Ready
		})
		chaos.Remove(t)
		v.waitPod("it runs again", func(pod *corev1.Pod, c corev1.ContainerStatus) bool {
			return pod.Spec.Containers[0].Image == image && c.Ready && c.State.Running != nil
		})
		NewWithT(t).Eventually(func() (string, error) { return v.shell.Run(t.Context(), "cat /tmp/now") }).
			WithTimeout(60 * time.Second).ShouldNot(BeEmpty())
	})
	t.Run("pod killed", func(t *testing.T) {
		v := newChaosVictim(t)
		v.inject("PodChaos", "kill-pod", map[string]any{"action": "pod-kill", "gracePeriod": int64(0)})
		bed.Wait(t, "the pod is gone", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			pod := &corev1.Pod{}
			err := v.site.Client.Get(ctx, client.ObjectKeyFromObject(v.shell.Pod), pod)
			return err != nil && client.IgnoreNotFound(err) == nil ||
					err == nil && pod.UID != v.shell.Pod.UID, "it is there", client.IgnoreNotFound(
					err,
				)
		})
	})
}

func TestChaosStress(t *testing.T) {
	onlyInSoak(t)
	t.Run("processor", func(t *testing.T) {
		v := newChaosVictim(t)
		// Seconds of processor that the container's group used within ten seconds.
		usage := `used() { if [ -e /sys/fs/cgroup/cpuacct/cpuacct.usage ]; then echo $(($(cat /sys/fs/cgroup/cpuacct/cpuacct.usage) / 1000)); else awk '$1 == "usage_usec" {print $2}' /sys/fs/cgroup/cpu.stat; fi; }
			before=$(used); sleep 10; echo $(($(used) - before))`
		before, err := v.number(usage)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		chaos := v.inject(
			"StressChaos",
			"cpu",
			map[string]any{"stressors": map[string]any{"cpu": map[string]any{"workers": int64(1), "load": int64(60)}}},
		)
		g.Eventually(func(g Gomega) {
			used, err := v.number(usage)
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("processor: %.2f before, %.2f asked for 0.60", before/1e7, used/1e7)
			// A busy machine gives less than was asked.
			g.Expect((used - before) / 1e7).To(And(BeNumerically(">", 0.15), BeNumerically("<", 0.75)))
		}).WithTimeout(2 * time.Minute).Should(Succeed())
		chaos.Remove(t)
		g.Eventually(func() (float64, error) { return v.number(usage) }).
			WithTimeout(2 * time.Minute).
			Should(BeNumerically("<", before+1e6))
	})
	t.Run("memory", func(t *testing.T) {
		v := newChaosVictim(t)
		usage := `if [ -e /sys/fs/cgroup/memory/memory.usage_in_bytes ]; then awk '$1 == "rss" {print $2}' /sys/fs/cgroup/memory/memory.stat; else awk '$1 == "anon" {print $2}' /sys/fs/cgroup/memory.stat; fi`
		chaos := v.inject(
			"StressChaos",
			"memory",
			map[string]any{"stressors": map[string]any{"memory": map[string]any{"workers": int64(2), "size": "64MiB"}}},
		)
		g := NewWithT(t)
		g.Eventually(func(g Gomega) {
			used, err := v.number(usage)
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("memory: %.0f MiB, asked for 128", used/(1<<20))
			g.Expect(used / (1 << 20)).To(BeNumerically("~", 132, 12))
		}).WithTimeout(2 * time.Minute).Should(Succeed())
		chaos.Remove(t)
		g.Eventually(func() (float64, error) { return v.number(usage) }).
			WithTimeout(2 * time.Minute).
			Should(BeNumerically("<", 20<<20))
	})
}

// TestChaosClock sets the clock of a process that runs back by an hour and forward again.
func TestChaosClock(t *testing.T) {
	onlyInSoak(t)
	v := newChaosVictim(t)
	offset := func() (float64, error) {
		return v.number(`awk -v now=$(date +%s) '{printf "%.0f", $1 - now}' /tmp/now`)
	}
	g := NewWithT(t)
	g.Eventually(offset).WithTimeout(60 * time.Second).Should(BeNumerically("~", 0, 3))
	chaos := v.inject("TimeChaos", "clock", map[string]any{"timeOffset": "-1h"})
	g.Eventually(offset).WithTimeout(60 * time.Second).Should(BeNumerically("~", -3600, 5))
	chaos.Remove(t)
	g.Eventually(offset).WithTimeout(60 * time.Second).Should(BeNumerically("~", 0, 3))
}

// TestChaosWithoutHelper asks for a fault whose helper the daemon's image does not have: it must never be said to be
// injected, and must not stay for ever.
func TestChaosWithoutHelper(t *testing.T) {
	onlyInSoak(t)
	v := newChaosVictim(t)
	chaos := v.site.NewChaos(t, "IOChaos", v.namespace, "slow-disk", v.spec(map[string]any{
		"action": "latency", "volumePath": "/tmp", "path": "/tmp/*", "delay": "100ms", "percent": int64(100)}))
	g := NewWithT(t)
	g.Consistently(func() (bool, error) {
		injected, _, err := chaos.Condition(t.Context(), "AllInjected")
		return injected, err
	}).WithTimeout(10 * time.Second).WithPolling(time.Second).Should(BeFalse())
	chaos.Remove(t)
}
