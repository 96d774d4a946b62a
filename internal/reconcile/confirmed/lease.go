// SPDX-License-Identifier: Apache-2.0

package confirmed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/applyconfigurations/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"geosql.dev/operator/internal/reconcile"
)

const (
	// LeaseName is the Lease of a namespace of the hub in which it stands.
	LeaseName = "geosql-confirmed"
	// annotation of the Lease is Statuses as JSON.
	annotation = "geosql.dev/confirmed"
	// Every is when what was confirmed since is written: once for all groups of a namespace. With the pause between two
	// looks at a group it stays below what counts as fresh.
	Every = 10 * time.Second
	// owner is the field manager of the Lease, and holder who holds it.
	owner  = client.FieldOwner("geosql-operator-confirmed")
	holder = "geosql-operator"
	// timeout bounds a call to the hub's API server.
	timeout = 5 * time.Second
)

// Read is what stands in a namespace's Lease; nothing where there is none, or whoever reads may not read it.
func Read(ctx context.Context, reader client.Reader, namespace string) (Statuses, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var lease coordinationv1.Lease
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, &lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Lease %s/%s in the hub: %w", namespace, LeaseName, err)
	}
	var s Statuses
	if err := json.Unmarshal([]byte(lease.Annotations[annotation]), &s); err != nil {
		return nil, fmt.Errorf("read annotation %s of Lease %s/%s: %w", annotation, namespace, LeaseName, err)
	}
	return s, nil
}

// Keeper is the log with the Leases that it is written to. It is a manager's Runnable, which the manager that leads
// alone runs.
type Keeper struct {
	Log
	hub client.Client
	// fresh reads past caches.
	fresh client.Reader
	// system is the operator's namespace, whose Lease is for Sites.
	system string
	wrote  map[string]Statuses
}

// NewKeeper adds a Keeper to the hub's manager; namespace is the operator's.
func NewKeeper(hub manager.Manager, namespace string) (*Keeper, error) {
	k := &Keeper{hub: hub.GetClient(), fresh: hub.GetAPIReader(), system: namespace, wrote: map[string]Statuses{}}
	if err := hub.Add(k); err != nil {
		return nil, fmt.Errorf("add what keeps the Leases %s: %w", LeaseName, err)
	}
	return k, nil
}

// Recall lets the log know what the manager before has confirmed in a namespace. That it cannot be read is logged, and
// tried again with the next look.
func (k *Keeper) Recall(ctx context.Context, namespace string) {
	if k.recalls(namespace) {
		return
	}
	before, err := Read(ctx, k.fresh, namespace)
	if err != nil {
		log.FromContext(ctx).Info("what was confirmed before is not known", "cause", err.Error())
		return
	}
	k.recall(namespace, before)
}

// Start writes until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		switch err := k.write(ctx); {
		case err == nil:
			told = ""
		case err.Error() != told && ctx.Err() == nil:
			// A right that is missing is missing every time.
			told = err.Error()
			log.FromContext(ctx).WithName("confirmed").Error(err, "what is confirmed cannot be written")
		}
	}
}

// write brings the Leases to what is confirmed. The Lease of a namespace without groups goes.
func (k *Keeper) write(ctx context.Context) error {
	now, errs := k.namespaces(), []error(nil)
	for namespace, s := range now {
		if equal(k.wrote[namespace], s) {
			continue
		}
		if err := k.apply(ctx, namespace, s); err != nil {
			errs = append(errs, err)
			continue
		}
		k.wrote[namespace] = s
	}
	for namespace := range k.wrote {
		if now[namespace] != nil || namespace == "" {
			continue
		}
		if err := k.remove(ctx, namespace); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(k.wrote, namespace)
	}
	return errors.Join(errs...)
}

func (k *Keeper) apply(ctx context.Context, namespace string, s Statuses) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if namespace == "" {
		namespace = k.system
	}
	content, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode what is confirmed of namespace %s: %w", namespace, err)
	}
	var until time.Time
	for _, one := range s {
		if one.At.After(until) {
			until = one.At.Time
		}
	}
	// Without the label of the operator's objects at sites: no cache of a site needs to hold it.
	lease := coordination.Lease(LeaseName, namespace).
		WithAnnotations(map[string]string{annotation: string(content)}).
		WithSpec(coordination.LeaseSpec().WithHolderIdentity(holder).WithRenewTime(metav1.NewMicroTime(until)))
	if err := k.hub.Apply(ctx, lease, owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("write Lease %s/%s in the hub: %w", namespace, LeaseName, err)
	}
	return nil
}

func (k *Keeper) remove(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lease := &coordinationv1.Lease{}
	err := k.fresh.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, lease)
	if err == nil {
		err = reconcile.Remove(ctx, k.hub, lease)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Lease %s/%s in the hub: %w", namespace, LeaseName, err)
	}
	return nil
}
