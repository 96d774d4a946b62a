// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/admission"
	"geosql.dev/operator/internal/mssql/credentials"
)

// authorities are the operator's CAs, in Secrets of its namespace.
type authorities struct {
	reader    client.Reader
	namespace string
}

// expire is when each of those ends that are there, by the value of the metrics' label ca.
func (a authorities) expire(ctx context.Context) (map[string]time.Time, error) {
	ends := map[string]time.Time{}
	var failed error
	for ca, of := range map[string]struct {
		secret string
		read   func(map[string][]byte) (time.Time, error)
	}{
		"servers": {credentials.CASecretName, func(data map[string][]byte) (time.Time, error) {
			authority, err := credentials.ParseAuthority(data)
			if err != nil {
				return time.Time{}, err
			}
			return authority.Expires(), nil
		}},
		"manager": {admission.SecretName, admission.AuthorityExpires},
	} {
		var secret corev1.Secret
		err := a.reader.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: of.secret}, &secret)
		if client.IgnoreNotFound(err) != nil {
			failed = errors.Join(failed, fmt.Errorf("read Secret %s/%s: %w", a.namespace, of.secret, err))
		}
		if err != nil {
			continue
		}
		at, err := of.read(secret.Data)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		ends[ca] = at
	}
	return ends, failed
}
