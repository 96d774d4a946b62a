// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"crypto/tls"
	"errors"
	"path/filepath"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Identity is by what a sidecar is known to those of other servers.
type Identity struct {
	// Namespace of the server.
	Namespace string
	// TLSDir has its certificate; empty where it has none to show.
	TLSDir string
}

// StoreOf is a bucket as orders have it, by the name of its BackupStore.
func StoreOf(name string, b store.Bucket) orders.BackupStore {
	return orders.BackupStore{Name: name, Endpoint: b.Endpoint, Bucket: b.Name, Prefix: b.Prefix, Region: b.Region,
		VirtualHosted: b.VirtualHosted, AccessKey: b.AccessKey, SecretKey: b.SecretKey, CA: b.CA, UploadRate: b.UploadRate}
}

// Open opens the store of an order; it sends nothing. That of a server is asked as who.
func Open(s orders.BackupStore, who Identity) (*store.Store, error) {
	b := store.Bucket{Endpoint: s.Reached(), Name: s.Bucket, Prefix: s.Prefix, Region: s.Region,
		VirtualHosted: s.VirtualHosted, AccessKey: s.AccessKey, SecretKey: s.SecretKey, CA: s.CA, UploadRate: s.UploadRate}
	if s.Host != "" {
		if len(s.CA) == 0 || who.TLSDir == "" {
			return nil, errors.New("the store of a server is opened with its CA and a certificate of one's own")
		}
		b.AccessKey, b.SecretKey = "", ""
		b.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.Host,
			VerifyConnection: credentials.Of(s.Host, who.Namespace),
			// It is read for each connection: it is renewed from time to time.
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				certificate, err := tls.LoadX509KeyPair(filepath.Join(who.TLSDir, credentials.KeyCertificate),
					filepath.Join(who.TLSDir, credentials.KeyPrivateKey))
				return &certificate, err
			}}
	}
	return store.Open(b)
}

// sealedMost is how many bytes a sealed key has at most.
const sealedMost = 1 << 16

// ReadSealed reads the object of a sealed key in a bucket, whole; nil where there is none. The store of a server, which
// keeps no keys, is an error.
func ReadSealed(ctx context.Context, s orders.BackupStore, object string) ([]byte, error) {
	from, err := Open(s, Identity{})
	if err != nil {
		return nil, err
	}
	defer from.Close()
	content, err := from.Read(ctx, object, sealedMost)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return content, err
}
