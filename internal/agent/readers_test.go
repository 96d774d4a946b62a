// SPDX-License-Identifier: Apache-2.0

//go:build integration

package agent_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

// A token opens as long as it is in the Secret, also while the API server is away. With the Secret it ends, also for a
// sidecar that was away when it was deleted; the probes go on.
func TestReadersEndWithTheirSecret(t *testing.T) {
	g := NewWithT(t)
	site := apiserver.StartMember(t)
	site.Namespace(t, "web")
	kube, err := kubernetes.NewForConfig(site.Config)
	g.Expect(err).NotTo(HaveOccurred())
	secrets := kube.CoreV1().Secrets("web")
	create := func(token string) {
		_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: credentials.ReaderName},
			Data: map[string][]byte{credentials.KeyReaderToken: []byte(token)}}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	e, dir := engine.Start(t, "web", "tukpub"), t.TempDir()
	s := startFor(t, e, agent.ReaderSecret(kube, "web"), dir)
	answers := func(shown string, code int, why string) {
		t.Helper()
		s.token = shown
		g.Eventually(s.code("/status"), time.Minute, 50*time.Millisecond).Should(Equal(code), why)
	}
	create(token)
	answers(token, http.StatusOK, "it is in the Secret")
	g.Expect(secrets.Delete(t.Context(), credentials.ReaderName, metav1.DeleteOptions{})).To(Succeed())
	answers(token, http.StatusUnauthorized, "the Secret is deleted")
	g.Eventually(s.code("/readyz"), time.Minute).Should(Equal(http.StatusOK))

	const next = "the-next-token-after-it"
	create(next)
	answers(next, http.StatusOK, "it is in the next Secret")
	s.stop()
	site.Wire.Cut()
	s = startFor(t, e, agent.ReaderSecret(kube, "web"), dir)
	answers(next, http.StatusOK, "nobody tells that the Secret is gone")
	s.stop()
	site.Wire.Mend()
	g.Eventually(func() error { return secrets.Delete(t.Context(), credentials.ReaderName, metav1.DeleteOptions{}) },
		time.Minute).
		Should(Succeed())
	s = startFor(t, e, agent.ReaderSecret(kube, "web"), dir)
	answers(next, http.StatusUnauthorized, "the Secret was deleted while nobody listened")
}
