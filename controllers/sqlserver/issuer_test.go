// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// byIssuer is the server with a certificate of an issuer's.
func byIssuer() *v1alpha1.SQLServer {
	s := server()
	s.Spec.TLS = &v1alpha1.ServerTLS{IssuerRef: &v1alpha1.IssuerReference{Name: "corp", Kind: "ClusterIssuer"}}
	return s
}

func newIssued(t *testing.T) *environ {
	t.Helper()
	e := newEnviron(t, declared(byIssuer(), Surroundings{}))
	e.o.UserCertificateError = errors.New("secret web/tukpub-certificate does not exist at site tukwila")
	return e
}

// says is what cert-manager writes of the Certificate.
func (e *environ) says(t *testing.T, conditions ...map[string]any) {
	t.Helper()
	var all []any
	for _, one := range conditions {
		all = append(all, one)
	}
	c := e.o.Issue.Certificate.DeepCopy()
	NewWithT(t).Expect(unstructured.SetNestedSlice(c.Object, all, "status", "conditions")).To(Succeed())
	e.o.Issue.Certificate = c
}

func told(kind, status, reason, message string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
}

// issue is what cert-manager does: it signs for the names that the Certificate has.
func (e *environ) issue(t *testing.T, authority *credentials.Authority) {
	t.Helper()
	g := NewWithT(t)
	names, _, err := unstructured.NestedStringSlice(e.o.Issue.Certificate.Object, "spec", "dnsNames")
	g.Expect(err).NotTo(HaveOccurred())
	e.o.UserCertificate, e.o.UserCertificateError = issuedBy(t, authority, e.o.Now, names...), nil
	e.says(t, told("Ready", "True", "Ready", "Certificate is up to date and has not expired"))
}

// A certificate comes from an issuer that the server names: the operator asks for it, waits for it, and gives it to the
// server. Nothing but the change waits for what cert-manager does not do.
func TestACertificateOfAnIssuer(t *testing.T) {
	g := NewWithT(t)
	e := newIssued(t)
	p, done := e.settle(t, 1)
	g.Expect(done).To(ContainElement("apply Certificate tukpub-certificate: it does not exist"))
	g.Expect(e.o.StatefulSet).To(BeNil())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonCertificateNotIssued),
		HaveField("Message", ContainSubstring("has not said anything"))))
	spec := e.o.Issue.Certificate.Object["spec"]
	g.Expect(spec).To(And(
		HaveKeyWithValue("secretName", "tukpub-certificate"),
		HaveKeyWithValue("duration", "8760h0m0s"),
		HaveKeyWithValue("issuerRef", map[string]any{"name": "corp", "kind": "ClusterIssuer", "group": "cert-manager.io"}),
		HaveKeyWithValue("dnsNames", ConsistOf("tukpub-0", "tukpub-0.web", "tukpub-0.web.svc",
			"tukpub-0.web.svc.cluster.local")),
		HaveKeyWithValue("usages", ContainElements("server auth", "client auth")),
		HaveKeyWithValue("privateKey", And(HaveKeyWithValue("algorithm", "RSA"), HaveKeyWithValue("size", int64(2048)))),
	))
	e.says(t, told("Issuing", "True", "DoesNotExist", "Issuing certificate as Secret does not exist"),
		told("Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist"))
	g.Expect(plan(e.d, e.o).Outcome.Message).
		To(ContainSubstring("is not ready: DoesNotExist: Issuing certificate as Secret does not exist"))

	e.issue(t, otherCA)
	p, _ = e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(e.o.SiteCertificate[credentials.KeyCertificate]).To(Equal(e.o.UserCertificate[credentials.KeyCertificate]))
	g.Expect(e.o.Authority).To(BeNil(), "the operator needs no CA of its own")
	g.Expect(p.Outcome.Message).NotTo(ContainSubstring("restarted for each"))

	// A listener comes: another certificate is asked for, and what there is goes on.
	e.d.Listeners = []string{"content"}
	p, done = e.settle(t, 1)
	g.Expect(done).To(Equal([]string{"apply Certificate tukpub-certificate: what is declared has changed"}))
	e.says(t, told("Ready", "False", "IncorrectCertificate", "Secret was issued for other names"))
	p, done = e.settle(t, 1)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonCertificateKept),
		HaveField("Message", And(ContainSubstring("Secret was issued for other names"), ContainSubstring("goes on")))))
	e.o.Now = start.Add(time.Hour)
	e.issue(t, otherCA)
	p, _ = e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	parsed, err := credentials.ParseCertificate(e.o.SiteCertificate)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed.Covers("content.web.svc")).To(BeTrue())

	// cert-manager goes, with its Certificates.
	kept := e.o.Issue
	e.o.Issue = Issue{Absent: true}
	p, done = e.settle(t, 1)
	g.Expect(done).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonCertificateKept), HaveField("Message",
		And(ContainSubstring("install cert-manager"), ContainSubstring("goes on")))))

	// The issuer is declared no more.
	e.o.Issue = kept
	e.d = declared(server(), Surroundings{})
	p, done = e.settle(t, 1)
	g.Expect(done).To(ContainElement(ContainSubstring("delete Certificate tukpub-certificate")))
	g.Expect(e.o.Issue.Certificate).To(BeNil())
	g.Expect(e.o.StatefulSet.Annotations).NotTo(HaveKey(annotationIssued))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), p.Outcome.Message)
}

// Each certificate costs a restart: where an issuer grants less than is asked for, a person is told.
func TestACertificateThatIsIssuedForDaysIsTold(t *testing.T) {
	g := NewWithT(t)
	e := newIssued(t)
	e.settle(t, 1)
	e.issue(t, otherCA)
	week := lives{begins: start, ends: start.Add(7 * 24 * time.Hour), caBegins: year.caBegins, caEnds: year.caEnds}
	e.o.UserCertificate = byAnIssuer(t, rsaKey(), week, credentials.ServiceNames("web", "tukpub", nil)...)
	p, _ := e.settle(t, 1)
	g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonRunning),
		HaveField("Message", ContainSubstring("issued for 168h0m0s, and the engine is restarted for each"))))
}

// What stands in the way of a certificate is said as what it is, and a server that has another one goes on with it.
func TestACertificateThatAnIssuerDoesNotGive(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*testing.T, *environ)
		reason, says string
		ready        metav1.ConditionStatus
	}{
		"no cert-manager": {func(_ *testing.T, e *environ) { e.o.Issue = Issue{Absent: true} },
			v1alpha1.ReasonCertManagerMissing, "install cert-manager", metav1.ConditionFalse},
		"credentials of an earlier release": {func(_ *testing.T, e *environ) { e.o.Issue = Issue{Denied: true} },
			v1alpha1.ReasonCertificateNotIssued, "kubectl geosql site join", metav1.ConditionFalse},
		"somebody else's Secret": {func(_ *testing.T, e *environ) {
			e.o.Issue = Issue{InTheWay: "Secret tukpub-certificate"}
		}, v1alpha1.ReasonObjectConflict, "Secret tukpub-certificate of namespace web", metav1.ConditionFalse},
		"an issuer that refuses": {func(t *testing.T, e *environ) {
			e.says(t, told("Issuing", "False", "Failed", "The certificate request has failed and will be retried: no"),
				told("Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist"))
		}, v1alpha1.ReasonCertificateNotIssued, "will be retried: no", metav1.ConditionFalse},
		"one that was ready before it was changed": {func(t *testing.T, e *environ) {
			ready := told("Ready", "True", "Ready", "Certificate is up to date")
			ready["observedGeneration"] = int64(1)
			e.o.Issue.Certificate.SetGeneration(2)
			e.says(t, ready)
		}, v1alpha1.ReasonCertificateNotIssued, "is not ready", metav1.ConditionFalse},
		"other names": {func(t *testing.T, e *environ) {
			e.issue(t, otherCA)
			e.o.UserCertificate = issuedBy(t, otherCA, start, "sql.example.com")
		}, v1alpha1.ReasonCertificateInvalid, "it is not for the name tukpub-0", metav1.ConditionFalse},
		"no CA": {func(t *testing.T, e *environ) {
			e.issue(t, otherCA)
			delete(e.o.UserCertificate, credentials.KeyCA)
		}, v1alpha1.ReasonCertificateInvalid, "key ca.crt is missing", metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newIssued(t)
			e.settle(t, 1)
			c.change(t, e)
			p, _ := e.settle(t, 1)
			g.Expect(p.Outcome).To(And(HaveField("Reason", c.reason), HaveField("Ready", c.ready),
				HaveField("Message", And(ContainSubstring("ClusterIssuer corp"), ContainSubstring(c.says)))))
			g.Expect(e.o.StatefulSet).To(BeNil())

			e = newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 1)
			pod := e.o.Pod.UID
			e.d, e.o.UserCertificateError = declared(byIssuer(), Surroundings{}), errors.New("there is no Secret")
			e.settle(t, 1)
			c.change(t, e)
			p, _ = e.settle(t, 1)
			g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonCertificateKept), HaveField("Message",
				And(ContainSubstring(c.says), ContainSubstring("goes on with the certificate that it has")))))
			g.Expect(e.serves(p)).To(BeTrue(), "other servers go by it")
			g.Expect(e.o.Pod.UID).To(Equal(pod))
			e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
			e.settle(t, 1)
			g.Expect(e.o.Pod.UID).NotTo(Equal(pod), "what else is declared is done")
		})
	}
}
