// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// readAgain is for how long what a store has told counts at least, where the time between two log backups is less: it
// is listed twice a minute, and the policy is looked at thrice.
const readAgain = 2 * time.Minute

// ahead is how far the clocks of servers may be apart.
const ahead = 2 * time.Minute

// observeBackups reads the BackupPolicy of a group that has an objective for backups; of several the one that came
// first, which alone is carried out.
func (r *Reconciler) observeBackups(ctx context.Context, d Desired, o *Observed) {
	if d.backupRPO() == 0 {
		return
	}
	var list v1alpha1.BackupPolicyList
	err := r.hub.List(ctx, &list, client.InNamespace(d.Group.Namespace))
	target := v1alpha1.ServerOrGroup{AvailabilityGroup: v1alpha1.ObjectName(d.Group.Name)}
	first := v1alpha1.FirstBackupPolicy(list.Items, target)
	o.Backups = reconcile.Asked(first, err)
	if err == nil && first != nil {
		o.Volumes = reconcile.Asked(r.volumes(ctx, first))
	}
}

// volumes finds where the stores of a policy are that are on servers' volumes.
func (r *Reconciler) volumes(ctx context.Context, p *v1alpha1.BackupPolicy) (
	map[v1alpha1.ObjectName]v1alpha1.SiteName, error) {
	all := map[v1alpha1.ObjectName]v1alpha1.SiteName{}
	for _, name := range p.Spec.Stores {
		var s v1alpha1.BackupStore
		err := r.hub.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(name)}, &s)
		if apierrors.IsNotFound(err) || err == nil && s.Spec.Volume == nil {
			continue // nothing is listed of one that is not there
		}
		if err != nil {
			return nil, fmt.Errorf("read BackupStore %s/%s: %w", p.Namespace, name, err)
		}
		var server v1alpha1.SQLServer
		err = r.hub.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(s.Spec.Volume.Server)}, &server)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read SQLServer %s/%s: %w", p.Namespace, s.Spec.Volume.Server, err)
		}
		all[name] = server.Spec.Site
	}
	return all, nil
}

// survivors are the stores of a policy that are not lost with the primary's site, and why the others are. A bucket is
// taken to be elsewhere; of a server's volume its site says where it is. While nobody knows where the primary is, it
// may be at any site of the group.
func survivors(d Desired, o Observed, p *v1alpha1.BackupPolicy, volumes map[v1alpha1.ObjectName]v1alpha1.SiteName) (
	all []v1alpha1.ObjectName, lost []string) {
	at := map[v1alpha1.SiteName]bool{}
	primary := cmp.Or(o.primary(d), credentials.ServerOf(d.Group.Status.Primary))
	if primary != "" && d.Sites[primary] != "" {
		at[d.Sites[primary]] = true
	} else {
		for _, server := range d.servers() {
			at[d.Sites[server]] = true
		}
	}
	for _, name := range p.Spec.Stores {
		switch site, volume := volumes[name]; {
		case !volume, site != "" && !at[site]:
			all = append(all, name)
		case site == "":
			lost = append(lost, fmt.Sprintf("nothing says at which site the volume of %s is", name))
		default:
			lost = append(lost, fmt.Sprintf("%s is on a volume at site %s, which is or may be the primary's", name, site))
		}
	}
	return all, lost
}

// backupRPO is the objective for backups; zero where there is none.
func (d Desired) backupRPO() time.Duration {
	if d.Group.Spec.Objectives == nil || d.Group.Spec.Objectives.BackupRPO == nil {
		return 0
	}
	return d.Group.Spec.Objectives.BackupRPO.Duration
}

// backupObjective says whether what survives the primary's site restores a moment that is new enough, and which the
// newest is; nil while that cannot be told. Stores alone count, of them those that are not at that site (survivors),
// and of these one that was listed a short time ago, with what was read back from it.
func backupObjective(d Desired, o Observed) (metav1.Condition, *metav1.Time) {
	says := func(status metav1.ConditionStatus, reason, format string, with ...any) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionBackupObjectiveMet, Status: status, Reason: reason,
			Message: fmt.Sprintf(format, with...)}
	}
	policy, err := o.Backups.Get()
	switch {
	case err != nil:
		return says(metav1.ConditionUnknown, v1alpha1.ReasonBackupNotRead, "BackupPolicies cannot be read: %v", err), nil
	case policy == nil:
		return says(metav1.ConditionFalse, v1alpha1.ReasonBackupNotDeclared, "no BackupPolicy is about the group"), nil
	case len(policy.Spec.Stores) == 0:
		return says(metav1.ConditionFalse, v1alpha1.ReasonBackupObjectiveMissed, "BackupPolicy %s keeps backups on the "+
			"servers alone, which are lost with their sites: declare a BackupStore", policy.Name), nil
	case policy.Spec.Verification == v1alpha1.VerifyNone:
		return says(metav1.ConditionUnknown, v1alpha1.ReasonBackupNotVerified, "BackupPolicy %s has nothing read back: "+
			"whether its stores restore anything is not known", policy.Name), nil
	}
	volumes, err := o.Volumes.Get()
	if err != nil {
		return says(metav1.ConditionUnknown, v1alpha1.ReasonBackupNotRead, "where the stores of BackupPolicy %s are cannot "+
			"be read: %v", policy.Name, err), nil
	}
	outlive, lost := survivors(d, o, policy, volumes)
	if len(outlive) == 0 {
		return says(metav1.ConditionFalse, v1alpha1.ReasonBackupObjectiveMissed, "no store of BackupPolicy %s outlives the "+
			"primary's site: %s", policy.Name, strings.Join(lost, "; ")), nil
	}
	best, away := bestPlace(policy, outlive, o.Now)
	if best == nil {
		return says(metav1.ConditionUnknown, v1alpha1.ReasonBackupNotRead, "no store of BackupPolicy %s has told for %s "+
			"what it has: %s", policy.Name, readFor(policy), strings.Join(append(away, lost...), "; ")), nil
	}
	if none := unrestorable(d, policy); best.Verified == nil || len(none) > 0 {
		return says(metav1.ConditionFalse, v1alpha1.ReasonBackupObjectiveMissed, "store %s does not restore every "+
			"database by backups that were read back%s", best.Name, strings.Join(none, "")), nil
	}
	at := best.Verified.UTC().Format(time.RFC3339)
	switch {
	case o.Now.Sub(best.Verified.Time) > d.backupRPO():
		return says(metav1.ConditionFalse, v1alpha1.ReasonBackupObjectiveMissed, "the newest moment to which store %s "+
			"restores every database, %s, is more than %s ago", best.Name, at, d.backupRPO()), best.Verified
	case best.Damaged != nil && best.Damaged.After(best.Verified.Time):
		return says(metav1.ConditionUnknown, v1alpha1.ReasonBackupDamaged, "store %s did not give a backup of %s back as "+
			"it was written; by what it did it restores every database to %s", best.Name,
			best.Damaged.UTC().Format(time.RFC3339), at), nil
	}
	return says(metav1.ConditionTrue, v1alpha1.ReasonBackupObjectiveMet, "store %s restores every database to %s",
		best.Name, at), best.Verified
}

// bestPlace is the store that restores the newest moment, of those of names that were listed a short time ago; nil
// where none was, and then what is known of each.
func bestPlace(p *v1alpha1.BackupPolicy, names []v1alpha1.ObjectName, now time.Time) (best *v1alpha1.BackupPlace,
	away []string) {
	for _, name := range names {
		i := slices.IndexFunc(p.Status.Stores, func(s v1alpha1.BackupPlace) bool { return s.Name == name })
		if i < 0 || p.Status.Stores[i].Listed == nil {
			away = append(away, fmt.Sprintf("%s never has", name))
			continue
		}
		s := &p.Status.Stores[i]
		if now.Sub(s.Listed.Time) > readFor(p) {
			away = append(away, fmt.Sprintf("%s last did at %s", name, s.Listed.UTC().Format(time.RFC3339)))
			continue
		}
		if s.Listed.After(now.Add(ahead)) || s.Verified != nil && s.Verified.After(now.Add(ahead)) {
			away = append(away, fmt.Sprintf("%s tells of a time that is yet to come, since a clock is wrong, or was", name))
			continue
		}
		if best == nil || best.Verified == nil || best.Verified.Before(s.Verified) {
			best = s
		}
	}
	return best, away
}

// readFor is how long what a store has told counts: the time between two log backups.
func readFor(p *v1alpha1.BackupPolicy) time.Duration {
	if p.Spec.Log == nil || p.Spec.Log.Every == nil {
		return readAgain
	}
	return max(p.Spec.Log.Every.Duration, readAgain)
}

// unrestorable are the group's databases that the policy does not cover, or has seen nothing of, in words.
func unrestorable(d Desired, p *v1alpha1.BackupPolicy) []string {
	var all []string
	for _, name := range d.databases() {
		is := func(other v1alpha1.DatabaseName) bool { return strings.EqualFold(string(other), name) }
		switch {
		case len(p.Spec.Databases) > 0 && !slices.ContainsFunc(p.Spec.Databases, is):
			all = append(all, fmt.Sprintf("; BackupPolicy %s does not cover %s", p.Name, name))
		case !slices.ContainsFunc(p.Status.Databases, func(b v1alpha1.BackedUpDatabase) bool { return is(b.Name) }):
			all = append(all, fmt.Sprintf("; nothing is known of backups of %s", name))
		}
	}
	return all
}
