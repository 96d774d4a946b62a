// SPDX-License-Identifier: Apache-2.0

package join

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/sites"
)

// Manifest is an object that joining applies, for who keeps such objects in a repository. Namespaces are none: whoever
// takes one out of a repository would delete all servers in it. Neither are Secrets.
type Manifest struct {
	// Hub tells that the object is of the hub, as all are of a site that is the hub itself; else it is of the member.
	Hub bool
	// Object as it is applied.
	Object *unstructured.Unstructured
}

// declare hands on what would be applied.
func (w *writer) declare(obj client.Object) error {
	if _, secret := obj.(*corev1.Secret); secret || w.r.Declare == nil {
		return nil
	}
	u, err := sites.Manifest(w.cluster.Client.Scheme(), obj)
	if err != nil {
		return err
	}
	return w.r.Declare(Manifest{Hub: w.hub, Object: u})
}
