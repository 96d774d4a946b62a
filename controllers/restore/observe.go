// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"errors"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// serverTimeout bounds the questions to the server.
const serverTimeout = 12 * time.Second

func (r *Reconciler) observe(ctx context.Context, d Desired) (o Observed, err error) {
	if d.over() && (d.Restore.DeletionTimestamp == nil || !discards(d)) {
		return o, nil
	}
	if d.server() == "" {
		// Which server it is, is written down before any is told.
		return Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil),
			Owner: reconcile.Read("")}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	namespace, server := d.Restore.Namespace, d.server()
	data, err := r.sidecars.Orders(ctx, namespace, server)
	o.Order = reconcile.Asked(data[orders.RestoreKey(d.Restore.Name)], err)
	var all []restores.Status
	err = r.sidecars.Part(ctx, namespace, server, restores.PartName, &all)
	o.Says, o.Untold = heard(string(d.Restore.UID), all, err)
	o.UntoldSince = r.untold.look(d.Restore.UID, !o.Untold || !marks(d, o), r.now())
	if d.replaces() {
		r.stands(ctx, d, &o)
	}
	keys(ctx, d, &o)
	if d.Restore.Spec.AsksEngine() {
		r.engine(ctx, d, &o)
	}
	return o, nil
}

// heard is what the sidecar says of a Restore. One that has not read its orders yet is as good as silent: what it began
// in another life goes on once it has. Nothing at all is said by one of an earlier release, which does not tell.
func heard(uid string, all []restores.Status, err error) (says reconcile.Reading[*restores.Status], untold bool) {
	var of *restores.Status
	unread := false
	for i := range all {
		if all[i].UID == uid {
			of = &all[i]
		}
		unread = unread || all[i].Step == restores.Unread
	}
	if err == nil && of == nil && unread {
		err = errUnread
	}
	return reconcile.Asked(of, err), err == nil && all == nil
}

var errUnread = errors.New("its sidecar has not read its orders yet")

// engine reads what the agent may do, and whose the database is that was restored.
func (r *Reconciler) engine(ctx context.Context, d Desired, o *Observed) {
	db, err := r.open(ctx, d, d.server())
	if err != nil {
		o.Rights, o.Owner = reconcile.NotRead[[]string](err), reconcile.NotRead[string](err)
		o.Places = reconcile.NotRead[*mssql.DatabasePlaces](err)
		return
	}
	principals, err := mssql.ReadPrincipals(ctx, db)
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(d.Restore.Namespace, d.server())
	}
	o.Rights = reconcile.Asked(principals.Permissions[credentials.RoleAgent.Login()], err)
	all, err := mssql.ReadDatabases(ctx, db)
	owner := ""
	for name, database := range all {
		if strings.EqualFold(name, made(d, *o)) {
			owner, o.State, o.Secondary = database.Owner, database.State, database.InGroup
		}
	}
	o.Owner = reconcile.Asked(owner, err)
	if group := d.Restore.Spec.Target.AvailabilityGroup; o.Secondary && group != "" {
		role, err := mssql.ReadLocalRole(ctx, db, string(group))
		o.Secondary = err != nil || role != "PRIMARY"
	}
	if hands(d) || discards(d) {
		o.Places = reconcile.Asked(mssql.ReadDatabasePlaces(ctx, db, made(d, *o)))
	}
	says, _ := o.Says.Get()
	if err == nil && (says != nil && says.Denied || entered(d, *o)) {
		o.User = r.user(ctx, d, made(d, *o))
	}
}

// user reads the agent's user in the database that was restored.
func (r *Reconciler) user(ctx context.Context, d Desired, database string) reconcile.Reading[*mssql.UserState] {
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Restore.Namespace, Server: d.server(),
		Database: database, Role: credentials.RoleSA})
	if err != nil {
		return reconcile.NotRead[*mssql.UserState](err)
	}
	return reconcile.Asked(mssql.ReadUser(ctx, db, credentials.RoleAgent.Login()))
}
