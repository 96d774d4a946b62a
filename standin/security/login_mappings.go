// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// installLoginMappings registers the procedures that tell which users logins have in all databases
// (docs/relational-databases/system-stored-procedures/sp-helplogins-transact-sql.md). sp_MSloginmappings has no page:
// HashiCorp Vault takes a login's users away by it before it drops the login, and scripts collect its four columns.
// Without a login it has a result set for each.
func installLoginMappings(r *engine.Registry) {
	r.Procedure(
		engine.Procedure{
			Name:       "sp_helplogins",
			Parameters: engine.ParameterList("@LoginNamePattern sysname"),
			Run:        helpLogins,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_MSloginmappings",
			Parameters: engine.ParameterList("@loginname nvarchar(258), @flags int = 0"),
			Run:        loginMappings,
		},
	)
}

// shut tells of a database that has been dropped, closed or taken away by now: there is none of the name, it is
// recovered, restored, offline, in transition, or no readable replica.
func shut(err error) bool {
	var e *sqlerr.Error
	return errors.As(err, &e) && slices.Contains([]int32{911, 922, 927, 942, 952, 976, 983}, e.Number)
}

const listDatabases = "SELECT name, QUOTENAME(name) AS quoted FROM sys.databases WHERE state = 0 AND " +
	"HAS_DBACCESS(name) = 1"

// usersOfLogins is a query of the users of all databases that can be looked into, with the roles that they are members
// of: its columns are sid, db, name and role. One that is dropped or closed meanwhile has none.
func usersOfLogins(ctx context.Context, c *engine.ProcCall) (string, error) {
	list, err := c.Session.Query(ctx, listDatabases)
	for n := 0; n < 10 && shut(err); n++ {
		// HAS_DBACCESS looks into each, too.
		list, err = c.Session.Query(ctx, listDatabases)
	}
	if err != nil {
		return "", err
	}
	literal := func(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }
	rows := []string{"(NULL, NULL, NULL, NULL)"}
	for i := range list.Len() {
		users, err := c.Session.Query(
			ctx,
			strings.ReplaceAll(
				`SELECT CONVERT(varchar(172), u.sid, 1) AS sid, u.name, ISNULL(g.name, N'') AS role FROM {db}.sys.database_principals u
			LEFT JOIN {db}.sys.database_role_members r ON r.member_principal_id = u.principal_id LEFT JOIN {db}.sys.database_principals g ON g.principal_id = r.role_principal_id
			WHERE u.type IN ('S', 'C') AND u.sid IS NOT NULL`,
				"{db}",
				list.String(i, "quoted"),
			),
		)
		if shut(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		for u := range users.Len() {
			rows = append(
				rows,
				fmt.Sprintf(
					"(%s, %s, %s, NULLIF(%s, N''))",
					users.String(u, "sid"),
					literal(list.String(i, "name")),
					literal(users.String(u, "name")),
					literal(users.String(u, "role")),
				),
			)
		}
	}
	return `SELECT CAST(sid AS varbinary(85)) AS sid, CAST(db AS sysname) AS db, CAST(name AS sysname) AS name, CAST(role AS sysname) AS role
		FROM (VALUES ` + strings.Join(
		rows,
		", ",
	) + `) v (sid, db, name, role) WHERE sid IS NOT NULL`, nil
}

// helpLogins is sp_helplogins.
func helpLogins(ctx context.Context, c *engine.ProcCall) error {
	if name := c.String("@LoginNamePattern"); name != "" {
		found, err := c.Session.Query(
			ctx,
			"SELECT name FROM sys.server_principals WHERE type IN ('S', 'C') AND name = @p1",
			name,
		)
		if err != nil {
			return err
		}
		if found.Len() == 0 {
			return failure(15007, 1, name)
		}
	}
	users, err := usersOfLogins(ctx, c)
	if err != nil {
		return err
	}
	return c.Exec(
		ctx,
		`SELECT l.name AS LoginName, l.sid AS SID, l.default_database_name AS DefDBName, l.default_language_name AS DefLangName,
			CAST(IIF(EXISTS (SELECT 1 FROM (`+users+`) u WHERE u.sid = l.sid), 'YES', 'NO') AS char(5)) AS AUser, CAST('NO' AS char(7)) AS ARemote
		FROM sys.server_principals l WHERE l.type IN ('S', 'C') AND (@p1 IS NULL OR l.name = @p1) ORDER BY l.name;
		WITH u AS (`+users+`)
		SELECT l.name AS LoginName, CAST(u.db AS sysname) AS DBName, u.name AS UserName, CAST('User' AS char(8)) AS UserOrAlias FROM sys.server_principals l JOIN u ON u.sid = l.sid
		WHERE l.type IN ('S', 'C') AND (@p1 IS NULL OR l.name = @p1)
		UNION SELECT l.name, CAST(u.db AS sysname), u.role, CAST('MemberOf' AS char(8)) FROM sys.server_principals l JOIN u ON u.sid = l.sid
		WHERE u.role IS NOT NULL AND l.type IN ('S', 'C') AND (@p1 IS NULL OR l.name = @p1) ORDER BY LoginName, DBName, UserOrAlias DESC, UserName`,
		c.Value("@LoginNamePattern"),
	)
}

// loginMappings is sp_MSloginmappings. With @flags 1 it looks into the current database alone.
func loginMappings(ctx context.Context, c *engine.ProcCall) error {
	users, err := usersOfLogins(ctx, c)
	if err != nil {
		return err
	}
	logins, err := c.Session.Query(
		ctx,
		"SELECT name FROM sys.server_principals WHERE type IN ('S', 'C') AND (@p1 IS NULL OR name = @p1) ORDER BY name",
		c.Value("@loginname"),
	)
	if err != nil {
		return err
	}
	for i := range logins.Len() {
		err := c.Exec(
			ctx,
			`SELECT DISTINCT CAST(l.name AS nvarchar(128)) AS LoginName, CAST(u.db AS nvarchar(128)) AS DBName, CAST(u.name AS nvarchar(128)) AS UserName, CAST(NULL AS nvarchar(128)) AS AliasName
			FROM sys.server_principals l LEFT JOIN (`+users+`) u ON u.sid = l.sid AND (@p2 = 0 OR u.db = DB_NAME()) WHERE l.name = @p1 ORDER BY DBName`,
			logins.String(i, "name"),
			c.Value("@flags"),
		)
		if err != nil {
			return err
		}
	}
	return nil
}
