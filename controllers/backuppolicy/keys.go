// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// Seal is the Secret that seals the keys which are kept.
type Seal struct {
	Secret []byte
	// By names it as it is now: another content is another one.
	By string
	// Missing says why it cannot be used; empty when it can.
	Missing string
}

// seal reads the Secret of spec.keys. One that is missing keeps nothing else of the policy from being carried out.
func (r *Reconciler) seal(ctx context.Context, d *Desired) error {
	if d.Policy.Spec.Keys == nil {
		return nil
	}
	ref := d.Policy.Spec.Keys.SealSecretRef
	key := cmp.Or(ref.Key, v1alpha1.KeySeal)
	var secret corev1.Secret
	err := r.fresh.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		d.Seal.Missing = fmt.Sprintf("Secret %s is not there", ref.Name)
		return nil
	case err != nil:
		return fmt.Errorf("read Secret %s/%s: %w", d.Policy.Namespace, ref.Name, err)
	case len(secret.Data[key]) < backup.SealLeast:
		d.Seal.Missing = fmt.Sprintf("key %s of Secret %s has less than %d bytes", key, ref.Name, backup.SealLeast)
	}
	d.Seal.Secret, d.Seal.By = secret.Data[key], string(secret.UID)+"/"+secret.ResourceVersion
	return nil
}

// Encryption asks what of an engine's databases is encrypted, and by what.
func (e engines) Encryption(ctx context.Context, namespace string,
	server v1alpha1.ServerName) (mssql.Encryption, error) {
	db, err := e.connector.Open(ctx, mssql.Target{Namespace: namespace, Server: server, Role: credentials.RoleSA,
		Database: "master"})
	if err != nil {
		return mssql.Encryption{}, err
	}
	return mssql.ReadEncryption(ctx, db)
}

// keys asks the primary what is encrypted, and the stores which keys they have.
func (r *Reconciler) keys(ctx context.Context, d Desired, o *Observed) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	o.Encryption = reconcile.Asked(r.engines.Encryption(ctx, d.Policy.Namespace, d.Primary))
	if d.Policy.Spec.Keys == nil {
		return
	}
	o.Kept = map[KeptKey]reconcile.Reading[*backup.SealedKey]{}
	certificates, _ := o.encryptors(d)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, s := range keyStores(d) {
		for thumbprint := range certificates {
			wg.Go(func() {
				kept := reconcile.Asked(keptKey(ctx, s, d.Order, thumbprint))
				mu.Lock()
				defer mu.Unlock()
				o.Kept[KeptKey{s.Name, thumbprint}] = kept
			})
		}
	}
	wg.Wait()
}

// keptKey reads a key that a store has; nil where it has none, or one that cannot be used.
func keptKey(ctx context.Context, s orders.BackupStore, order orders.Backup, thumbprint string) (*backup.SealedKey,
	error) {
	content, err := backups.ReadSealed(ctx, s, backup.KeyObject(order.Namespace, order.Target, thumbprint))
	if err != nil || content == nil {
		return nil, err
	}
	sealed, err := backup.DecodeKey(content)
	if err != nil || sealed.Thumbprint != thumbprint {
		return nil, nil // it is replaced by one that can be used
	}
	return &sealed, nil
}

// keepKey reads a certificate with its private key at the primary, seals it, and stores it. The engine hears of a
// password that is made for this one time, and never of the Secret.
func (r *Reconciler) keepKey(ctx context.Context, d Desired, s KeepKey) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	password, err := credentials.NewPassword()
	if err != nil {
		return err
	}
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Policy.Namespace, Server: s.Server, Database: "master",
		Role: credentials.RoleSA})
	if err != nil {
		return err
	}
	read, err := mssql.ReadKey(ctx, db, s.Thumbprint, password)
	if err != nil {
		return err
	}
	key := backup.Key{Name: read.Name, Thumbprint: s.Thumbprint, Certificate: read.DER, PrivateKey: read.PrivateKey,
		Password: password}
	sealed, err := key.Seal(d.Seal.Secret, d.Seal.By)
	if err != nil {
		return err
	}
	content, err := sealed.Encode()
	if err != nil {
		return err
	}
	for _, one := range d.Order.Stores {
		if one.Name != s.Store {
			continue
		}
		to, err := backups.Open(one, backups.Identity{})
		if err != nil {
			return err
		}
		defer to.Close()
		return to.Put(ctx, backup.KeyObject(d.Order.Namespace, d.Order.Target, s.Thumbprint), content)
	}
	return fmt.Errorf("the policy has no store %s", s.Store)
}
