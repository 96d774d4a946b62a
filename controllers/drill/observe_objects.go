// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// objectKey names an object at a site.
type objectKey struct{ site, kind, name string }

// seenObject is a fault's object as it was read.
type seenObject struct {
	exists   bool
	injected bool
	created  time.Time
	// text is what its controller says of it: the last failure of Chaos Mesh's, or how a Failover ended.
	text string
	// selected are the pods that Chaos Mesh has selected for it.
	selected []string
	// outcome of a Failover.
	outcome string
	err     error
}

// observeObjects reads the objects of the faults that are under way.
func (r *Reconciler) observeObjects(ctx context.Context, w *Observed) {
	for _, f := range w.drill.Status.Faults {
		if f.State == v1alpha1.FaultRemoved || f.State == v1alpha1.FaultSkipped || f.State == v1alpha1.FaultWaiting {
			continue
		}
		for _, o := range f.Objects {
			w.objects[keyOf(o)] = r.object(ctx, w, o)
		}
	}
}

func keyOf(o v1alpha1.FaultObject) objectKey { return objectKey{o.Site, o.Kind, o.Name} }

func (r *Reconciler) object(ctx context.Context, w *Observed, o v1alpha1.FaultObject) seenObject {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var reader client.Reader = r.direct
	if o.Site != "" {
		member := w.members[v1alpha1.SiteName(o.Site)]
		if member == nil {
			return seenObject{err: w.unusable(v1alpha1.SiteName(o.Site))}
		}
		reader = member.APIReader
	}
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	err := reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, u)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return seenObject{}
	case err != nil:
		return seenObject{err: err}
	}
	s := seenObject{exists: true, created: u.GetCreationTimestamp().Time}
	s.outcome, _, _ = unstructured.NestedString(u.Object, "status", "outcome")
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] == "AllInjected" {
			s.injected = c["status"] == "True"
		}
	}
	s.text, s.selected = chaosMessage(u), selectedPods(u)
	if s.outcome != "" {
		reason, _, _ := unstructured.NestedString(u.Object, "status", "reason")
		message, _, _ := unstructured.NestedString(u.Object, "status", "message")
		s.text = conditions.Shorten(reason+": "+message, 500)
	}
	return s
}
