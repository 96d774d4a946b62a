// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// Desired is what a Topology declares.
type Desired struct {
	// Topology that declares it.
	Topology *v1alpha1.Topology
	// Objects in the order in which they are written.
	Objects []client.Object
	// Err says why the manifest cannot be expanded, or is nil.
	Err error
}

// Desire expands a Topology; the label of its objects says whose they are. They have no owner reference: that is by
// UID, and the garbage collector takes objects whose owner of that UID is no more, after a restore with all that they
// have.
func Desire(t *v1alpha1.Topology) Desired {
	d := Desired{Topology: t}
	objects, err := topology.Expand(t)
	if err != nil {
		d.Err = err
		return d
	}
	d.Objects = objects.All()
	return d
}

// desire never fails: a manifest that cannot be expanded is its author's to mend.
func desire(_ context.Context, t *v1alpha1.Topology) (Desired, error) { return Desire(t), nil }
