// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// owners refuses an owner reference that is new on an object on which data hang. References are by UID: those of a kept
// manifest name an owner that is no more, and the garbage collector deletes the object within a second. What an earlier
// release has written stays until the controller takes it away. old is nil on creation.
func (v *validator[T]) owners(old client.Object, obj T) error {
	if !v.holds || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	var before []metav1.OwnerReference
	if old != nil {
		before = old.GetOwnerReferences()
	}
	var errs field.ErrorList
	for i, r := range obj.GetOwnerReferences() {
		if slices.ContainsFunc(before, func(b metav1.OwnerReference) bool { return b.UID == r.UID }) {
			continue
		}
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "ownerReferences").Index(i), fmt.Sprintf(
			"%s %s with UID %s: Kubernetes would delete the %s, and what it has, once no object has that UID, as after a "+
				"restore; take "+
				"ownerReferences out of the manifest (a Topology knows its objects by the label %s)",
			r.Kind,
			r.Name,
			r.UID,
			v.kind,
			v1alpha1.LabelTopology,
		)))
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v.kind}, obj.GetName(), errs)
}
