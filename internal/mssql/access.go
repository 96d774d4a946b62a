// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// secretTimeout bounds the reading of a server's Secrets.
const secretTimeout = 5 * time.Second

// SecretAccess reads a server's credentials from its Secrets in the hub.
type SecretAccess struct {
	// Reader of the hub. The Secrets must be readable through it: an uncached reader, or a cache that holds them.
	Reader client.Reader
}

// Access reads the Secrets of the server.
func (a SecretAccess) Access(ctx context.Context, namespace string, server v1alpha1.ServerName) (Access, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	var passwords, certificate corev1.Secret
	key := client.ObjectKey{Namespace: namespace, Name: credentials.PasswordsName(server)}
	if err := a.Reader.Get(ctx, key, &passwords); err != nil {
		return Access{}, fmt.Errorf("read Secret %s: %w", key, err)
	}
	key.Name = credentials.CertificateName(server)
	if err := a.Reader.Get(ctx, key, &certificate); err != nil {
		return Access{}, fmt.Errorf("read Secret %s: %w", key, err)
	}
	return Access{Passwords: passwords.Data, CA: credentials.TrustOf(certificate.Data)}, nil
}

// FileAccess reads the agent's credentials from files of its pod.
type FileAccess struct {
	// TLSDir has ca.crt and issuers.crt, by which the engine is verified.
	TLSDir string
	// AgentPasswordFile has the agent's password.
	AgentPasswordFile string
}

// Access reads the files, which the kubelet replaces when the Secrets change.
func (a FileAccess) Access(context.Context, string, v1alpha1.ServerName) (Access, error) {
	ca, err := credentials.ReadTrust(a.TLSDir)
	if err != nil {
		return Access{}, err
	}
	password, err := os.ReadFile(a.AgentPasswordFile)
	if err != nil {
		return Access{}, fmt.Errorf("read the agent's password: %w", err)
	}
	return Access{
		CA:        ca,
		Passwords: credentials.Passwords{credentials.RoleAgent.Key(): bytes.TrimRight(password, "\r\n")},
	}, nil
}
