// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"geosql.dev/operator/internal/admission"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/ports"
)

// candidate starts a manager with webhooks that stands for election, as `geosql manager` does. It ends when stop
// returns, or with the test.
func candidate(t *testing.T, hub *apiserver.Server, port int) (leads <-chan struct{}, stop func()) {
	t.Helper()
	g := NewWithT(t)
	serving := admission.NewServing(
		admission.ServingOptions{Namespace: operatorNamespace, Service: "geosql-operator-webhook", Host: "127.0.0.1"})
	mgr, err := manager.New(hub.Config, manager.Options{Scheme: apiserver.Scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}, LeaderElection: true, LeaderElectionID: "geosql-operator",
		LeaderElectionNamespace: operatorNamespace, LeaderElectionReleaseOnCancel: true,
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: serving.TLSOptions()})})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(serving.SetupWithManager(mgr)).To(Succeed())
	g.Expect(admission.Register(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager ended with an error: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return mgr.Elected(), stop
}

// A manager that stands by admits, before it leads and while the other one hands over to it.
func TestAManagerThatStandsByAdmits(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, operatorNamespace)
	hub.Namespace(t, "web")
	// API servers reach both by one Service; the standby is the one that this API server is led to.
	port := ports.Free(t)
	g.Expect(hub.Client.Create(t.Context(), configuration(t, port))).To(Succeed())
	leads, stop := candidate(t, hub, ports.Free(t))
	g.Eventually(leads, time.Minute).Should(BeClosed())
	elected, _ := candidate(t, hub, port)
	admitted := func() error {
		return hub.Client.Create(t.Context(), parseOne(t, with(site, "NAME", "ready")), client.DryRunAll)
	}
	g.Eventually(admitted, time.Minute).Should(Succeed())
	g.Expect(elected).NotTo(BeClosed(), "it stands by")
	stop()
	deadline := time.After(time.Minute)
	for led := false; !led; {
		g.Expect(admitted()).To(Succeed(), "while nobody leads")
		select {
		case <-elected:
			led = true
		case <-deadline:
			t.Fatal("the manager that stood by does not lead a minute after the other one has ended")
		case <-time.After(50 * time.Millisecond):
		}
	}
	g.Expect(admitted()).To(Succeed())
}
