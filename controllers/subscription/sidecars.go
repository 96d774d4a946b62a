// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// Sidecars are those of the servers of all sites.
type Sidecars interface {
	// Orders that a server's sidecar has for a subscription; nil when it has none.
	Orders(
		ctx context.Context,
		namespace string,
		server v1alpha1.ServerName,
		subscription string,
	) (*orders.Mirror, *orders.Reader, error)
	// Mirroring are the subscriptions for which a server's sidecar is to mirror a folder of snapshots.
	Mirroring(ctx context.Context, namespace string, server v1alpha1.ServerName, folder string) ([]string, error)
	// Write replaces what a server's sidecar is told for a subscription; without data it is taken away.
	Write(
		ctx context.Context,
		namespace string,
		server v1alpha1.ServerName,
		subscription string,
		data map[string][]byte,
	) error
	// Mirror is what a server's sidecar says of a subscription's mirror; nil when it says nothing.
	Mirror(ctx context.Context, namespace string, server v1alpha1.ServerName, subscription string) (*files.Status, error)
}

// sidecarTimeout bounds a question to a sidecar or about its orders.
const sidecarTimeout = 5 * time.Second

// siteSidecars tells sidecars by Secrets at their sites and asks them over HTTPS, under their servers' names.
type siteSidecars struct {
	sites  *sites.Provider
	hub    client.Client
	access mssql.AccessSource
	// address of a server's sidecar.
	address func(namespace string, server v1alpha1.ServerName) string
}

// at is the site of a server.
func (s siteSidecars) at(ctx context.Context, namespace string, server v1alpha1.ServerName) (*sites.Member, error) {
	var object v1alpha1.SQLServer
	if err := s.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(server)}, &object); err != nil {
		return nil, fmt.Errorf("read SQLServer %s/%s: %w", namespace, server, err)
	}
	member, err := s.sites.Member(object.Spec.Site)
	if err != nil {
		return nil, err
	}
	return member, member.CheckNamespace(namespace)
}

// Orders reads the Secret from the API server: what the cache does not have yet must not look as if it were gone.
func (s siteSidecars) Orders(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
) (*orders.Mirror, *orders.Reader, error) {
	data, err := s.orders(ctx, namespace, server)
	if err != nil {
		return nil, nil, err
	}
	mirror, reader := orders.Of(data, subscription)
	return mirror, reader, nil
}

// Mirroring reads the same Secret.
func (s siteSidecars) Mirroring(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	folder string,
) ([]string, error) {
	data, err := s.orders(ctx, namespace, server)
	if err != nil {
		return nil, err
	}
	// What cannot be decoded is nobody's order: the sidecar does not follow it either.
	mirrors, _ := orders.Mirrors(data)
	var names []string
	for _, m := range mirrors {
		if strings.EqualFold(m.Folder, folder) {
			names = append(names, m.Subscription)
		}
	}
	slices.Sort(names)
	return names, nil
}

// orders are the data of a server's Secret of orders, none when there is no such Secret.
func (s siteSidecars) orders(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
) (map[string][]byte, error) {
	member, err := s.at(ctx, namespace, server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
	defer cancel()
	var secret corev1.Secret
	err = member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: credentials.OrdersName(server)}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the orders of server %s at site %s: %w", server, member.Name(), err)
	}
	return secret.Data, nil
}

// Write applies the subscription's key of the server's Secret under a field manager of the subscription's own, so that
// the keys of others stay.
func (s siteSidecars) Write(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
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
	if err := sites.ApplyAs(ctx, member.Client, secret,
		client.FieldOwner("geosql-subscription-"+subscription)); err != nil {
		return fmt.Errorf("at site %s: %w", member.Name(), err)
	}
	return nil
}

// Mirror asks the sidecar for its status, with a token of its site: one that does not demand any, of an earlier
// release, does not look at it.
func (s siteSidecars) Mirror(
	ctx context.Context,
	namespace string,
	server v1alpha1.ServerName,
	subscription string,
) (*files.Status, error) {
	access, err := s.access.Access(ctx, namespace, server)
	if err != nil {
		return nil, fmt.Errorf("find the CA of server %s/%s: %w", namespace, server, err)
	}
	token, err := s.readerToken(ctx, namespace, server)
	if err != nil {
		return nil, err
	}
	host := credentials.HostName(server)
	return askSidecar(ctx, s.address(namespace, server), namespace, host, access.CA, token, subscription)
}

// readerToken is what the sidecars at a server's site are shown by those who read their status; empty when there is
// none.
func (s siteSidecars) readerToken(ctx context.Context, namespace string, server v1alpha1.ServerName) (string, error) {
	member, err := s.at(ctx, namespace, server)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
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

// askSidecar reads a mirror's status from /status.
func askSidecar(
	ctx context.Context,
	address, namespace, host string,
	ca []byte,
	token, subscription string,
) (*files.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
	defer cancel()
	text, err := agent.ReadStatus(ctx, address, namespace, host, ca, token)
	if err != nil {
		return nil, err
	}
	var status struct {
		Parts map[string]json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, fmt.Errorf("read what the sidecar of %s says: %w", host, err)
	}
	var mirrors []files.Status
	if part, ok := status.Parts[files.PartName]; ok {
		if err := json.Unmarshal(part, &mirrors); err != nil {
			return nil, fmt.Errorf("read what the sidecar of %s says of mirrors: %w", host, err)
		}
	}
	for i := range mirrors {
		if mirrors[i].Subscription == subscription {
			return &mirrors[i], nil
		}
	}
	return nil, nil
}
