// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stage

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// podIP is the address of a server's pod.
func podIP(server v1alpha1.ServerName) string {
	return fmt.Sprintf("10.244.0.%d", 10+slices.Index(engines, server))
}

// runs has a server's pod say what a kubelet would say of it.
func (b *Stage) runs(t testing.TB, server v1alpha1.ServerName, pod *corev1.Pod) {
	t.Helper()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: podIP(server),
		PodIPs:     []corev1.PodIP{{IP: podIP(server)}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	gomega.NewWithT(t).Expect(b.at(server).Client.Status().Update(t.Context(), pod)).To(gomega.Succeed())
}

// Leads is the server to which a Service leads, such as a listener's, at the hub; empty when it leads nowhere.
func (b *Stage) Leads(ctx context.Context, service string) (v1alpha1.ServerName, error) {
	var slices discoveryv1.EndpointSliceList
	if err := b.Hub.Client.List(ctx, &slices, client.InNamespace(Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return "", fmt.Errorf("read where Service %s leads: %w", service, err)
	}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			for _, server := range engines {
				if e.Addresses[0] == podIP(server) {
					return server, nil
				}
			}
		}
	}
	return "", nil
}

// listen begins to take the part of kube-proxy for the listener, and returns its address: each connection goes where
// its Service leads at that moment.
func (b *Stage) listen(t testing.TB) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(ctx, from)
		}
	}()
	return listener.Addr().String()
}

// forward carries a client's connection to the server to which the listener leads.
func (b *Stage) forward(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	ask, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	server, err := b.Leads(ask, Group)
	if err != nil || server == "" {
		return
	}
	to, err := net.Dial("tcp", b.engines[server].Address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() { _, _ = io.Copy(pair[0], pair[1]); done <- struct{}{} }()
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Empty has a server's volumes made anew: its engine ends and begins as the controller of servers would have it.
func (b *Stage) Empty(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	b.engines[server].Wipe(t)
	b.engines[server].Launch(t)
	b.equip(t, server)
}

// LosesVotes has the sidecar of the primary end its engine, as it must in what is done, and starts that again as a
// kubelet would.
func (b *Stage) LosesVotes(t testing.TB, server v1alpha1.ServerName, done func()) {
	t.Helper()
	b.mayEnd.Store(true)
	defer b.mayEnd.Store(false)
	done()
	gomega.NewWithT(t).Eventually(b.engines[server].PID, patient).Should(gomega.BeZero(),
		"the sidecar of %s ends the engine, which serves outside of the group", server)
	b.Launch(t, server)
}
