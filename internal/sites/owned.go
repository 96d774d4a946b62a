// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownedClient refuses to write at a site that is not this hub's any more, by what the watch has said so far. It costs
// no request, and a write that is under way when the Lease moves may still arrive: what takes something away names its
// object's UID as well (reconcile.Remove).
type ownedClient struct {
	client.Client
	owned *ownership
}

var _ client.Client = ownedClient{}

// namespaced is what a client.Object and an apply configuration from one have in common.
type namespaced interface{ GetNamespace() string }

func (c ownedClient) write(obj any, write func() error) error {
	namespace := ""
	switch o := obj.(type) {
	case namespaced:
		namespace = o.GetNamespace()
	case interface{ GetNamespace() *string }:
		if ns := o.GetNamespace(); ns != nil {
			namespace = *ns
		}
	}
	if err := c.owned.mayWrite(namespace); err != nil {
		return fmt.Errorf("not written: %w", err)
	}
	return write()
}

// Apply implements client.Writer.
func (c ownedClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.write(obj, func() error { return c.Client.Apply(ctx, obj, opts...) })
}

// Create implements client.Writer.
func (c ownedClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return c.write(obj, func() error { return c.Client.Create(ctx, obj, opts...) })
}

// Update implements client.Writer.
func (c ownedClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.write(obj, func() error { return c.Client.Update(ctx, obj, opts...) })
}

// Patch implements client.Writer.
func (c ownedClient) Patch(
	ctx context.Context,
	obj client.Object,
	patch client.Patch,
	opts ...client.PatchOption,
) error {
	return c.write(obj, func() error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

// Delete implements client.Writer.
func (c ownedClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.write(obj, func() error { return c.Client.Delete(ctx, obj, opts...) })
}

// DeleteAllOf implements client.Writer.
func (c ownedClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return c.write(obj, func() error { return c.Client.DeleteAllOf(ctx, obj, opts...) })
}

// Status implements client.StatusClient.
func (c ownedClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c ownedClient) SubResource(name string) client.SubResourceClient {
	return ownedSubResource{c.Client.SubResource(name), c}
}

type ownedSubResource struct {
	client.SubResourceClient
	c ownedClient
}

// Create implements client.SubResourceWriter.
func (s ownedSubResource) Create(
	ctx context.Context,
	obj, sub client.Object,
	opts ...client.SubResourceCreateOption,
) error {
	return s.c.write(obj, func() error { return s.SubResourceClient.Create(ctx, obj, sub, opts...) })
}

// Update implements client.SubResourceWriter.
func (s ownedSubResource) Update(
	ctx context.Context,
	obj client.Object,
	opts ...client.SubResourceUpdateOption,
) error {
	return s.c.write(obj, func() error { return s.SubResourceClient.Update(ctx, obj, opts...) })
}

// Patch implements client.SubResourceWriter.
func (s ownedSubResource) Patch(
	ctx context.Context,
	obj client.Object,
	patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	return s.c.write(obj, func() error { return s.SubResourceClient.Patch(ctx, obj, patch, opts...) })
}

// Apply implements client.SubResourceWriter.
func (s ownedSubResource) Apply(
	ctx context.Context,
	obj runtime.ApplyConfiguration,
	opts ...client.SubResourceApplyOption,
) error {
	return s.c.write(obj, func() error { return s.SubResourceClient.Apply(ctx, obj, opts...) })
}
