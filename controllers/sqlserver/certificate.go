// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

func (r *Reconciler) issueCertificate(ctx context.Context, d Desired, s IssueCertificate) error {
	authority, err := r.authority(ctx)
	if err != nil {
		return err
	}
	if len(s.Authority) > 0 && !bytes.Equal(s.Authority, authority.PEM()) {
		return errors.New(
			"the operator's CA has changed since this was planned: those who verify the server are to trust it first",
		)
	}
	data, err := authority.Issue(s.Names, r.now())
	if err != nil {
		return err
	}
	data[credentials.KeyIssuers] = credentials.MergeCAs(authority.PEM(), s.Issuers)
	data[credentials.KeyCA] = credentials.MergeCAs(authority.PEM(), s.Trust)
	return r.writeSecrets(ctx, d, certificateSecret(d, data), true, true)
}

// writeCertificate writes the Secrets of the certificate at the site, then in the hub. In one that is the user's own,
// only whom to trust beside the user's ca.crt is written.
func (r *Reconciler) writeCertificate(
	ctx context.Context,
	d Desired,
	o *Observed,
	data map[string][]byte,
	site, hub bool,
) error {
	secret := certificateSecret(d, data)
	if !d.userSecret(secret.Name) {
		return r.writeSecrets(ctx, d, secret, site, hub)
	}
	patch, err := json.Marshal(
		map[string]any{"data": map[string][]byte{
			credentials.KeyIssuers: data[credentials.KeyIssuers], credentials.KeyTrust: data[credentials.KeyCA],
		}},
	)
	if err != nil {
		return fmt.Errorf("encode the CAs of Secret %s: %w", secret.Name, err)
	}
	if site && !o.SiteIsHub {
		if err := r.writeSecrets(ctx, d, secret, true, false); err != nil {
			return err
		}
	}
	if !hub && !(site && o.SiteIsHub) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
	if err := r.hub.Patch(ctx, own, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner); err != nil {
		return fmt.Errorf("write %s and %s of Secret %s in the hub: %w",
			credentials.KeyIssuers, credentials.KeyTrust, secret.Name, err)
	}
	return nil
}

// authority reads the operator's CA, or makes it; one that ends before what it would issue, or has not begun, is
// replaced. Creation, or the version that was read, decides between two that make it at once.
func (r *Reconciler) authority(ctx context.Context) (*credentials.Authority, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	present, err := readSecret(ctx, r.secrets, theHub, r.namespace, credentials.CASecretName)
	if err != nil {
		return nil, err
	}
	if present != nil {
		authority, err := credentials.ParseAuthority(present.Data)
		if err != nil || authority.Unfit(r.now()) == "" {
			return authority, err
		}
	}
	authority, err := credentials.NewAuthority(r.now())
	if err != nil {
		return nil, err
	}
	data, err := authority.Data()
	if err != nil {
		return nil, err
	}
	if present != nil {
		before := client.MergeFromWithOptions(present.DeepCopy(), client.MergeFromWithOptimisticLock{})
		present.Data = data
		err = r.hub.Patch(ctx, present, before, sites.FieldOwner)
	} else {
		err = r.hub.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: r.namespace, Name: credentials.CASecretName,
				Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
			},
			Type: corev1.SecretTypeTLS,
			Data: data,
		}, sites.FieldOwner)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		if data, err = secretData(ctx, r.secrets, theHub, r.namespace, credentials.CASecretName); err == nil {
			return credentials.ParseAuthority(data)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write Secret %s/%s: %w", r.namespace, credentials.CASecretName, err)
	}
	return authority, nil
}
