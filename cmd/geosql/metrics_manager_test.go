// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/admission"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/ports"
)

// The manager tells of objects and their conditions, over HTTPS, those whose token may read metrics, and nobody else.
func TestTheManagersMetrics(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	reader := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: "prometheus"}}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sites.OperatorNamespace}}, reader,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: sites.OperatorNamespace,
				Name: "prometheus"}}},
		&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"},
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"},
				KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "none"},
				Exposure:            v1alpha1.Exposure{Type: v1alpha1.ExposureFlatNetwork}}},
	} {
		g.Expect(hub.Client.Create(t.Context(), object)).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(hub.Client.SubResource("token").Create(t.Context(), reader, token)).To(Succeed())

	address := ports.Address(t)
	ctx, cancel := context.WithCancel(context.Background())
	done, manager := make(chan error, 1), hub.ManagerConfig(t)
	go func() {
		done <- runManager(ctx, manager,
			&managerFlags{namespace: sites.OperatorNamespace, image: "geosql-operator:test", metricsAddress: address,
				metricsService: "geosql-operator-metrics", healthAddress: "0", leaderElect: true})
	}()
	defer func() {
		cancel()
		g.Eventually(done, time.Minute, "200ms").Should(Receive(BeNil()))
	}()
	read := func(bearer string) (int, string) {
		https := verifying(t, hub.Client)
		defer https.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		g.Expect(err).NotTo(HaveOccurred())
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		response, err := https.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return response.StatusCode, string(body)
	}
	g.Eventually(func() string { _, body := read(token.Status.Token); return body }, 2*time.Minute, "500ms").Should(And(
		ContainSubstring("geosql_manager_leading 1"),
		MatchRegexp(`geosql_condition\{kind="Site",name="quincy",namespace="",type="Ready"\} (0|-1)`)))
	_, told := read(token.Status.Token)
	g.Expect(told).To(And(MatchRegexp(`geosql_ca_expiry_timestamp_seconds\{ca="manager"\} \d`),
		Not(ContainSubstring(`ca="servers"`))))
	code, body := read("")
	g.Expect(code).To(Equal(http.StatusUnauthorized))
	g.Expect(body).NotTo(ContainSubstring("geosql_"))
}

// verifying is a client that knows the manager by the CAs in its Secret and by the name of its Service, as a
// ServiceMonitor of the chart does; before there is a Secret it trusts nobody.
func verifying(t *testing.T, hub client.Client) *http.Client {
	t.Helper()
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: sites.OperatorNamespace, Name: admission.SecretName}
	NewWithT(t).Expect(client.IgnoreNotFound(hub.Get(t.Context(), key, &secret))).To(Succeed())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "geosql-operator-metrics." + sites.OperatorNamespace + ".svc"}}}
}
