// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"context"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// The site's process works with the rights that `site join` grants and no others: it becomes the leader, tells that it
// is there in every allowed namespace, and ends when these change, so that it is started again with them.
func TestSiteProcess(t *testing.T) {
	g := NewWithT(t)
	hub, quincy := apiserver.StartHub(t), apiserver.StartMember(t)
	request := join.Request{
		Name:   "quincy",
		Out:    io.Discard,
		Member: &join.Cluster{Config: quincy.Config, Client: quincy.Client},
		Hub: join.Cluster{
			Config: hub.Config,
			Client: hub.Client,
		},
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
	}
	_, err := join.Join(t.Context(), request)
	g.Expect(err).NotTo(HaveOccurred())
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: sites.SiteAccount},
	}
	g.Expect(quincy.Client.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	cfg := rest.AnonymousClientConfig(quincy.Config)
	cfg.BearerToken = token.Status.Token

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- runSite(ctx, cfg, &siteFlags{name: "quincy", namespace: sites.OperatorNamespace, healthAddress: "0",
			leaderElect: true})
	}()
	var leader, present coordinationv1.Lease
	g.Eventually(func(g Gomega) {
		g.Expect(quincy.Client.Get(t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: sites.SiteAccount},
			&leader)).
			To(Succeed())
		g.Expect(quincy.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: orders.PresenceLease}, &present)).
			To(Succeed())
		g.Expect(present.Spec.RenewTime.Time).To(BeTemporally("~", time.Now(), 10*time.Second))
	}, time.Minute, "200ms").Should(Succeed())

	request.Spec.AllowedNamespaces, request.AddNamespaces = nil, []string{"shop"}
	_, err = join.Join(t.Context(), request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(done, time.Minute, "200ms").Should(Receive(BeNil()))
}

func TestSiteProcessNeedsItsName(t *testing.T) {
	err := runSite(t.Context(), &rest.Config{}, &siteFlags{})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("SITE_NAME and POD_NAMESPACE")))
}
