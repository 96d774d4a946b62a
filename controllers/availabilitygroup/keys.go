// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// copyKey reads a certificate with its private key and makes it at the other server. The password between is made for
// this one time: what a server keeps of the statements is worth nothing.
func (r *Reconciler) copyKey(ctx context.Context, d Desired, s CopyKey) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	password, err := credentials.NewPassword()
	if err != nil {
		return err
	}
	from := mssql.Target{Namespace: d.Group.Namespace, Server: s.From, Role: credentials.RoleSA, Database: "master"}
	db, err := r.connector.Open(ctx, from)
	if err != nil {
		return err
	}
	key, err := mssql.ReadKey(ctx, db, s.Thumbprint, password)
	if err != nil {
		return r.distrust(d.Group.Namespace, s.From, err)
	}
	form, err := key.Form(s.Name, password)
	if err != nil {
		return fmt.Errorf("make certificate %s on %s: %w", s.Name, host(s.To), err)
	}
	return r.execute(ctx, d, mssql.Execute{Server: s.To, Role: credentials.RoleSA, Database: "master",
		Statement: tsql.CreateKey(form)})
}
