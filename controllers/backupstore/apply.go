// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/reconcile"
)

func (r *Reconciler) apply(ctx context.Context, d Desired, o Observed, p reconcile.Plan) error {
	return reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, s reconcile.Step) error {
		switch s := s.(type) {
		case Tell:
			var data map[string][]byte
			if s.Order != nil {
				data = map[string][]byte{orders.StoreKey(d.Store.Name): s.Order}
			}
			return r.sidecars.Write(ctx, d.Store.Namespace, s.Server, client.FieldOwner("geosql-backupstore-"+d.Store.Name),
				data)
		case Try:
			err := r.try(ctx, d.Bucket)
			r.mu.Lock()
			defer r.mu.Unlock()
			// What a store answers is observed, and said as such: it is no step that failed.
			r.tried[d.Store.UID] = attempt{Attempt: Attempt{At: o.Now, Err: err}, of: fingerprint(d)}
			return nil
		default:
			return fmt.Errorf("no way to carry out %T", s)
		}
	})
}

// try writes an object that no backup has the name of.
func try(ctx context.Context, b store.Bucket) (err error) {
	s, err := store.Open(b)
	if err != nil {
		return err
	}
	defer s.Close()
	key, content := path.Join(".geosql-test", string(uuid.NewUUID())), make([]byte, 64)
	_, _ = rand.Read(content) // it never fails
	if err := s.Put(ctx, key, content); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove(ctx, key)) }()
	back, err := s.Read(ctx, key, int64(len(content)))
	if err == nil && !bytes.Equal(back, content) {
		err = fmt.Errorf("%s does not give an object back as it was written", s)
	}
	if err != nil {
		return err
	}
	_, err = s.List(ctx, path.Dir(key)+"/")
	return err
}
