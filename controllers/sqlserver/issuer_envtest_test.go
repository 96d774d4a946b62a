// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// certificateDefinition is as much of cert-manager's definition of a Certificate as is used: a field that it lacks is
// pruned.
func certificateDefinition() *apiextensionsv1.CustomResourceDefinition {
	type schema = apiextensionsv1.JSONSchemaProps
	text, number := schema{Type: "string"}, schema{Type: "integer"}
	one := func(of ...string) schema {
		s := schema{Type: "string"}
		for _, value := range of {
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)})
		}
		return s
	}
	object := func(properties map[string]schema, required ...string) schema {
		return schema{Type: "object", Properties: properties, Required: required}
	}
	list := func(of schema) schema {
		return schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
	}
	texts := schema{Type: "object",
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}}
	whole := object(map[string]schema{
		"spec": object(map[string]schema{
			"commonName": text, "dnsNames": list(text), "ipAddresses": list(text), "secretName": text,
			"duration":       text,
			"secretTemplate": object(map[string]schema{"labels": texts, "annotations": texts}),
			"issuerRef":      object(map[string]schema{"name": text, "kind": text, "group": text}, "name"),
			"privateKey": object(map[string]schema{"algorithm": one("RSA", "ECDSA", "Ed25519"),
				"encoding": one("PKCS1", "PKCS8"), "rotationPolicy": one("Never", "Always"), "size": number}),
			"usages": list(one("signing", "digital signature", "key encipherment", "server auth", "client auth")),
		}, "issuerRef", "secretName"),
		"status": object(map[string]schema{"conditions": list(object(map[string]schema{"type": text, "status": text,
			"reason": text, "message": text, "observedGeneration": {Type: "integer", Format: "int64"}}))}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates." + sites.CertManagerGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: sites.CertManagerGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Certificate", ListKind: "CertificateList",
				Plural: "certificates", Singular: "certificate"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole}}},
		},
	}
}

func emptyCertificate() *unstructured.Unstructured {
	c := &unstructured.Unstructured{}
	c.SetAPIVersion(sites.CertManagerGroup + "/v1")
	c.SetKind("Certificate")
	return c
}

// issuer signs Certificates at the bed's site, as cert-manager does.
type issuer struct {
	*bed
	authority *credentials.Authority
}

// sign writes the Secret of a server's Certificate, and says so in the Certificate's status.
func (i *issuer) sign(t *testing.T, server string) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	c := emptyCertificate()
	g.Expect(get(t, i.site.Client, server+"-certificate", c)()).To(Succeed())
	names, _, err := unstructured.NestedStringSlice(c.Object, "spec", "dnsNames")
	g.Expect(err).NotTo(HaveOccurred())
	labels, _, err := unstructured.NestedStringMap(c.Object, "spec", "secretTemplate", "labels")
	g.Expect(err).NotTo(HaveOccurred())
	name, _, err := unstructured.NestedString(c.Object, "spec", "secretName")
	g.Expect(err).NotTo(HaveOccurred())
	data, err := i.authority.Issue(names, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data[credentials.KeyCA] = i.authority.PEM()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Labels: labels},
		Type: corev1.SecretTypeTLS, Data: data}
	if err := i.site.Client.Create(t.Context(), secret); apierrors.IsAlreadyExists(err) {
		err = i.site.Client.Update(t.Context(), secret)
		g.Expect(err).NotTo(HaveOccurred())
	} else {
		g.Expect(err).NotTo(HaveOccurred())
	}
	i.tell(t, server, "True", "Ready", "Certificate is up to date and has not expired")
	return data
}

// tell writes the condition Ready of a server's Certificate.
func (i *issuer) tell(t *testing.T, server, status, reason, message string) {
	t.Helper()
	g := NewWithT(t)
	c := emptyCertificate()
	g.Expect(get(t, i.site.Client, server+"-certificate", c)()).To(Succeed())
	condition := map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message,
		"observedGeneration": c.GetGeneration()}
	g.Expect(unstructured.SetNestedSlice(c.Object, []any{condition}, "status", "conditions")).To(Succeed())
	g.Expect(i.site.Client.Status().Update(t.Context(), c)).To(Succeed())
}

// A server whose spec.tls names an issuer gets its certificate from cert-manager at its site: what is asked for is what
// an API server with cert-manager's kinds takes, once; it goes to the server and is renewed with it, and goes with it.
func TestAServerWithAnIssuer(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	i := &issuer{b, authority}
	s := b.create(t, "signed", func(s *v1alpha1.SQLServerSpec) {
		s.ReclaimPolicy = v1alpha1.ReclaimDelete
		s.TLS = &v1alpha1.ServerTLS{IssuerRef: &v1alpha1.IssuerReference{Name: "corp"}}
	})
	g.Eventually(b.ready(t, "signed"), patient, often).
		Should(Satisfy(reason(v1alpha1.ReasonCertManagerMissing)), b.why(t, "signed"))

	_, err = envtest.InstallCRDs(b.site.Config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{certificateDefinition()}})
	g.Expect(err).NotTo(HaveOccurred())
	certificate := emptyCertificate()
	g.Eventually(get(t, b.site.Client, "signed-certificate", certificate), patient, often).
		Should(Succeed(), b.why(t, "signed"))
	g.Expect(certificate.Object["spec"]).To(And(
		HaveKeyWithValue("issuerRef", map[string]any{"name": "corp", "kind": "Issuer", "group": "cert-manager.io"}),
		HaveKeyWithValue("dnsNames", ContainElements("signed-0", "signed-0.web.svc"))))
	i.tell(t, "signed", "False", "DoesNotExist", "Issuing certificate as Secret does not exist")
	g.Eventually(b.ready(t, "signed"), patient, often).Should(And(
		Satisfy(reason(v1alpha1.ReasonCertificateNotIssued)),
		HaveField("Message", ContainSubstring("Issuing certificate as Secret does not exist"))))

	data := i.sign(t, "signed")
	var set appsv1.StatefulSet
	g.Eventually(get(t, b.site.Client, "signed", &set), patient, often).Should(Succeed(), b.why(t, "signed"))
	has := func(data map[string][]byte) {
		g.Eventually(func() map[string][]byte { return certificateOf(t, b, "signed") }, patient, often).Should(And(
			HaveKeyWithValue(credentials.KeyCertificate, data[credentials.KeyCertificate]),
			HaveKeyWithValue(credentials.KeyPrivateKey, data[credentials.KeyPrivateKey])), b.why(t, "signed"))
		var hub corev1.Secret
		g.Eventually(func() map[string][]byte {
			g.Expect(get(t, b.hub.Client, "signed-tls", &hub)()).To(Succeed())
			return hub.Data
		}, patient, often).Should(HaveKeyWithValue(credentials.KeyCertificate, data[credentials.KeyCertificate]))
	}
	has(data)
	has(i.sign(t, "signed"))
	generation := certificate.GetGeneration()
	g.Expect(get(t, b.site.Client, "signed-certificate", certificate)()).To(Succeed())
	g.Expect(certificate.GetGeneration()).To(Equal(generation), "it was written once")

	g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	b.collect(t, "signed")
	g.Eventually(b.ready(t, "signed"), patient, often).Should(Satisfy(reason("NotFound")))
	g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "signed-certificate", emptyCertificate())())).To(BeTrue())
	g.Expect(apierrors.IsNotFound(get(t, b.site.Client, "signed-certificate", &corev1.Secret{})())).To(BeTrue())

	// What somebody else has under that name stays as it is.
	theirs := emptyCertificate()
	theirs.SetNamespace("web")
	theirs.SetName("taken-certificate")
	g.Expect(unstructured.SetNestedField(theirs.Object, "theirs", "spec", "secretName")).To(Succeed())
	g.Expect(unstructured.SetNestedField(theirs.Object, "theirs", "spec", "issuerRef", "name")).To(Succeed())
	g.Expect(b.site.Client.Create(t.Context(), theirs)).To(Succeed())
	written := theirs.GetResourceVersion()
	s = b.create(t, "taken", func(s *v1alpha1.SQLServerSpec) {
		s.TLS = &v1alpha1.ServerTLS{IssuerRef: &v1alpha1.IssuerReference{Name: "corp"}}
	})
	g.Eventually(b.ready(t, "taken"), patient, often).
		Should(Satisfy(reason(v1alpha1.ReasonObjectConflict)), b.why(t, "taken"))
	g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
	g.Eventually(b.ready(t, "taken"), patient, often).Should(Satisfy(reason("NotFound")))
	g.Expect(get(t, b.site.Client, "taken-certificate", theirs)()).To(Succeed())
	g.Expect(theirs.GetResourceVersion()).To(Equal(written))
}
