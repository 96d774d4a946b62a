// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// CompleteReaders makes, or completes, the Secret at the site by which the status and the metrics of the sidecars of
// the namespace are read.
type CompleteReaders struct {
	// CA of the server's certificate, PEM.
	CA     []byte
	Reason string
}

// Describe says why.
func (s CompleteReaders) Describe() string {
	return "complete Secret " + credentials.ReaderName + ": " + s.Reason
}

// ForgetCAs takes CAs of the operator's out of the Secret by which sidecars are read: nothing there is of them any
// more.
type ForgetCAs struct {
	// CAs that are taken out, PEM.
	CAs []byte
}

// Describe says how many.
func (s ForgetCAs) Describe() string {
	return fmt.Sprintf("take %d CAs out of Secret %s, of which no server of the namespace has a certificate, or trusts it",
		len(credentials.Fingerprints(s.CAs)), credentials.ReaderName)
}

// readersFormer are the CAs to be taken out. The other servers' certificates are read only while there may be any.
func (r *Reconciler) readersFormer(ctx context.Context, d Desired, o *Observed) ([]byte, error) {
	trusted := credentials.TrustOf(o.SiteCertificate)
	if len(credentials.FormerCAs(o.Readers, trusted)) == 0 {
		return nil, nil
	}
	namespace, site := d.Server.Namespace, d.Server.Spec.Site
	var servers v1alpha1.SQLServerList
	if err := r.hub.List(ctx, &servers, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the SQLServers of namespace %s in the hub: %w", namespace, err)
	}
	for i := range servers.Items {
		other := &servers.Items[i]
		if other.Spec.Site != site || other.Name == d.Server.Name {
			continue
		}
		data, err := secretData(ctx, d.member.APIReader, fmt.Sprintf("site %s", site), namespace,
			credentials.CertificateName(v1alpha1.ServerName(other.Name)))
		if err != nil {
			return nil, err
		}
		trusted = credentials.MergeCAs(trusted, credentials.TrustOf(data))
	}
	return credentials.FormerCAs(o.Readers, trusted), nil
}

// planReaders comes before the pod's own objects: a sidecar that has no token to compare with is read by nobody.
func planReaders(o Observed, p *reconcile.Plan) {
	ca := o.SiteCertificate[credentials.KeyCA]
	if why := credentials.ReaderLacks(o.Readers, ca); why != "" {
		p.Add(CompleteReaders{CA: ca, Reason: why})
		return
	}
	if former, err := o.ReadersFormer.Get(); err == nil && len(former) > 0 {
		p.Add(ForgetCAs{CAs: former})
	}
}

// forgetCAs takes them out of the Secret as it was read last: what another server has added meanwhile stays.
func (r *Reconciler) forgetCAs(ctx context.Context, d Desired, s ForgetCAs) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: credentials.ReaderName}
	if err := d.member.APIReader.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	secret.Data = credentials.DropCAs(secret.Data, s.CAs)
	err := d.member.Client.Update(ctx, secret, sites.FieldOwner)
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("write Secret %s at site %s: %w", key.Name, d.member.Name(), err)
	}
	return nil
}

// completeReaders reads the Secret again and writes it only as it was read: the other servers of the namespace share
// it, and a person may have added to it.
func (r *Reconciler) completeReaders(ctx context.Context, d Desired, s CompleteReaders) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: credentials.ReaderName},
	}
	err := d.member.APIReader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", secret.Name, err)
	}
	missing := err != nil
	if secret.Data, err = credentials.CompleteReader(secret.Data, s.CA); err != nil {
		return err
	}
	if missing {
		secret.Labels = map[string]string(sites.OwnLabels())
		maps.Copy(secret.Labels, map[string]string{v1alpha1.LabelNamespace: secret.Namespace})
		err = d.member.Client.Create(ctx, secret, sites.FieldOwner)
	} else {
		err = d.member.Client.Update(ctx, secret, sites.FieldOwner)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Another server's turn came first; the next observation has what it wrote.
		return nil
	}
	if err != nil {
		return fmt.Errorf("write Secret %s at site %s: %w", secret.Name, d.member.Name(), err)
	}
	return nil
}

// removeReaders deletes the Secret with the last server of the namespace at the site.
func (r *Reconciler) removeReaders(ctx context.Context, d Desired) error {
	var servers v1alpha1.SQLServerList
	gone := d.Server
	if err := r.hub.List(ctx, &servers, client.InNamespace(gone.Namespace)); err != nil {
		return fmt.Errorf("list the SQLServers of namespace %s in the hub: %w", gone.Namespace, err)
	}
	for _, s := range servers.Items {
		if s.Name != gone.Name && s.Spec.Site == gone.Spec.Site && s.DeletionTimestamp == nil {
			return nil
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gone.Namespace, Name: credentials.ReaderName}}
	err := d.member.APIReader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) || err == nil && secret.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy {
		return nil
	}
	if err == nil {
		err = reconcile.RemoveUnchanged(ctx, d.member.Client, secret)
	}
	if err != nil {
		return fmt.Errorf("delete Secret %s: %w", secret.Name, err)
	}
	return nil
}
