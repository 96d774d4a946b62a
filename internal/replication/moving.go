// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Moving is the PublisherMove that ends what a publication has at its former publisher, empty when none does. Until the
// Publication names the new publisher, no controller makes again what the move takes away, although a former publisher
// that lives would let it.
func Moving(ctx context.Context, reader client.Reader, p *v1alpha1.Publication) (string, error) {
	var moves v1alpha1.PublisherMoveList
	if err := reader.List(ctx, &moves, client.InNamespace(p.Namespace)); err != nil {
		return "", fmt.Errorf("list the PublisherMoves of namespace %s: %w", p.Namespace, err)
	}
	for i := range moves.Items {
		if ends(&moves.Items[i], p) {
			return moves.Items[i].Name, nil
		}
	}
	return "", nil
}

// Overtaken tells that another move has moved the publication since this one first looked at it. What was approved is
// about the publisher of then, not about the one of now.
func Overtaken(m *v1alpha1.PublisherMove, p *v1alpha1.Publication) bool {
	s := m.Status
	return s.From != nil && string(p.Spec.MovedBy) != m.Name &&
		(*s.From != p.Spec.Publisher || s.FromDatabase != p.Spec.Database || s.FromDistributor != p.Spec.Distributor)
}

// ends tells whether a move has begun to end what the publication has, and has not switched it yet. Its phase goes back
// while a server does not answer, its timeline does not. One that was overtaken ends nothing any more: its publication
// would stand still for ever.
func ends(m *v1alpha1.PublisherMove, p *v1alpha1.Publication) bool {
	s := m.Status
	return string(m.Spec.Publication) == p.Name && s.PublicationUID == p.UID && m.DeletionTimestamp == nil &&
		s.Timeline != nil && s.Timeline.Drained != nil && s.Phase != v1alpha1.MoveCompleted &&
		string(p.Spec.MovedBy) != m.Name && !Overtaken(m, p)
}

// Arriving tells that a PublisherMove has brought the publication to its publisher and is not completed: nothing of it
// need be there yet.
func Arriving(ctx context.Context, reader client.Reader, p *v1alpha1.Publication) (bool, error) {
	if p.Spec.MovedBy == "" {
		return false, nil
	}
	var move v1alpha1.PublisherMove
	key := client.ObjectKey{Namespace: p.Namespace, Name: string(p.Spec.MovedBy)}
	err := reader.Get(ctx, key, &move)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read PublisherMove %s: %w", key, err)
	}
	return move.Status.From != nil && move.Status.Phase != v1alpha1.MoveCompleted, nil
}
