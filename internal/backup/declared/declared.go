// SPDX-License-Identifier: Apache-2.0

// Package declared makes what BackupStores declare into what a store is reached by.
package declared

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/stores"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Servers finds the sidecars of servers that keep stores.
type Servers struct {
	// Hub has the SQLServers.
	Hub client.Reader
	// Access finds the CA of a server.
	Access mssql.AccessSource
	// Address of a server's sidecar, host:port, for the pods of every site.
	Address func(namespace string, server v1alpha1.ServerName) string
}

// Order makes what a sidecar is told of a BackupStore, in a bucket or on the volume of a server. missing says what is
// not there that it names.
func Order(ctx context.Context, secrets client.Reader, servers Servers, s *v1alpha1.BackupStore) (
	o orders.BackupStore, missing string, err error) {
	volume := s.Spec.Volume
	if volume == nil {
		b, missing, err := Bucket(ctx, secrets, s)
		return backups.StoreOf(s.Name, b), missing, err
	}
	var server v1alpha1.SQLServer
	err = servers.Hub.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: string(volume.Server)}, &server)
	switch {
	case apierrors.IsNotFound(err):
		return o, fmt.Sprintf("SQLServer %s is not there", volume.Server), nil
	case err != nil:
		return o, "", fmt.Errorf("read SQLServer %s: %w", volume.Server, err)
	}
	access, err := servers.Access.Access(ctx, s.Namespace, volume.Server)
	if err != nil {
		return o, "", fmt.Errorf("find the CA of server %s/%s: %w", s.Namespace, volume.Server, err)
	}
	o = orders.BackupStore{Name: s.Name, Endpoint: "https://" + servers.Address(s.Namespace, volume.Server),
		Bucket: stores.Bucket, Prefix: s.Namespace + "/" + s.Name, Host: credentials.HostName(volume.Server), CA: access.CA}
	if s.Spec.UploadRate != nil {
		o.UploadRate = s.Spec.UploadRate.Value()
	}
	return o, "", nil
}

// Bucket reads the Secrets that a BackupStore in a bucket names, in its namespace. missing says what is not there. A
// store that is none in a bucket is an error.
func Bucket(
	ctx context.Context,
	secrets client.Reader,
	s *v1alpha1.BackupStore,
) (b store.Bucket, missing string, err error) {
	spec := s.Spec.S3
	if spec == nil {
		return b, "", fmt.Errorf("BackupStore %s is in no bucket", s.Name)
	}
	b = store.Bucket{Endpoint: strings.TrimSuffix(spec.Endpoint, "/"), Name: spec.Bucket, Prefix: spec.Prefix,
		Region: spec.Region, VirtualHosted: spec.Addressing == v1alpha1.AddressVirtualHost}
	if s.Spec.UploadRate != nil {
		b.UploadRate = s.Spec.UploadRate.Value()
	}
	read := func(name, key string) (value []byte) {
		if err != nil || missing != "" {
			return nil
		}
		value, missing, err = secret(ctx, secrets, s.Namespace, name, key)
		return value
	}
	b.AccessKey = strings.TrimSpace(string(read(spec.CredentialsSecretRef.Name, v1alpha1.KeyAccessKeyID)))
	b.SecretKey = strings.TrimSpace(string(read(spec.CredentialsSecretRef.Name, v1alpha1.KeySecretAccessKey)))
	if ca := spec.CASecretRef; ca != nil {
		b.CA = read(ca.Name, cmp.Or(ca.Key, v1alpha1.KeyStoreCA))
	}
	return b, missing, err
}

// Keys reads the Secret with the keys of a BackupStore's encryption, in its namespace; one that declares none has none.
// missing says what is not there, or what of it is no key. A store can be listed without them.
func Keys(
	ctx context.Context,
	secrets client.Reader,
	s *v1alpha1.BackupStore,
) (keys seal.Keys, missing string, err error) {
	if s.Spec.Encryption == nil {
		return seal.Keys{}, "", nil
	}
	ref := s.Spec.Encryption.KeySecretRef
	key := cmp.Or(ref.Key, v1alpha1.KeyStoreEncryption)
	value, missing, err := secret(ctx, secrets, s.Namespace, ref.Name, key)
	if err != nil || missing != "" {
		return seal.Keys{}, missing, err
	}
	keys, bad := seal.Parse(value)
	if bad != nil {
		return seal.Keys{}, fmt.Sprintf("Secret %s, key %s, has no keys of age: %v", ref.Name, key, bad), nil
	}
	return keys, "", nil
}

func secret(
	ctx context.Context,
	secrets client.Reader,
	namespace, name, key string,
) (value []byte, missing string, err error) {
	var found corev1.Secret
	err = secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("Secret %s is not there", name), nil
	case err != nil:
		return nil, "", fmt.Errorf("read Secret %s: %w", name, err)
	case len(found.Data[key]) == 0:
		return nil, fmt.Sprintf("Secret %s has no key %s", name, key), nil
	}
	return found.Data[key], "", nil
}
