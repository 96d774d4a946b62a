// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
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

// PublishedFrom is a publisher of a publication, with what its subscribers know it by: the one that is declared, or one
// from which a PublisherMove has moved it.
type PublishedFrom struct {
	Party Party
	// Database that it published.
	Database string
	// Original is the server under whose name subscribers know it; empty when only the Party says that.
	Original string
}

// Feeds tells that a subscription, as its database knows it, is one to this publisher.
func (f PublishedFrom) Feeds(s mssql.SubscriptionHere) bool {
	known := f.Original != "" && strings.EqualFold(s.Publisher, f.Original) || f.Party.Has(s.Publisher)
	return known && strings.EqualFold(s.PublisherDatabase, f.Database)
}

// FormerPublishers are those from which PublisherMoves have moved a publication: that which it names, and earlier ones
// of the same object. A publisher's own objects may be gone; its name is in the record.
func FormerPublishers(ctx context.Context, reader client.Reader, p *v1alpha1.Publication) ([]PublishedFrom, error) {
	if p.Spec.MovedBy == "" {
		return nil, nil
	}
	var moves v1alpha1.PublisherMoveList
	if err := reader.List(ctx, &moves, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list the PublisherMoves of namespace %s: %w", p.Namespace, err)
	}
	var all []PublishedFrom
	for i := range moves.Items {
		m := &moves.Items[i]
		if !moved(m, p) {
			continue
		}
		party, err := Resolve(ctx, reader, p.Namespace, *m.Status.From)
		if err != nil {
			return nil, err
		}
		all = append(all, PublishedFrom{Party: party, Database: string(m.Status.FromDatabase), Original: m.Status.Original})
	}
	return all, nil
}

// moved tells that a move has moved the publication, and says from where.
func moved(m *v1alpha1.PublisherMove, p *v1alpha1.Publication) bool {
	s := m.Status
	if string(m.Spec.Publication) != p.Name || s.From == nil {
		return false
	}
	return string(p.Spec.MovedBy) == m.Name ||
		s.PublicationUID == p.UID && s.Timeline != nil && s.Timeline.Switched != nil
}
