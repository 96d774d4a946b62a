// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Desired is what a Drill asks for.
type Desired struct {
	drill *v1alpha1.Drill
	// image that clients run.
	image string
}

// desire reads the drill anew: what was said of it a moment ago must be seen.
func (r *Reconciler) desire(ctx context.Context, cached *v1alpha1.Drill) (Desired, error) {
	d := &v1alpha1.Drill{}
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(cached), d); err != nil {
		return Desired{}, fmt.Errorf("read Drill %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return Desired{drill: d, image: r.image}, nil
}
