// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
)

// distributorLink is the linked server through which a publisher's procedures reach its distributor, as the login
// distributor_admin (docs/relational-databases/replication/security/secure-the-distributor.md).
const (
	distributorLink  = "repl_distributor"
	distributorLogin = "distributor_admin"
)

// atDistributor runs T-SQL at the distributor and returns its first result set; 20036 when there is no distributor.
func (e *Extension) atDistributor(
	ctx context.Context,
	s *engine.Session,
	format string,
	args ...any,
) (*engine.Result, error) {
	text := stored.Literal("SET NOCOUNT ON; " + fill(format, args...))
	r, err := s.Query(ctx, "EXEC ("+text+") AT "+bracket(distributorLink))
	var failure *sqlerr.Error
	if errors.As(err, &failure) && failure.Number == 7202 {
		return nil, raise(20036, 1)
	}
	return r, err
}

// distributor is what a publisher knows about its distributor.
type distributor struct {
	name, database, directory string
}

// distributorOf asks the distributor about this publisher: 20036 when none is set up, 21007 when it does not know this
// server.
func (e *Extension) distributorOf(ctx context.Context, s *engine.Session) (distributor, error) {
	r, err := e.atDistributor(
		ctx,
		s,
		`SELECT CAST(@@SERVERNAME AS sysname) AS name, distribution_db, working_directory FROM msdb.dbo.MSdistpublishers WHERE name = ?`,
		e.serverName(),
	)
	if err != nil {
		var failure *sqlerr.Error
		if errors.As(err, &failure) && failure.Number == 208 {
			return distributor{}, raise(20036, 1)
		}
		return distributor{}, err
	}
	if r.Len() == 0 {
		return distributor{}, raise(21007, 1)
	}
	return distributor{
		name:      r.String(0, "name"),
		database:  r.String(0, "distribution_db"),
		directory: r.String(0, "working_directory"),
	}, nil
}
