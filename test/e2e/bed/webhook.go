// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookAway bounds how long a test asks again while the operator's webhook does not answer.
const webhookAway = 2 * time.Minute

// insistent asks again what was refused because the operator's webhook did not answer, as a person would: a test that
// ends the operator runs beside others. Such a request has changed nothing.
type insistent struct{ client.Client }

// Create asks again while the webhook is away.
func (c insistent) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	return insist(ctx, func() error { return c.Client.Create(ctx, obj, options...) })
}

// Update asks again while the webhook is away.
func (c insistent) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	return insist(ctx, func() error { return c.Client.Update(ctx, obj, options...) })
}

// Patch asks again while the webhook is away.
func (c insistent) Patch(
	ctx context.Context,
	obj client.Object,
	patch client.Patch,
	options ...client.PatchOption,
) error {
	return insist(ctx, func() error { return c.Client.Patch(ctx, obj, patch, options...) })
}

// insist returns the last error when the time is over.
func insist(ctx context.Context, ask func() error) (err error) {
	_ = wait.PollUntilContextTimeout(ctx, time.Second, webhookAway, true, func(context.Context) (bool, error) {
		err = ask()
		return !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook"), nil
	})
	return err
}
