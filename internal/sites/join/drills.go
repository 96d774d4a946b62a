// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/sites"
)

// settleDrills keeps what the site has when nothing was said about drills.
func (r *Request) settleDrills(ctx context.Context, w *writer) error {
	said, granted := r.Drills != nil, false
	if !said {
		var err error
		if granted, err = r.drillsGranted(ctx, w); err != nil {
			return err
		}
		r.Drills = &granted
	}
	switch {
	case *r.Drills && !said:
		fmt.Fprintf(r.Out, "%-10s drills: granted before, and kept; --drills=false takes that away\n", r.Name)
	case *r.Drills:
		fmt.Fprintf(r.Out, "%-10s drills: granted\n", r.Name)
	default:
		fmt.Fprintf(
			r.Out,
			"%-10s drills: not granted; --drills lets the manager start pods, run commands in them and make objects of Chaos "+
				"Mesh\n",
			r.Name,
		)
	}
	return nil
}

// drillsGranted looks whether the site was joined with what drills need: by the ClusterRoleBinding, which is the first
// to go when that is taken away, or, by an earlier release, in the one Role that there was.
func (r *Request) drillsGranted(parent context.Context, w *writer) (bool, error) {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	own, err := w.current(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: r.meta("", sites.DrillsRole)})
	if err != nil || own != nil {
		return own != nil, err
	}
	var roles rbacv1.RoleList
	if err := w.cluster.Client.List(ctx, &roles, client.MatchingLabels{joinedLabel: "true"}); err != nil {
		return false, fmt.Errorf("listing Roles at %s: %w", w.where, err)
	}
	return slices.ContainsFunc(roles.Items, func(role rbacv1.Role) bool {
		return role.Name == sites.SiteRole &&
			slices.ContainsFunc(
				role.Rules,
				func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, sites.ChaosGroup) },
			)
	}), nil
}

// grantDrills makes the rights of drills, or takes away those that are of the whole cluster; withdraw takes the others.
func (r *Request) grantDrills(ctx context.Context, w *writer) error {
	if !*r.Drills {
		return r.withdrawDrills(ctx, w)
	}
	if err := w.applyAll(ctx, r.drillsClusterAccess()...); err != nil {
		return err
	}
	for _, ns := range r.Spec.AllowedNamespaces {
		if err := w.applyAll(ctx, r.access(ns, sites.DrillsRole, sites.DrillRules())...); err != nil {
			return err
		}
	}
	return nil
}

// withdrawDrills takes away the rights of drills that are of the whole cluster, by which drillsGranted tells: before
// all others, so that drills are not granted again when it is interrupted.
func (r *Request) withdrawDrills(ctx context.Context, w *writer) error {
	for _, obj := range slices.Backward(r.drillsClusterAccess()) {
		if err := w.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}
