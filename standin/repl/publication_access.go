// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

func (e *Extension) grantPublicationAccess(ctx context.Context, call *engine.ProcCall) error {
	known, err := call.Session.Query(
		ctx,
		"SELECT name FROM sys.server_principals WHERE name = @p1 AND type IN ('S', 'U', 'G', 'C', 'K')",
		call.String("@login"),
	)
	if err != nil {
		return err
	}
	if known.Len() == 0 {
		return raise(15007, 1, call.String("@login"))
	}
	return e.publicationAccess(
		ctx,
		call,
		`IF NOT EXISTS (SELECT 1 FROM dbo.MSpublication_access WHERE publication_id = @pub AND login = ?)
		INSERT INTO dbo.MSpublication_access VALUES (@pub, ?)`,
		call.String("@login"),
		call.String("@login"),
	)
}

// beginAccess fills a new publication's access list with the members of sysadmin and with who made it, as far as the
// distributor has logins of these names (docs/relational-databases/replication/security/secure-the-publisher.md,
// Publication Access List).
func (e *Extension) beginAccess(ctx context.Context, call *engine.ProcCall, p publisher, publication string) error {
	r, err := call.Session.Query(
		ctx,
		"SELECT name FROM sys.server_principals WHERE type IN ('S', 'U', 'G', 'C', 'K') AND "+
			"(IS_SRVROLEMEMBER(N'sysadmin', name) = 1 OR name = @p1)",
		call.Session.OriginalLogin().Name,
	)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		name := r.String(i, "name")
		if _, err := e.inDistributionOf(ctx, call.Session, p, thePublication+`INSERT INTO dbo.MSpublication_access SELECT @pub, l.name FROM sys.server_principals AS l
			WHERE l.name = ? AND l.type IN ('S', 'U', 'G', 'C', 'K') AND NOT EXISTS (SELECT 1 FROM dbo.MSpublication_access AS a WHERE a.publication_id = @pub AND a.login = l.name)`,
			p.server, p.db.Name(), publication, name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) revokePublicationAccess(ctx context.Context, call *engine.ProcCall) error {
	return e.publicationAccess(
		ctx,
		call,
		"DELETE FROM dbo.MSpublication_access WHERE publication_id = @pub AND login = ?",
		call.String("@login"),
	)
}

func (e *Extension) publicationAccess(ctx context.Context, call *engine.ProcCall, format string, args ...any) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		thePublication+format,
		append([]any{p.server, p.db.Name(), pub.name}, args...)...)
	return err
}

func (e *Extension) helpPublicationAccess(ctx context.Context, call *engine.ProcCall) error {
	p, _, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`SELECT CAST(a.login AS nvarchar(256)) AS Loginname, 0 AS Isntname, 0 AS Isntgroup FROM dbo.MSpublication_access AS a JOIN dbo.MSpublications AS p ON p.publication_id = a.publication_id
		JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id WHERE v.srvname = ? AND p.publisher_db = ? AND p.publication = ? AND ? IN (N'', N'%', a.login)`,
		p.server,
		p.db.Name(),
		call.String("@publication"),
		call.String("@login"),
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}
