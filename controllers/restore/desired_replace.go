// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// replaces says that a database of the name makes way; in a dry run it is looked at alone.
func (d *Desired) replaces() bool { return d.Restore.Spec.Replace != "" }

// held finds what replicates the database that is to make way: a Publication or Subscription would go on with what
// comes in its place, or stop. Before anything is begun it refuses the Restore.
func (r *Reconciler) held(ctx context.Context, d *Desired) error {
	if !d.replaces() {
		return nil
	}
	var publications v1alpha1.PublicationList
	var subscriptions v1alpha1.SubscriptionList
	for _, list := range []client.ObjectList{&publications, &subscriptions} {
		if err := r.hub.List(ctx, list, client.InNamespace(d.Restore.Namespace)); err != nil {
			return fmt.Errorf("list the objects of kind %s of namespace %s: %w", v1alpha1.ListedKind(list),
				d.Restore.Namespace, err)
		}
	}
	var names []string
	for i := range publications.Items {
		if p := &publications.Items[i]; d.means(p.Spec.Publisher, p.Spec.Database) {
			names = append(names, "Publication "+p.Name)
		}
	}
	for i := range subscriptions.Items {
		if s := &subscriptions.Items[i]; d.means(s.Spec.Subscriber, s.Spec.Database) {
			names = append(names, "Subscription "+s.Name)
		}
	}
	d.HeldKnown = true
	if len(names) > 0 {
		d.Held = fmt.Sprintf("%s: database %s is replicated, and replication would go on with what takes its place. Delete "+
			"these first", strings.Join(names, ", "), d.Restore.Spec.Replace)
		d.Refused = d.Held
	}
	return nil
}

// means says that a place and a database are those that make way. A server of the group's counts as the group.
func (d *Desired) means(at v1alpha1.ServerOrGroup, database v1alpha1.DatabaseName) bool {
	if !strings.EqualFold(string(database), string(d.Restore.Spec.Replace)) {
		return false
	}
	group := d.Restore.Spec.Target.AvailabilityGroup
	if at.AvailabilityGroup != "" {
		return at.AvailabilityGroup == group
	}
	return at.Server != "" && (at.Server == d.server() || at.Server == d.Pin || slices.Contains(d.Copies, at.Server))
}
