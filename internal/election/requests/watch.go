// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"geosql.dev/operator/internal/election/votes"
)

// Moved lets the changes of a Lease through that mean something: another term, state, holder, configuration of voters,
// request, answer or timeline. A renewal, once per second and voter, changes none of them.
func Moved() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return meaning(e.ObjectOld) != meaning(e.ObjectNew) },
	}
}

// notes are the annotations by which people, the manager and the agents speak to each other.
var notes = []string{
	votes.AnnotationRequest,
	votes.AnnotationAnswer,
	votes.AnnotationTimelines,
	votes.AnnotationPaused,
}

// meaning is what of a Lease does not change by renewal.
func meaning(obj client.Object) string {
	lease, ok := obj.(*coordinationv1.Lease)
	if !ok {
		return ""
	}
	record, err := votes.DecodeLease(lease)
	holder := record.Holder
	holder.Nonce = ""
	parts := []string{string(record.State), holder.String(), strconv.FormatInt(record.Term, 10), record.Voters}
	if err != nil {
		parts = []string{err.Error()}
	}
	for _, name := range notes {
		parts = append(parts, lease.Annotations[name])
	}
	return strings.Join(parts, "\x00")
}
