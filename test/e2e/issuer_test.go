// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// A server whose certificate comes from an issuer of cert-manager's waits for it, serves with it, and is given the one
// that takes its place; what cert-manager has of it goes with it.
func TestAServerWithAnIssuer(t *testing.T) {
	onlyInAll(t)
	bed.Beside(t, 150)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	quincy := b.Site("quincy")
	server := declareServer(t, b, "e2ecertman", "quincy", func(s *v1alpha1.SQLServerSpec) {
		s.TLS = &v1alpha1.ServerTLS{IssuerRef: &v1alpha1.IssuerReference{Name: "e2e-issuer"}}
	})
	waitForReason(t, b, server, v1alpha1.ReasonCertManagerMissing)
	startCertManager(t, b, quincy)
	waitForReason(t, b, server, v1alpha1.ReasonCertificateNotIssued)

	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := authority.Data()
	g.Expect(err).NotTo(HaveOccurred())
	issuer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Issuer",
		"metadata": map[string]any{"namespace": namespace, "name": "e2e-issuer"},
		"spec":     map[string]any{"ca": map[string]any{"secretName": "e2e-issuer"}}}}
	for _, obj := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e2e-issuer"},
			Type: corev1.SecretTypeTLS, Data: data},
		issuer,
	} {
		g.Expect(quincy.Client.Create(t.Context(), obj)).To(Succeed())
		t.Cleanup(func() { _ = quincy.Client.Delete(context.WithoutCancel(t.Context()), obj) })
	}
	waitForServer(t, b, server, 3*time.Minute)
	shown := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: credentials.CertificateName(v1alpha1.ServerName(server.Name))}
	g.Expect(b.Hub().Client.Get(t.Context(), key, shown)).To(Succeed())
	g.Expect(credentials.SignedBy(shown.Data, authority.PEM())).To(BeTrue())
	connector := connectorFrom(t, b, shellAt(t, quincy, namespace))
	g.Expect(open(t, connector, server, credentials.RoleOperator, "master").Ping(t.Context())).
		To(Succeed(), "verified by the issuer's CA, under the server's name")

	first := shown.Data[credentials.KeyCertificate]
	issued := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: credentials.IssuedName(v1alpha1.ServerName(server.Name))}}
	g.Expect(quincy.Client.Delete(t.Context(), issued)).To(Succeed())
	bed.Wait(t, "the server is given another certificate", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, key, shown)
		return string(shown.Data[credentials.KeyCertificate]) != string(first), "it has the first one", err
	})
	waitForServer(t, b, server, 3*time.Minute)

	removeServer(t, b, server)
	certificate := &unstructured.Unstructured{}
	certificate.SetAPIVersion("cert-manager.io/v1")
	certificate.SetKind("Certificate")
	for _, obj := range []client.Object{certificate, &corev1.Secret{}} {
		err := quincy.Client.Get(t.Context(), client.ObjectKeyFromObject(issued), obj)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T: %v", obj, err)
	}
}

// startCertManager installs cert-manager's kinds at a site, out of its module, and runs those of its controllers that
// issue by a CA as a process of the test's. Both go with the test.
func startCertManager(t *testing.T, b *bed.Bed, site *bed.Site) {
	t.Helper()
	g := NewWithT(t)
	run := func(dir, name string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), name, arguments...)
		command.Dir, command.Stderr = dir, os.Stderr
		out, err := command.Output()
		g.Expect(err).NotTo(HaveOccurred(), "%s %q", name, arguments)
		return strings.TrimSpace(string(out))
	}
	program := run(b.Repo, filepath.Join(b.Repo, "hack", "program"), "certmanager")
	module := run(filepath.Join(b.Repo, "hack", "bed", "certmanager"), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/cert-manager/cert-manager")
	definitions := filepath.Join(module, "deploy", "crds")
	_, _, err := site.Kubectl(t.Context(), "apply", "--server-side", "-f", definitions)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		_, _, err := site.Kubectl(context.WithoutCancel(t.Context()), "delete", "--ignore-not-found", "-f", definitions)
		g.Expect(err).NotTo(HaveOccurred())
	})
	kubeconfig, _, err := site.Kubectl(t.Context(), "config", "view", "--minify", "--flatten", "--raw")
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, []byte(kubeconfig), 0o600)).To(Succeed())
	process := exec.Command(program, "--kubeconfig", file)
	process.Stderr = os.Stderr
	g.Expect(process.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
}
