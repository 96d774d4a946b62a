// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

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
	"geosql.dev/operator/internal/tsql"
)

const (
	// longestName is how many characters a name of the engine has at most (sysname).
	longestName = 128
	// operators begins the names of what the operator makes for itself.
	operators = "geosql_"
)

// MakeKey makes a certificate with its private key at the server, opened by the Secret of the Restore, or its policy.
type MakeKey struct {
	Server v1alpha1.ServerName
	Sealed *backup.SealedKey
}

// Describe names server and certificate.
func (s MakeKey) Describe() string {
	return fmt.Sprintf("make the certificate with the thumbprint 0x%s on %s, which the store keeps", s.Sealed.Thumbprint,
		credentials.HostName(s.Server))
}

// seal reads the Secret that opens what stores keep; nothing where none is named, or it is not there.
func (r *Reconciler) seal(ctx context.Context, d *Desired, keys *v1alpha1.SealedKeys) error {
	if keys == nil {
		d.Sealed = "neither the Restore nor its policy has spec.keys"
		return nil
	}
	var secret corev1.Secret
	name, key := keys.SealSecretRef.Name, cmp.Or(keys.SealSecretRef.Key, v1alpha1.KeySeal)
	err := r.fresh.Get(ctx, client.ObjectKey{Namespace: d.Restore.Namespace, Name: name}, &secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Secret %s/%s: %w", d.Restore.Namespace, name, err)
	}
	if d.Seal = secret.Data[key]; len(d.Seal) == 0 {
		d.Sealed = fmt.Sprintf("Secret %s is not there, or has no key %s", name, key)
	}
	return nil
}

// keys looks in the stores for the certificates that the server lacks.
func keys(ctx context.Context, d Desired, o *Observed) {
	says, err := o.Says.Get()
	namespace, target, ok := backup.TargetOf(d.Order.Folder)
	if err != nil || says == nil || !ok {
		return
	}
	// The engine is asked after it, and has time left.
	ctx, cancel := context.WithTimeout(ctx, serverTimeout/2)
	defer cancel()
	o.Kept = map[string]reconcile.Reading[*backup.SealedKey]{}
	for _, thumbprint := range says.Lacks {
		o.Kept[thumbprint] = reconcile.Read[*backup.SealedKey](nil)
		for _, s := range d.Order.Stores {
			if s.Host != "" {
				continue // a server's volume keeps no keys, and answers sidecars alone
			}
			kept := reconcile.Asked(keptKey(ctx, s, backup.KeyObject(namespace, target, thumbprint)))
			o.Kept[thumbprint] = kept
			if sealed, _ := kept.Get(); sealed != nil && sealed.Thumbprint == thumbprint {
				break
			}
		}
	}
}

// keptKey reads a sealed key; nil where the store has none.
func keptKey(ctx context.Context, s orders.BackupStore, object string) (*backup.SealedKey, error) {
	content, err := backups.ReadSealed(ctx, s, object)
	if err != nil || content == nil {
		return nil, err
	}
	sealed, err := backup.DecodeKey(content)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", object, err)
	}
	return &sealed, nil
}

// planKeys makes the certificates that the server lacks, and says of the others why not; empty where none is lacked.
func planKeys(p *reconcile.Plan, d Desired, o Observed) string {
	says, err := o.Says.Get()
	if err != nil || says == nil || says.Result != nil || len(says.Lacks) == 0 {
		return ""
	}
	var all []string
	for _, thumbprint := range says.Lacks {
		kept, err := o.Kept[thumbprint].Get()
		why := "it is made there from what the store keeps"
		switch {
		case err != nil:
			why = fmt.Sprintf("what the stores keep cannot be read: %v", err)
		case kept == nil || kept.Thumbprint != thumbprint:
			why = "no store keeps it: make it there by hand (docs/runbooks/encrypted.md)"
		case d.Sealed != "" || len(d.Seal) == 0:
			why = "the store keeps it sealed, and " + cmp.Or(d.Sealed, "its Secret is not known") + ": make it there by hand (docs/runbooks/encrypted.md)"
		default:
			p.Beside(MakeKey{Server: d.server(), Sealed: kept}, v1alpha1.ReasonKeyAwaited)
		}
		all = append(all, fmt.Sprintf("%s lacks the certificate with the thumbprint 0x%s, by which the database is "+
			"encrypted; %s", credentials.HostName(d.server()), thumbprint, why))
	}
	return strings.Join(all, ". ")
}

// makeKey opens a key and makes it at the server, as sa: it takes CREATE CERTIFICATE in master. A server of no group
// may have no master key yet.
func (r *Reconciler) makeKey(ctx context.Context, d Desired, s MakeKey) error {
	key, err := s.Sealed.Open(d.Seal)
	if err != nil {
		return err
	}
	thumbprint, err := hex.DecodeString(key.Thumbprint)
	if err != nil {
		return fmt.Errorf("open certificate 0x%s: %w", key.Thumbprint, err)
	}
	var passwords corev1.Secret
	at := client.ObjectKey{Namespace: d.Restore.Namespace, Name: credentials.PasswordsName(s.Server)}
	if err := r.fresh.Get(ctx, at, &passwords); err != nil {
		return fmt.Errorf("read Secret %s: %w", at, err)
	}
	password := string(passwords.Data[credentials.KeyMasterKey])
	if password == "" {
		return fmt.Errorf("the passwords in Secret %s have no key %s", at, credentials.KeyMasterKey)
	}
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Restore.Namespace, Server: s.Server, Database: "master",
		Role: credentials.RoleSA})
	if err != nil {
		return err
	}
	has, err := mssql.ReadEncryption(ctx, db)
	if err != nil {
		return err
	}
	form := tsql.KeyForm{Name: named(key, has), Thumbprint: thumbprint, DER: key.Certificate, PrivateKey: key.PrivateKey,
		Password: key.Password}
	if err := db.Exec(ctx, tsql.CreateMasterKey(password)); err != nil {
		return err
	}
	return db.Exec(ctx, tsql.CreateKey(form))
}

// named is what a certificate is called at the server: its own name, unless another one has it there, or it is one of
// those of the operator.
func named(key backup.Key, has mssql.Encryption) string {
	taken := strings.HasPrefix(strings.ToLower(key.Name), operators)
	for name := range has.Certificates {
		taken = taken || strings.EqualFold(name, key.Name)
	}
	if !taken {
		return key.Name
	}
	runes := []rune("key_" + key.Name)
	return string(runes[:min(len(runes), longestName-len(key.Thumbprint)-1)]) + "_" + key.Thumbprint
}
