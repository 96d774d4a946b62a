// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// engineTimeout bounds all questions to one engine: the slowest link is a fraction of a second away.
const engineTimeout = 12 * time.Second

// observeEngine asks the engine about itself, under the operator's login or, when the engine does not know it (yet), as
// sa. Nothing is asked while the pod has no address.
func (r *Reconciler) observeEngine(
	ctx context.Context,
	d Desired,
	pod *corev1.Pod,
	passwords credentials.Passwords,
) Engine {
	if pod == nil || pod.Status.PodIP == "" || pod.DeletionTimestamp != nil || !engineRuns(pod) {
		return Engine{}
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	e := Engine{Asked: true, Refused: map[credentials.Role]error{}}
	var asked mssql.Querier
	administrators := []credentials.Role{credentials.RoleSA}
	for _, former := range credentials.FormerAdministrators() {
		if passwords.Of(former) != "" {
			administrators = append(administrators, former)
		}
	}
	for _, role := range append([]credentials.Role{credentials.RoleOperator}, administrators...) {
		var db *mssql.DB
		db, e.Err = r.connector.Open(ctx, target(d, role))
		if e.Err != nil {
			return e
		}
		e.Instance, e.Err = mssql.ReadInstance(ctx, db)
		if !mssql.Is(e.Err, mssql.LoginFailed) {
			asked = db
			break
		}
		e.Refused[role] = e.Err
	}
	if e.Err != nil {
		return e
	}
	e.Err = readPrincipals(ctx, asked, &e)
	if e.Err != nil {
		return e
	}
	// What can't be read is unknown; the plan takes it for the worse.
	groups, err := mssql.ReadGroupNames(ctx, asked)
	e.Groups, e.GroupsKnown = groups, err == nil
	if len(formerPartners(d, e)) > 0 {
		e.Partners = reconcile.Asked(mssql.ReadPartners(ctx, asked))
	}
	if e.TempDB, e.Err = mssql.ReadTempDBFiles(ctx, asked); e.Err != nil {
		return e
	}
	if len(d.Server.Spec.Databases) > 0 {
		if e.Databases, e.Err = mssql.ReadDatabases(ctx, asked); e.Err != nil {
			return e
		}
	}
	e.Err = r.tryLogins(ctx, d, &e, administrators)
	return e
}

func target(d Desired, role credentials.Role) mssql.Target {
	return mssql.Target{Namespace: d.Server.Namespace, Server: d.name(), Role: role}
}

func readPrincipals(ctx context.Context, q mssql.Querier, e *Engine) error {
	p, err := mssql.ReadPrincipals(ctx, q)
	e.Logins, e.Permissions, e.Denied, e.Sysadmins = p.Logins, p.Permissions, p.Denied, p.Members[roleSysadmin]
	return err
}

// tryLogins logs in with all passwords: whether a password is right shows by nothing else. The connections stay in
// their pools, so that this costs a login once and a packet afterwards.
func (r *Reconciler) tryLogins(ctx context.Context, d Desired, e *Engine, administrators []credentials.Role) error {
	for _, role := range append(credentials.Roles(), administrators...) {
		if _, exists := e.Logins[role.Login()]; !exists || e.Refused[role] != nil {
			continue
		}
		db, err := r.connector.Open(ctx, target(d, role))
		if err != nil {
			return err
		}
		err = db.Ping(ctx)
		if mssql.Is(err, mssql.LoginFailed) {
			e.Refused[role] = err
		} else if err != nil {
			return err
		}
	}
	return nil
}

// engineRuns tells whether the engine's container runs.
func engineRuns(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ContainerEngine {
			return c.State.Running != nil
		}
	}
	return false
}
