// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// other is a move of the same publication that goes first, empty when there is none.
func (r *Reconciler) other(
	ctx context.Context,
	object *v1alpha1.PublisherMove,
	p *v1alpha1.Publication,
) (string, error) {
	var moves v1alpha1.PublisherMoveList
	if err := r.hub.List(ctx, &moves, client.InNamespace(object.Namespace)); err != nil {
		return "", fmt.Errorf("list the PublisherMoves of namespace %s: %w", object.Namespace, err)
	}
	return first(moves.Items, object, p), nil
}

// first is the move that this one waits for, empty when it is its own turn. Of moves that are approved one goes, by an
// order in which all of them see the same one first; those that can never go on are in nobody's way.
func first(moves []v1alpha1.PublisherMove, object *v1alpha1.PublisherMove, p *v1alpha1.Publication) string {
	best := object
	for i := range moves {
		m := &moves[i]
		if m.Name == object.Name || m.Spec.Publication != object.Spec.Publication || !goes(m) ||
			m.Status.Phase == v1alpha1.MoveCompleted ||
			replication.Overtaken(m, p) ||
			m.Status.PublicationUID != "" && m.Status.PublicationUID != p.UID {
			continue
		}
		if best == object && !goes(object) || turn(m, best, p) < 0 {
			best = m
		}
	}
	if best == object {
		return ""
	}
	return best.Name
}

// goes tells that a move is approved, or has begun.
func goes(m *v1alpha1.PublisherMove) bool {
	t := m.Status.Timeline
	return approved(m) || t != nil && t.Drained != nil
}

// turn orders two moves by who goes first: the one that has switched the publication, the one that has begun to end the
// old way, the one that was seen to be approved, the older one. The moments are written once, and what was begun is
// never left to stand half done behind a move that was approved later.
func turn(a, b *v1alpha1.PublisherMove, p *v1alpha1.Publication) int {
	switched := func(m *v1alpha1.PublisherMove) bool { return string(p.Spec.MovedBy) == m.Name }
	at := func(m *v1alpha1.PublisherMove, moment func(*v1alpha1.MoveTimeline) *metav1.MicroTime) *time.Time {
		if t := m.Status.Timeline; t != nil && moment(t) != nil {
			return &moment(t).Time
		}
		return nil
	}
	drained := func(t *v1alpha1.MoveTimeline) *metav1.MicroTime { return t.Drained }
	approved := func(t *v1alpha1.MoveTimeline) *metav1.MicroTime { return t.Approved }
	return cmp.Or(
		before(switched(a), switched(b)),
		earlier(at(a, drained), at(b, drained)),
		earlier(at(a, approved), at(b, approved)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// earlier orders moments; none comes last.
func earlier(a, b *time.Time) int {
	if a == nil || b == nil {
		return before(a != nil, b != nil)
	}
	return a.Compare(*b)
}

// before orders what is so before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
