// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// What cert-manager calls its own (cert-manager.io/docs/reference/api-docs).
const (
	certManagerVersion = sites.CertManagerGroup + "/v1"
	certificateKind    = "Certificate"
	issuerKind         = "Issuer"
	certificateReady   = "Ready"
	certificateIssuing = "Issuing"
)

// Issue is what cert-manager has, at the site, of the server's Certificate.
type Issue struct {
	// Certificate as it is there; nil when there is none, or nobody was asked.
	Certificate *unstructured.Unstructured
	// Absent tells that the site's API server knows no Certificates, Denied that the site's credentials don't let the
	// operator have any: those of an earlier release.
	Absent, Denied bool
	// Left is the Secret of a Certificate that is declared no more; empty when there is none.
	Left string
	// InTheWay is an object of somebody else's that has the name of the Certificate or of its Secret; empty for none.
	InTheWay string
}

// issuer from which the server's certificate comes; nil when spec.tls names none.
func (d Desired) issuer() *v1alpha1.IssuerReference {
	if tls := d.Server.Spec.TLS; tls != nil {
		return tls.IssuerRef
	}
	return nil
}

// given names the certificate that spec.tls gives the server in place of one of the operator's; empty where it gives
// none.
func (d Desired) given() string {
	tls := d.Server.Spec.TLS
	switch {
	case tls == nil:
		return ""
	case tls.SecretName != "":
		return "Secret " + tls.SecretName + " of spec.tls"
	case tls.IssuerRef != nil:
		return fmt.Sprintf("the certificate of %s %s (spec.tls.issuerRef)", cmp.Or(tls.IssuerRef.Kind, issuerKind),
			tls.IssuerRef.Name)
	}
	return ""
}

// certificateLife is what an issuer is asked for: the engine is restarted for each certificate, and cert-manager would
// ask for 90 days. It is written as cert-manager writes it.
const certificateLife = "8760h0m0s"

// shortLife of a certificate, below which a person is told what its renewals cost.
const shortLife = 30 * 24 * time.Hour

// renewedOften says of a certificate of an issuer's that it does not live long; empty when it does.
func renewedOften(d Desired, o Observed) string {
	c, usable := keptCertificate(d, o)
	if d.issuer() == nil || !usable || c.Life() >= shortLife {
		return ""
	}
	return fmt.Sprintf("; its certificate was issued for %s, and the engine is restarted for each: have the issuer grant "+
		"more (a year is asked for)", c.Life())
}

// wantedCertificate is the Certificate by which cert-manager issues the server's certificate and renews it: for the
// names of its Services and those of its groups' listeners, with the key that SQL Server takes, and for clients too,
// since the sidecars of a group show it to each other. Its Secret gets the operator's labels, by which it is watched.
func wantedCertificate(d Desired) *unstructured.Unstructured {
	m := meta(d, credentials.IssuedName(d.name()))
	text := func(all ...string) []any {
		var values []any
		for _, one := range all {
			values = append(values, one)
		}
		return values
	}
	labels := func() map[string]any {
		values := map[string]any{}
		for key, value := range m.Labels {
			values[key] = value
		}
		return values
	}
	ref := d.issuer()
	c := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": certManagerVersion, "kind": certificateKind,
		"metadata": map[string]any{"namespace": m.Namespace, "name": m.Name, "labels": labels()},
		"spec": map[string]any{
			"secretName": m.Name, "duration": certificateLife, "secretTemplate": map[string]any{"labels": labels()},
			"commonName": d.host(), "dnsNames": text(credentials.ServiceNames(d.Server.Namespace, d.name(), d.Listeners)...),
			"issuerRef": map[string]any{"name": ref.Name, "kind": cmp.Or(ref.Kind, issuerKind),
				"group": cmp.Or(ref.Group, sites.CertManagerGroup)},
			"privateKey": map[string]any{"algorithm": "RSA", "encoding": "PKCS1", "size": int64(credentials.RSABits),
				"rotationPolicy": "Always"},
			"usages": text("digital signature", "key encipherment", "server auth", "client auth"),
		},
	}}
	c.SetAnnotations(m.Annotations)
	return c
}

// emptyCertificate is what a Certificate of the server is read into.
func emptyCertificate(d Desired) *unstructured.Unstructured {
	c := &unstructured.Unstructured{}
	c.SetAPIVersion(certManagerVersion)
	c.SetKind(certificateKind)
	c.SetNamespace(d.Server.Namespace)
	c.SetName(credentials.IssuedName(d.name()))
	return c
}

// observeIssued reads what cert-manager has issued to the server, and its Certificate.
func (r *Reconciler) observeIssued(ctx context.Context, d Desired, o *Observed) error {
	name, site := credentials.IssuedName(d.name()), fmt.Sprintf("site %s", d.Server.Spec.Site)
	secret, err := readSecret(ctx, d.member.APIReader, site, d.Server.Namespace, name)
	if err != nil {
		return err
	}
	switch {
	case secret == nil:
		o.UserCertificateError = fmt.Errorf("secret %s/%s does not exist at %s", d.Server.Namespace, name, site)
	case owned(d, secret.Labels):
		o.UserCertificate = dataOf(secret)
	default:
		o.Issue.InTheWay = "Secret " + name
		o.UserCertificateError = fmt.Errorf("secret %s/%s of %s is not the operator's", d.Server.Namespace, name, site)
	}
	return r.observeIssue(ctx, d, o)
}

func (r *Reconciler) observeIssue(ctx context.Context, d Desired, o *Observed) error {
	c := emptyCertificate(d)
	err := d.member.APIReader.Get(ctx, client.ObjectKeyFromObject(c), c)
	switch {
	case err == nil:
		o.Issue.Certificate = c
		if !owned(d, c.GetLabels()) {
			o.Issue.InTheWay = certificateKind + " " + c.GetName()
		}
	case apierrors.IsForbidden(err):
		o.Issue.Denied = true
	case apierrors.IsNotFound(err):
		// Of a kind that an API server does not know it says so in other words than of an object.
		o.Issue.Absent = apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	default:
		return fmt.Errorf("read Certificate %s/%s at site %s: %w", c.GetNamespace(), c.GetName(), d.member.Name(), err)
	}
	return nil
}

// observeFormerIssue looks for a Certificate of a server whose spec.tls names no issuer. The StatefulSet says whether
// it had one.
func (r *Reconciler) observeFormerIssue(ctx context.Context, d Desired, o *Observed) error {
	if d.issuer() != nil || o.StatefulSet != nil && o.StatefulSet.Annotations[annotationIssued] == "" {
		return nil
	}
	if err := r.observeIssue(ctx, d, o); err != nil || d.keepsIssued(o.SiteIsHub) {
		return err
	}
	name := credentials.IssuedName(d.name())
	site := fmt.Sprintf("site %s", d.Server.Spec.Site)
	secret, err := readSecret(ctx, d.member.APIReader, site, d.Server.Namespace, name)
	if err == nil && secret != nil && owned(d, secret.Labels) {
		o.Issue.Left = name
	}
	return err
}

// keepsIssued tells that the Secret of the Certificate is the one that spec.tls names by now: it is the user's.
func (d Desired) keepsIssued(siteIsHub bool) bool {
	return siteIsHub && d.userSecret(credentials.IssuedName(d.name()))
}

// hasIssue tells that the server has, or is to have, a Certificate of cert-manager's, or that something of it is left.
func hasIssue(d Desired, o Observed) bool {
	return d.issuer() != nil || (o.Issue.Certificate != nil || o.Issue.Left != "") && o.Issue.InTheWay == ""
}

// planIssue asks cert-manager for the certificate, or takes the Certificate away that is declared no more: its copy is
// what the pod has. Nothing waits for it that does not wait for the certificate.
func planIssue(d Desired, o Observed, p *reconcile.Plan) {
	have := o.Issue.Certificate
	switch {
	case o.Issue.Denied || o.Issue.InTheWay != "" || have != nil && have.GetDeletionTimestamp() != nil:
	case d.issuer() == nil:
		// A private key is not left behind where the Certificate went alone. Where nobody may look for a Certificate there
		// may be one, which would have its Secret made again.
		if have != nil || o.Issue.Left != "" {
			p.Beside(RemoveIssued{Name: credentials.IssuedName(d.name())}, "")
		}
	case o.Issue.Absent:
	default:
		want := stamp(wantedCertificate(d))
		// The comparison takes fields out of what it is given.
		if have != nil {
			have = have.DeepCopy()
		}
		if why := drift(want.DeepCopy(), have); why != "" {
			reason := v1alpha1.ReasonCertificateNotIssued
			if _, usable := keptCertificate(d, o); usable {
				reason = v1alpha1.ReasonCertificateKept
			}
			p.Beside(ApplyObject{Object: want, Reason: why}, reason)
		}
	}
}

// lack is why a server has not the certificate that spec.tls gives it.
type lack struct {
	reason, why string
	// comes tells that it is waited for, and nobody need do anything yet.
	comes bool
}

func (l lack) outcome(message string) conditions.Outcome {
	if l.comes {
		return conditions.InProgress(l.reason, message)
	}
	return conditions.Stalled(l.reason, message)
}

// issueLacks says what cert-manager has not done; no reason when the certificate is issued as it is asked for.
func issueLacks(d Desired, o Observed) lack {
	site := d.Server.Spec.Site
	name := credentials.IssuedName(d.name())
	switch c := o.Issue.Certificate; {
	case o.Issue.Absent:
		return lack{reason: v1alpha1.ReasonCertManagerMissing, why: fmt.Sprintf(
			"the API server of site %s knows no %ss of %s: install cert-manager there", site, certificateKind,
			sites.CertManagerGroup)}
	case o.Issue.Denied:
		return lack{reason: v1alpha1.ReasonCertificateNotIssued, why: fmt.Sprintf("the operator may have no %ss of %s at "+
			"site %s: run kubectl geosql site join again", certificateKind, sites.CertManagerGroup, site)}
	case o.Issue.InTheWay != "":
		return lack{reason: v1alpha1.ReasonObjectConflict, why: fmt.Sprintf("%s of namespace %s at site %s is not the "+
			"operator's: remove it, or name the server otherwise", o.Issue.InTheWay, d.Server.Namespace, site)}
	case c == nil || drift(stamp(wantedCertificate(d)).DeepCopy(), c.DeepCopy()) != "":
		return lack{reason: v1alpha1.ReasonCertificateNotIssued, comes: true,
			why: fmt.Sprintf("%s %s is being written at site %s", certificateKind, name, site)}
	default:
		if words := whyNotReady(c); words != "" {
			return lack{reason: v1alpha1.ReasonCertificateNotIssued, comes: true, why: fmt.Sprintf(
				"%s %s of namespace %s at site %s is not ready: %s", certificateKind, name, d.Server.Namespace, site, words)}
		}
	}
	return lack{}
}

// whyNotReady is what cert-manager says of a Certificate that is not ready as it is; empty when it is.
func whyNotReady(c *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
	var words []string
	for _, one := range all {
		condition, _ := one.(map[string]any)
		kind, _ := condition["type"].(string)
		status, _ := condition["status"].(string)
		message, _ := condition["message"].(string)
		reason, _ := condition["reason"].(string)
		of, told := condition["observedGeneration"].(int64)
		if kind == certificateReady && status == string(metav1.ConditionTrue) && (!told || of >= c.GetGeneration()) {
			return ""
		}
		if said := fmt.Sprintf("%s: %s", reason, message); message != "" && !slices.Contains(words, said) &&
			(kind == certificateReady || kind == certificateIssuing) {
			words = append(words, said)
		}
	}
	if len(words) == 0 {
		return "cert-manager has not said anything about it yet"
	}
	return strings.Join(words, "; ")
}

// RemoveIssued deletes the Certificate and its Secret, of which the server has no use any more.
type RemoveIssued struct{ Name string }

// Describe names the Certificate.
func (s RemoveIssued) Describe() string {
	return "delete Certificate " + s.Name + " and its Secret: spec.tls names no issuer any more"
}

// removeIssued deletes the Certificate first: cert-manager would issue its Secret anew. Where there is no cert-manager,
// or the credentials don't allow it, there is none.
func (r *Reconciler) removeIssued(ctx context.Context, d Desired) error {
	c := emptyCertificate(d)
	if err := removeOwn(ctx, d, d.member.APIReader, d.member.Client, c); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	if d.keepsIssued(d.member.Site.Spec.KubeconfigSecretRef == nil) {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: c.GetName()}}
	return removeOwn(ctx, d, d.member.APIReader, d.member.Client, secret)
}
