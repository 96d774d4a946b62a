// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

const (
	// flooders are accounts that ask at once, each by a few requests, and slow is how long each request keeps its place.
	flooders = 40
	slow     = 3 * time.Second
	// The times of a group that declares none: how long a vote counts, how often it is renewed, and how long a call may
	// take.
	expiry, renewal, call = 10 * time.Second, time.Second, time.Second
)

// An API server that is flooded by other accounts takes the renewals of votes in time.
func TestVotesAreRenewedWhileTheAPIServerIsFlooded(t *testing.T) {
	g := NewWithT(t)
	hub, member := apiserver.StartHub(t), apiserver.StartNarrow(t, 20)
	quincy := cluster(member)
	r := join.Request{Name: "quincy", Member: &quincy, Hub: cluster(hub), Out: io.Discard,
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
	_, err := join.Join(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	voter := agentsVoter(t, member)
	before := longest(t, voter, 3*time.Second)
	g.Expect(before).To(BeNumerically("<", expiry/2), "without a flood")

	flood(t, member)
	worst := longest(t, voter, 2*expiry)
	t.Logf("the longest time between two renewals was %s", worst)
	g.Expect(worst).To(BeNumerically("<", expiry), "the longest time between two renewals")
}

// What is made for the votes goes with the site.
func TestLeavingTakesTheFlowAway(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	r := join.Request{Name: "dublin", Hub: cluster(hub), Out: io.Discard,
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
	_, err := join.Join(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	flow := []client.Object{&flowcontrolv1.FlowSchema{}, &flowcontrolv1.PriorityLevelConfiguration{}}
	for _, obj := range flow {
		g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Name: "geosql-votes"}, obj)).To(Succeed())
	}
	g.Expect(join.Leave(t.Context(), r, time.Second)).To(Succeed())
	for _, obj := range flow {
		err := hub.Client.Get(t.Context(), client.ObjectKey{Name: "geosql-votes"}, obj)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T: %v", obj, err)
	}
}

// agentsVoter is the vote of a group, as its agents' account sees it.
func agentsVoter(t *testing.T, member *apiserver.Server) *votes.LeaseVoter {
	t.Helper()
	g := NewWithT(t)
	name := votes.LeaseName("tuk")
	meta := metav1.ObjectMeta{Namespace: "web", Name: "geosql-agent-tuk"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	for _, obj := range []client.Object{account,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"},
			Resources: []string{"leases"}, ResourceNames: []string{name}, Verbs: []string{"get", "update"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}}},
	} {
		g.Expect(member.Client.Create(t.Context(), obj)).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(member.Client.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	config := rest.AnonymousClientConfig(member.Config)
	config.BearerToken, config.QPS = token.Status.Token, -1
	clients, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	lease := votes.NewLease("web", "tuk", "tukpub", votes.Configuration{})
	g.Expect(member.Client.Create(t.Context(), lease)).To(Succeed())
	return votes.NewLeaseVoter("quincy", clients.CoordinationV1().Leases("web"), "tuk")
}

// longest renews a vote for a while and returns the longest time between two renewals that the API server took.
func longest(t *testing.T, voter *votes.LeaseVoter, while time.Duration) time.Duration {
	t.Helper()
	var worst time.Duration
	began := time.Now()
	for last := began; time.Since(began) < while; {
		err := renew(t.Context(), voter)
		now := time.Now()
		worst = max(worst, now.Sub(last))
		if err == nil {
			last = now
		}
		select {
		case <-t.Context().Done():
			return worst
		case <-time.After(renewal):
		}
	}
	return worst
}

func renew(parent context.Context, voter *votes.LeaseVoter) error {
	ctx, cancel := context.WithTimeout(parent, call)
	record, version, err := voter.Read(ctx)
	cancel()
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(parent, call)
	defer cancel()
	_, err = voter.Swap(ctx, version, record)
	return err
}

// flood has many accounts ask for changes that each take their time, by a webhook that answers late, until the test is
// over. It returns once the API server refuses some of them or lets them wait.
func flood(t *testing.T, member *apiserver.Server) {
	t.Helper()
	g := NewWithT(t)
	var at atomic.Int32
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		at.Add(1)
		defer at.Add(-1)
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		select {
		case <-time.After(slow):
		case <-request.Context().Done():
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(webhook.Close)
	g.Expect(member.Client.Create(t.Context(), lateWebhook(webhook))).To(Succeed())
	member.Namespace(t, "crowd")
	crowd := metav1.ObjectMeta{Namespace: "crowd", Name: "crowd"}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: crowd, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{ObjectMeta: crowd,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: crowd.Name},
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts:crowd"}}},
	} {
		g.Expect(member.Client.Create(t.Context(), obj)).To(Succeed())
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var refused atomic.Int32
	for i := range flooders {
		config := rest.CopyConfig(member.Config)
		config.QPS = -1
		config.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:crowd:c%d", i),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:crowd", "system:authenticated"}}
		clients, err := kubernetes.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		for range 4 {
			running.Go(func() {
				for ctx.Err() == nil {
					configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "crowd", GenerateName: "c-"}}
					_, err := clients.CoreV1().ConfigMaps("crowd").Create(ctx, configMap,
						metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
					if err != nil && !errors.Is(err, context.Canceled) {
						refused.Add(1)
					}
				}
			})
		}
	}
	t.Cleanup(func() { stop(); running.Wait() })
	g.Eventually(at.Load).WithTimeout(time.Minute).Should(BeNumerically(">=", 4), "requests that keep their places")
	t.Logf("%d requests are at the webhook, %d were refused", at.Load(), refused.Load())
}

func lateWebhook(server *httptest.Server) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "late"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "late.geosql.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "crowd"}},
			SideEffects:       ptr.To(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:     ptr.To(admissionregistrationv1.Ignore),
			TimeoutSeconds:    ptr.To[int32](10), AdmissionReviewVersions: []string{"v1"},
		}},
	}
}
