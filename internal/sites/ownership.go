// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"geosql.dev/operator/api/v1alpha1"
)

// ownership is what one engagement knows of whose its site is. The watch of the Leases keeps it, so that a write asks
// nobody.
type ownership struct {
	site v1alpha1.SiteName
	self Owner
	// namespaces are those that were claimed.
	namespaces []string
	// current tells that the site has answered lately: what the watch says counts for no longer.
	current func() error
	// changed is readable when the Leases say something else than before.
	changed chan struct{}

	mu sync.Mutex
	// against says for a namespace why nothing may be written there: *OtherHubError or *UnclaimedError.
	against map[string]error
}

// claimSite makes sure that all usable namespaces of the site are this hub's.
func (run *engagement) claimSite(
	ctx context.Context,
	c kubernetes.Interface,
	hub string,
	namespaces []string,
) (*ownership, error) {
	o := &ownership{site: run.name, self: Owner{hub, EpochOf(run.site)}, namespaces: namespaces,
		changed: make(chan struct{}, 1), against: map[string]error{}, current: run.current}
	for _, ns := range namespaces {
		o.against[ns] = &UnclaimedError{Site: run.name, Namespace: ns}
	}
	return o, o.claim(ctx, c)
}

func (o *ownership) claim(ctx context.Context, c kubernetes.Interface) error {
	for _, ns := range o.namespaces {
		err := o.self.Claim(ctx, c.CoordinationV1().Leases(ns), o.site, ns)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			// It is refused with 403, and no fault of the credentials; nothing can be made there, and it is not claimed.
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// current returns an *UnreachableError when the site has been silent for so long that what its watches said is old.
func (run *engagement) current() error {
	run.p.mu.RLock()
	defer run.p.mu.RUnlock()
	if h := run.health; time.Since(h.LastHeartbeat) >= run.p.opts.UnknownAfter {
		cause := h.Cause
		if cause == nil {
			cause = fmt.Errorf("no heartbeat was answered for %s", run.p.opts.UnknownAfter)
		}
		return &UnreachableError{Site: run.name, Since: h.LastHeartbeat, Cause: cause}
	}
	return nil
}

// follow keeps the ownership by the watch of the site's Leases. A nil ownership follows nothing.
func (o *ownership) follow(ctx context.Context, leases cache.Cache) error {
	if o == nil {
		return nil
	}
	informer, err := leases.GetInformer(ctx, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("watching the Leases of site %s: %w", o.site, err)
	}
	see := func(obj any) {
		if lease, ok := obj.(*coordinationv1.Lease); ok && lease.Name == OwnerLease {
			o.see(lease.Namespace, lease)
		}
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, obj any) { see(obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if lease, ok := obj.(*coordinationv1.Lease); ok && lease.Name == OwnerLease {
				o.see(lease.Namespace, nil)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching the Leases of site %s: %w", o.site, err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return fmt.Errorf("watching the Leases of site %s: %w", o.site, ctx.Err())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.against) > 0 {
		// It was deleted between the claim and the watch.
		o.signal()
	}
	return nil
}

// signal that the Leases say something else than before.
func (o *ownership) signal() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// see notes what a namespace's Lease says; nil is one that was deleted.
func (o *ownership) see(namespace string, lease *coordinationv1.Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case lease == nil:
		o.against[namespace] = &UnclaimedError{Site: o.site, Namespace: namespace}
	case ReadOwner(lease) == o.self:
		delete(o.against, namespace)
		return
	default:
		o.against[namespace] = &OtherHubError{Site: o.site, Namespace: namespace, Owner: ReadOwner(lease), Self: o.self}
	}
	o.signal()
}

// moves is readable when the Leases say something else than before; never for a nil ownership.
func (o *ownership) moves() <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.changed
}

// mayWrite returns why nothing may be written in a namespace of the site: one that is another hub's makes the whole
// site so.
func (o *ownership) mayWrite(namespace string) error {
	if o == nil {
		return nil
	}
	if err := o.current(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for ns, err := range o.against {
		var unclaimed *UnclaimedError
		if ns == namespace || !errors.As(err, &unclaimed) {
			return err
		}
	}
	return nil
}

// other returns the *OtherHubError of a site that is another hub's by what the watch has said so far; else nil.
func (o *ownership) other() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, err := range o.against {
		var other *OtherHubError
		if errors.As(err, &other) {
			return err
		}
	}
	return nil
}

// HubUID is what this hub is known by; empty for a process that is no hub's.
func (p *Provider) HubUID(ctx context.Context) (string, error) {
	if p.opts.Anonymous {
		return "", nil
	}
	p.mu.RLock()
	known := p.opts.Hub
	p.mu.RUnlock()
	if known != "" {
		return known, nil
	}
	uid, err := HubUID(ctx, p.hub.GetAPIReader())
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	p.opts.Hub = uid
	p.mu.Unlock()
	return uid, nil
}
