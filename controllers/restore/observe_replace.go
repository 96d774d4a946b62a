// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// copyTimeout bounds the questions to each of the group's other servers.
const copyTimeout = 4 * time.Second

// standing is what stands at the server under the names of a Restore that replaces; nil where there is none.
type standing struct {
	// Named has the name that is asked for, Restored the one under which it is restored, Aside the one of what made way.
	Named, Restored, Aside *mssql.Standing
	// Role of the server in the target's group, empty where it has no such group.
	Role string
}

// swapped says that the restored database has the name.
func (s standing) swapped() bool { return s.Named != nil && s.Named.Own }

// restored says that the restored database is there under the name under which it was restored.
func (s standing) restored() bool { return s.Restored != nil && s.Restored.Own }

// stands reads what stands under the names, and, once the restored database has its own, the copies of the former one
// that the group's other servers have.
func (r *Reconciler) stands(ctx context.Context, d Desired, o *Observed) {
	s, err := r.standing(ctx, d)
	o.Stands = reconcile.Asked(s, err)
	if err != nil || !s.swapped() || d.Restore.Status.Replaced == nil {
		return
	}
	o.Copies = map[v1alpha1.ServerName]reconcile.Reading[*mssql.Standing]{}
	for _, server := range d.Copies {
		o.Copies[server] = reconcile.Asked(r.copyAt(ctx, d, server))
	}
}

// copyAt reads what another server of the group has under the name, nil where there is nothing.
func (r *Reconciler) copyAt(ctx context.Context, d Desired, server v1alpha1.ServerName) (*mssql.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	all, err := r.names(ctx, d, server, string(d.Restore.Spec.Replace))
	return all[strings.ToLower(string(d.Restore.Spec.Replace))], err
}

func (r *Reconciler) standing(ctx context.Context, d Desired) (s standing, err error) {
	named, restored := string(d.Restore.Spec.Replace), d.Restore.RestoredName()
	names, aside := []string{named, restored}, ""
	if d.Restore.Status.Replaced != nil {
		aside = d.Restore.Status.Replaced.Database
		names = append(names, aside)
	}
	all, err := r.names(ctx, d, d.server(), names...)
	if err != nil {
		return s, err
	}
	s.Named, s.Restored = all[strings.ToLower(named)], all[strings.ToLower(restored)]
	if aside != "" {
		s.Aside = all[strings.ToLower(aside)]
	}
	if group := d.Restore.Spec.Target.AvailabilityGroup; group != "" {
		db, err := r.open(ctx, d, d.server())
		if err != nil {
			return s, err
		}
		s.Role, err = mssql.ReadLocalRole(ctx, db, string(group))
		return s, err
	}
	return s, nil
}

func (r *Reconciler) names(
	ctx context.Context, d Desired, server v1alpha1.ServerName, names ...string,
) (map[string]*mssql.Standing, error) {
	db, err := r.open(ctx, d, server)
	if err != nil {
		return nil, err
	}
	all, err := mssql.ReadStandings(ctx, db, string(d.Restore.UID), names...)
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(d.Restore.Namespace, server)
	}
	return all, err
}

func (r *Reconciler) open(ctx context.Context, d Desired, server v1alpha1.ServerName) (*mssql.DB, error) {
	return r.connector.Open(ctx, mssql.Target{Namespace: d.Restore.Namespace, Server: server, Database: "master",
		Role: credentials.RoleSA})
}
