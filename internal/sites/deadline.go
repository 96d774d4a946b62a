// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deadlineClient gives every call a deadline: a site behind a cut network neither answers nor refuses.
type deadlineClient struct {
	client.Client
	timeout time.Duration
}

// deadlineReader is the same for a client.Reader.
type deadlineReader struct {
	client.Reader
	timeout time.Duration
}

func within(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return call(ctx)
}

func (r deadlineReader) Get(
	ctx context.Context,
	key client.ObjectKey,
	obj client.Object,
	opts ...client.GetOption,
) error {
	return within(ctx, r.timeout, func(ctx context.Context) error { return r.Reader.Get(ctx, key, obj, opts...) })
}

func (r deadlineReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return within(ctx, r.timeout, func(ctx context.Context) error { return r.Reader.List(ctx, list, opts...) })
}

func (c deadlineClient) Get(
	ctx context.Context,
	key client.ObjectKey,
	obj client.Object,
	opts ...client.GetOption,
) error {
	return deadlineReader{c.Client, c.timeout}.Get(ctx, key, obj, opts...)
}

func (c deadlineClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return deadlineReader{c.Client, c.timeout}.List(ctx, list, opts...)
}

func (c deadlineClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.Apply(ctx, obj, opts...) })
}

func (c deadlineClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.Create(ctx, obj, opts...) })
}

func (c deadlineClient) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.Update(ctx, obj, opts...) })
}

func (c deadlineClient) Patch(
	ctx context.Context,
	obj client.Object,
	patch client.Patch,
	opts ...client.PatchOption,
) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

func (c deadlineClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.Delete(ctx, obj, opts...) })
}

func (c deadlineClient) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return within(ctx, c.timeout, func(ctx context.Context) error { return c.Client.DeleteAllOf(ctx, obj, opts...) })
}

func (c deadlineClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c deadlineClient) SubResource(name string) client.SubResourceClient {
	return deadlineSubResource{c.Client.SubResource(name), c.timeout}
}

type deadlineSubResource struct {
	client.SubResourceClient
	timeout time.Duration
}

func (s deadlineSubResource) Get(
	ctx context.Context,
	obj, sub client.Object,
	opts ...client.SubResourceGetOption,
) error {
	return within(
		ctx,
		s.timeout,
		func(ctx context.Context) error { return s.SubResourceClient.Get(ctx, obj, sub, opts...) },
	)
}

func (s deadlineSubResource) Create(
	ctx context.Context,
	obj, sub client.Object,
	opts ...client.SubResourceCreateOption,
) error {
	return within(
		ctx,
		s.timeout,
		func(ctx context.Context) error { return s.SubResourceClient.Create(ctx, obj, sub, opts...) },
	)
}

func (s deadlineSubResource) Update(
	ctx context.Context,
	obj client.Object,
	opts ...client.SubResourceUpdateOption,
) error {
	return within(ctx, s.timeout, func(ctx context.Context) error { return s.SubResourceClient.Update(ctx, obj, opts...) })
}

func (s deadlineSubResource) Patch(
	ctx context.Context,
	obj client.Object,
	patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	return within(
		ctx,
		s.timeout,
		func(ctx context.Context) error { return s.SubResourceClient.Patch(ctx, obj, patch, opts...) },
	)
}

func (s deadlineSubResource) Apply(
	ctx context.Context,
	obj runtime.ApplyConfiguration,
	opts ...client.SubResourceApplyOption,
) error {
	return within(ctx, s.timeout, func(ctx context.Context) error { return s.SubResourceClient.Apply(ctx, obj, opts...) })
}
