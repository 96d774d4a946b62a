// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// callTimeout bounds every call.
const callTimeout = 15 * time.Second

// writer applies objects to one cluster and says what it did.
type writer struct {
	r       *Request
	cluster Cluster
	// where names the cluster in what is printed.
	where string
	// hub tells that the cluster is the hub.
	hub bool
}

func (w *writer) say(what string, obj client.Object) {
	kind := "object"
	if gvk, err := apiutil.GVKForObject(obj, w.cluster.Client.Scheme()); err == nil {
		kind = gvk.Kind
	}
	name := strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
	fmt.Fprintf(w.r.Out, "%-10s %s %s: %s\n", w.where, kind, name, what)
}

// current returns the object as it is, or nil.
func (w *writer) current(ctx context.Context, obj client.Object) (client.Object, error) {
	at := obj.DeepCopyObject().(client.Object)
	err := w.cluster.Client.Get(ctx, client.ObjectKeyFromObject(obj), at)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %T %s at %s: %w", obj, obj.GetName(), w.where, err)
	}
	return at, nil
}

// apply makes obj so.
func (w *writer) apply(parent context.Context, obj client.Object) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	before, err := w.current(ctx, obj)
	if err != nil {
		return err
	}
	if w.r.DryRun {
		what := "would be applied"
		if before == nil {
			what = "would be created"
		}
		w.say(what, obj)
		return w.declare(obj)
	}
	if err := sites.ApplyAs(ctx, w.cluster.Client, obj, Owner); err != nil {
		return fmt.Errorf("at %s: %w", w.where, err)
	}
	if before == nil {
		w.say("created", obj)
		return nil
	}
	after, err := w.current(ctx, obj)
	if err != nil {
		return err
	}
	if after != nil && after.GetResourceVersion() == before.GetResourceVersion() {
		w.say("unchanged", obj)
	} else {
		w.say("changed", obj)
	}
	return nil
}

func (w *writer) applyAll(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		if err := w.apply(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// namespace makes a namespace that does not exist; one that exists is left as it is.
func (w *writer) namespace(parent context.Context, name string) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	at, err := w.current(ctx, ns)
	switch {
	case err != nil:
		return err
	case at != nil:
		w.say("exists", ns)
		return nil
	case w.r.DryRun:
		w.say("would be created", ns)
		return nil
	}
	if err := client.IgnoreAlreadyExists(w.cluster.Client.Create(ctx, ns)); err != nil {
		return fmt.Errorf("creating namespace %s at %s: %w", name, w.where, err)
	}
	w.say("created", ns)
	return nil
}

// remove deletes an object if it exists, as it was read: one that somebody makes under its name meanwhile stays.
func (w *writer) remove(parent context.Context, obj client.Object) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	at, err := w.current(ctx, obj)
	if err != nil || at == nil {
		return err
	}
	if w.r.DryRun {
		w.say("would be deleted", obj)
		return nil
	}
	if err := reconcile.Remove(ctx, w.cluster.Client, at); err != nil {
		return fmt.Errorf("deleting %T %s at %s: %w", obj, obj.GetName(), w.where, err)
	}
	w.say("deleted", obj)
	return nil
}
