// SPDX-License-Identifier: Apache-2.0

// Package sidecars tells servers' sidecars their orders, by Secrets at their sites, and asks them over HTTPS for what
// their parts say, under their servers' names.
package sidecars

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// timeout bounds a question to a sidecar or about its orders.
const timeout = 5 * time.Second

// Sidecars are those of the servers of all sites.
type Sidecars struct {
	// Sites reaches the member clusters, Hub has the SQLServers.
	Sites *sites.Provider
	Hub   client.Client
	// Access finds the CA of a server.
	Access mssql.AccessSource
	// Address of a server's sidecar.
	Address func(namespace string, server v1alpha1.ServerName) string
}

// Address is where the sidecar of a server answers, for the pods of every site.
func Address(namespace string, server v1alpha1.ServerName) string {
	return credentials.AgentAddress(credentials.HostName(server) + "." + namespace + ".svc")
}

// at is the site of a server.
func (s Sidecars) at(ctx context.Context, namespace string, server v1alpha1.ServerName) (*sites.Member, error) {
	var object v1alpha1.SQLServer
	if err := s.Hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(server)}, &object); err != nil {
		return nil, fmt.Errorf("read SQLServer %s/%s: %w", namespace, server, err)
	}
	member, err := s.Sites.Member(object.Spec.Site)
	if err != nil {
		return nil, err
	}
	return member, member.CheckNamespace(namespace)
}

// Orders are the data of a server's Secret of orders, none when there is no such Secret. They are read from the API
// server: what the cache does not have yet must not look as if it were gone.
func (s Sidecars) Orders(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
) (map[string][]byte, error) {
	member, err := s.at(ctx, namespace, server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var secret corev1.Secret
	err = member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: credentials.OrdersName(server)}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the orders of server %s at site %s: %w", server, member.Name(), err)
	}
	return secret.Data, nil
}

// Write applies the keys of a server's Secret that are the owner's, so that those of others stay; without data they are
// taken away.
func (s Sidecars) Write(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	owner client.FieldOwner,
	data map[string][]byte,
) error {
	member, err := s.at(ctx, namespace, server)
	if err != nil {
		return err
	}
	labels := map[string]string(sites.OwnLabels())
	labels[v1alpha1.LabelNamespace] = namespace
	labels[v1alpha1.LabelServer] = string(server)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentials.OrdersName(server), Labels: labels},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
	if err := sites.ApplyAs(ctx, member.Client, secret, owner); err != nil {
		return fmt.Errorf("at site %s: %w", member.Name(), err)
	}
	return nil
}

// Part decodes what a part of a server's sidecar says of itself; into stays as it is where it says nothing. The sidecar
// is shown a token of its site: one that does not demand any, of an earlier release, does not look at it.
func (s Sidecars) Part(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	part string,
	into any,
) error {
	access, err := s.Access.Access(ctx, namespace, server)
	if err != nil {
		return fmt.Errorf("find the CA of server %s/%s: %w", namespace, server, err)
	}
	token, err := s.readerToken(ctx, namespace, server)
	if err != nil {
		return err
	}
	return Ask(ctx, s.Address(namespace, server), namespace, credentials.HostName(server), access.CA, token, part, into)
}

// readerToken is what the sidecars at a server's site are shown by those who read their status; empty when there is
// none.
func (s Sidecars) readerToken(ctx context.Context, namespace string, server v1alpha1.ServerName) (string, error) {
	member, err := s.at(ctx, namespace, server)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var secret corev1.Secret
	err = member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: credentials.ReaderName}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Secret %s at site %s: %w", credentials.ReaderName, member.Name(), err)
	}
	if tokens := credentials.ReaderTokens(secret.Data); len(tokens) > 0 {
		return tokens[0], nil
	}
	return "", nil
}

// Ask decodes what a part of the sidecar at an address says of itself in /status.
func Ask(ctx context.Context, address, namespace, host string, ca []byte, token, part string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, err := agent.ReadStatus(ctx, address, namespace, host, ca, token)
	if err != nil {
		return err
	}
	var status struct {
		Parts map[string]json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("read what the sidecar of %s says: %w", host, err)
	}
	if of, ok := status.Parts[part]; ok {
		if err := json.Unmarshal(of, into); err != nil {
			return fmt.Errorf("read what the sidecar of %s says of %s: %w", host, part, err)
		}
	}
	return nil
}
