// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// installHelp registers the procedures with which people look at objects
// (docs/relational-databases/system-stored-procedures/sp-help-transact-sql.md and its kin). They are T-SQL over the
// catalog views, so that they show what those show.
func installHelp(r *engine.Registry) {
	object := func(name string, required bool) engine.Parameter {
		return engine.Parameter{Name: name, Type: sqltype.NVarCharOf(776), Required: required}
	}
	r.Procedure(engine.Procedure{Name: "sp_help", Parameters: []engine.Parameter{object("@objname", false)}, Run: help})
	r.Procedure(
		engine.Procedure{Name: "sp_helpindex", Parameters: []engine.Parameter{object("@objname", true)}, Run: helpIndex},
	)
	r.Procedure(
		engine.Procedure{
			Name: "sp_helpconstraint",
			Parameters: []engine.Parameter{
				object("@objname", true),
				{Name: "@nomsg", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 5}, Default: "msg"},
			},
			Run: helpConstraint,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name: "sp_helptrigger",
			Parameters: []engine.Parameter{
				object("@tabname", true),
				{Name: "@triggertype", Type: sqltype.Type{Kind: sqltype.Char, Length: 6}},
			},
			Run: helpTrigger,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_helpdb",
			Parameters: []engine.Parameter{{Name: "@dbname", Type: sqltype.Sysname}},
			Run:        helpDatabase,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_databases",
			Parameters: []engine.Parameter{},
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				return c.Exec(
					ctx,
					`SELECT d.name AS DATABASE_NAME, CAST((SELECT SUM(CAST(f.size AS bigint)) * 8 FROM sys.master_files AS f WHERE f.database_id = d.database_id) AS int) AS DATABASE_SIZE,
			CAST(NULL AS varchar(254)) AS REMARKS FROM sys.databases AS d ORDER BY d.name`,
				)
			},
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_helpfile",
			Parameters: []engine.Parameter{{Name: "@filename", Type: sqltype.Sysname}},
			Run:        helpFile,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name: "sp_spaceused",
			Parameters: []engine.Parameter{
				object("@objname", false),
				{Name: "@updateusage", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 5}, Default: "false"},
				{
					Name:    "@mode",
					Type:    sqltype.Type{Kind: sqltype.VarChar, Length: 11},
					Default: "ALL",
				},
				{Name: "@oneresultset", Type: sqltype.BitType, Default: false},
				{Name: "@include_total_xtp_storage", Type: sqltype.BitType, Default: false},
			},
			Run: spaceUsed,
		},
	)
	r.Procedure(
		engine.Procedure{
			Name:       "sp_recompile",
			Parameters: []engine.Parameter{object("@objname", true)},
			Run: func(ctx context.Context, c *engine.ProcCall) error {
				if _, err := c.ObjectID(ctx, "@objname"); err != nil {
					return err
				}
				return c.Exec(
					ctx,
					"PRINT N'Object ''' + @p1 + N''' was successfully marked for recompilation.'",
					c.String("@objname"),
				)
			},
		},
	)
}

// nameParts are the name, the schema and the database of a name; empty where it has none.
func nameParts(text string) [3]string {
	var out [3]string
	parts := syntax.SplitName(text)
	for i := 0; i < len(parts) && i < len(out); i++ {
		out[i] = strings.TrimSpace(parts[len(parts)-1-i])
	}
	return out
}

const typeText = `SELECT name AS Type_name, TYPE_NAME(system_type_id) AS Storage_type, CAST(max_length AS int) AS Length, CAST(precision AS int) AS Prec, CAST(scale AS int) AS Scale,
	CAST(IIF(is_nullable = 1, 'yes', 'no') AS varchar(35)) AS Nullable, CAST('none' AS sysname) AS Default_name, CAST('none' AS sysname) AS Rule_name, collation_name AS Collation FROM sys.types WHERE user_type_id = @p1`

func help(ctx context.Context, c *engine.ProcCall) error {
	if c.IsNull("@objname") {
		return c.Exec(
			ctx,
			`SELECT o.name AS Name, SCHEMA_NAME(o.schema_id) AS Owner, CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS Object_type FROM sys.objects o
			WHERE o.parent_object_id = 0 ORDER BY Owner, Object_type DESC, Name;
			SELECT name AS User_type, TYPE_NAME(system_type_id) AS Storage_type, CAST(max_length AS int) AS Length, CAST(precision AS int) AS Prec, CAST(scale AS int) AS Scale,
				CAST(IIF(is_nullable = 1, 'yes', 'no') AS varchar(35)) AS Nullable, CAST('none' AS sysname) AS Default_name, CAST('none' AS sysname) AS Rule_name, collation_name AS Collation
			FROM sys.types WHERE is_user_defined = 1 ORDER BY name`,
		)
	}
	if name := nameParts(c.String("@objname")); name[2] == "" {
		if t, err := c.Session.Query(ctx,
			"SELECT user_type_id AS id FROM sys.types WHERE name = @p1 AND (@p2 = N'' OR SCHEMA_NAME(schema_id) = @p2) AND "+
				"OBJECT_ID(@p3) IS NULL", name[0], name[1], c.String("@objname")); err == nil &&
			t.Len() > 0 {
			return c.Exec(ctx, typeText, t.Int(0, "id"))
		}
	}
	id, err := c.ObjectID(ctx, "@objname")
	if err != nil {
		return err
	}
	const head = `SELECT name AS Name, SCHEMA_NAME(schema_id) AS Owner, CAST(LOWER(REPLACE(type_desc, '_', ' ')) AS nvarchar(31)) AS Type, create_date AS Created_datetime FROM sys.objects WHERE object_id = @p1;`
	const columns = `SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type, CAST(IIF(c.is_computed = 1, 'yes', 'no') AS varchar(35)) AS Computed, CAST(c.max_length AS int) AS Length,
			CAST(IIF(c.precision = 0, '     ', STR(c.precision, 5)) AS char(5)) AS Prec, CAST(IIF(c.precision = 0, '     ', STR(c.scale, 5)) AS char(5)) AS Scale,
			CAST(IIF(c.is_nullable = 1, 'yes', 'no') AS varchar(35)) AS Nullable, CAST(IIF(c.collation_name IS NULL AND c.max_length <> 0, '(n/a)', 'no') AS varchar(35)) AS TrimTrailingBlanks,
			CAST(IIF(c.collation_name IS NULL, '(n/a)', IIF(c.is_nullable = 1, 'yes', 'no')) AS varchar(35)) AS FixedLenNullInSource, c.collation_name AS Collation
		FROM sys.columns c WHERE c.object_id = @p1 ORDER BY c.column_id;`
	const identity = `IF EXISTS (SELECT 1 FROM sys.identity_columns WHERE object_id = @p1)
			SELECT name AS [Identity], seed_value AS Seed, increment_value AS Increment, CAST(is_not_for_replication AS int) AS [Not For Replication] FROM sys.identity_columns WHERE object_id = @p1
		ELSE SELECT CAST('No identity column defined.' AS nvarchar(128)) AS [Identity], CAST(NULL AS sql_variant) AS Seed, CAST(NULL AS sql_variant) AS Increment, CAST(NULL AS int) AS [Not For Replication];
		IF EXISTS (SELECT 1 FROM sys.columns WHERE object_id = @p1 AND is_rowguidcol = 1) SELECT name AS [RowGuidCol] FROM sys.columns WHERE object_id = @p1 AND is_rowguidcol = 1
		ELSE SELECT CAST('No rowguidcol column defined.' AS nvarchar(128)) AS [RowGuidCol];`
	if err := c.Exec(ctx, head, int64(id)); err != nil {
		return err
	}
	o, err := c.Session.Object(ctx, c.Database, id)
	if err != nil || o == nil {
		return err
	}
	switch o.Kind {
	case "U", "V":
		if err := c.Exec(ctx, columns+identity, int64(id)); err != nil || o.Kind == "V" {
			return err
		}
		if err := c.Exec(ctx,
			"SELECT CAST((SELECT d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE "+
				"i.object_id = @p1 AND i.index_id < 2) AS sysname) AS Data_located_on_filegroup", int64(id)); err != nil {
			return err
		}
		if err := c.Exec(ctx, indexText, int64(id)); err != nil {
			return err
		}
		return c.Exec(ctx, constraintText, int64(id))
	case "P", "FN", "IF", "TF":
		return c.Exec(
			ctx,
			`SELECT name AS Parameter_name, TYPE_NAME(user_type_id) AS Type, max_length AS Length, CAST(precision AS int) AS Prec, CAST(scale AS int) AS Scale, parameter_id AS Param_order,
			CAST(NULL AS sysname) AS Collation FROM sys.parameters WHERE object_id = @p1 ORDER BY parameter_id`,
			int64(id),
		)
	}
	return nil
}

// indexText lists the indexes of table @p1.
const indexText = `SELECT i.name AS index_name, CAST(CONCAT(LOWER(i.type_desc), IIF(i.is_unique = 1, ', unique', ''), IIF(i.is_primary_key = 1, ', primary key', ''), IIF(i.is_unique_constraint = 1, ', unique key', ''),
		' located on ', (SELECT d.name FROM sys.data_spaces d WHERE d.data_space_id = i.data_space_id)) AS varchar(210)) AS index_description,
	CAST((SELECT STRING_AGG(c.name + IIF(ic.is_descending_key = 1, '(-)', ''), ', ') WITHIN GROUP (ORDER BY ic.key_ordinal) FROM sys.index_columns ic
		JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0) AS nvarchar(2078)) AS index_keys
	FROM sys.indexes i WHERE i.object_id = @p1 AND i.index_id > 0 ORDER BY i.name;`

// constraintText lists the constraints of table @p1.
const constraintText = `SELECT CAST(x.kind AS nvarchar(146)) AS constraint_type, x.name AS constraint_name, CAST(x.on_delete AS varchar(9)) AS delete_action, CAST(x.on_update AS varchar(9)) AS update_action,
		CAST(x.enabled AS varchar(8)) AS status_enabled, CAST(x.replicated AS varchar(19)) AS status_for_replication, CAST(x.keys AS nvarchar(2126)) AS constraint_keys
	FROM (
		SELECT IIF(k.type = 'PK', 'PRIMARY KEY', 'UNIQUE') + IIF(i.type = 1, ' (clustered)', ' (non-clustered)') AS kind, k.name, '(n/a)' AS on_delete, '(n/a)' AS on_update, '(n/a)' AS enabled, '(n/a)' AS replicated,
			(SELECT STRING_AGG(c.name, ', ') WITHIN GROUP (ORDER BY ic.key_ordinal) FROM sys.index_columns ic JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
				WHERE ic.object_id = i.object_id AND ic.index_id = i.index_id) AS keys
		FROM sys.key_constraints k JOIN sys.indexes i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id WHERE k.parent_object_id = @p1
		UNION ALL SELECT 'CHECK ' + IIF(parent_column_id = 0, 'Table Level ', 'on column ' + COL_NAME(parent_object_id, parent_column_id)), name, '(n/a)', '(n/a)', IIF(is_disabled = 1, 'Disabled', 'Enabled'),
			IIF(is_not_for_replication = 1, 'Not_For_Replication', 'Is_For_Replication'), definition FROM sys.check_constraints WHERE parent_object_id = @p1
		UNION ALL SELECT 'DEFAULT on column ' + COL_NAME(parent_object_id, parent_column_id), name, '(n/a)', '(n/a)', '(n/a)', '(n/a)', definition FROM sys.default_constraints WHERE parent_object_id = @p1
		UNION ALL SELECT 'FOREIGN KEY', f.name, REPLACE(f.delete_referential_action_desc, 'NO_ACTION', 'No Action'), REPLACE(f.update_referential_action_desc, 'NO_ACTION', 'No Action'), IIF(f.is_disabled = 1, 'Disabled', 'Enabled'),
			IIF(f.is_not_for_replication = 1, 'Not_For_Replication', 'Is_For_Replication'),
			(SELECT STRING_AGG(COL_NAME(k.parent_object_id, k.parent_column_id), ', ') WITHIN GROUP (ORDER BY k.constraint_column_id) FROM sys.foreign_key_columns k WHERE k.constraint_object_id = f.object_id)
		FROM sys.foreign_keys f WHERE f.parent_object_id = @p1) x ORDER BY constraint_type, constraint_name;`

func helpIndex(ctx context.Context, c *engine.ProcCall) error {
	id, err := c.ObjectID(ctx, "@objname")
	if err != nil {
		return err
	}
	return c.Exec(ctx, indexText, int64(id))
}

func helpConstraint(ctx context.Context, c *engine.ProcCall) error {
	id, err := c.ObjectID(ctx, "@objname")
	if err != nil {
		return err
	}
	if err := c.Exec(ctx, "SELECT @p1 AS [Object Name]", c.String("@objname")); err != nil {
		return err
	}
	return c.Exec(ctx, constraintText, int64(id))
}

func helpTrigger(ctx context.Context, c *engine.ProcCall) error {
	id, err := c.ObjectID(ctx, "@tabname")
	if err != nil {
		return err
	}
	return c.Exec(ctx, `SELECT t.name AS trigger_name, CAST('dbo' AS sysname) AS trigger_owner,
			CAST(IIF(EXISTS (SELECT 1 FROM sys.trigger_events e WHERE e.object_id = t.object_id AND e.type = 2), 1, 0) AS int) AS isupdate,
			CAST(IIF(EXISTS (SELECT 1 FROM sys.trigger_events e WHERE e.object_id = t.object_id AND e.type = 3), 1, 0) AS int) AS isdelete,
			CAST(IIF(EXISTS (SELECT 1 FROM sys.trigger_events e WHERE e.object_id = t.object_id AND e.type = 1), 1, 0) AS int) AS isinsert,
			CAST(1 - t.is_instead_of_trigger AS int) AS isafter, CAST(t.is_instead_of_trigger AS int) AS isinsteadof, SCHEMA_NAME(o.schema_id) AS trigger_schema
		FROM sys.triggers t JOIN sys.objects o ON o.object_id = t.object_id WHERE t.parent_id = @p1 AND (@p2 IS NULL OR EXISTS (SELECT 1 FROM sys.trigger_events e WHERE e.object_id = t.object_id AND e.type_desc = @p2))
		ORDER BY t.name`, int64(id), c.Value("@triggertype"))
}

func helpDatabase(ctx context.Context, c *engine.ProcCall) error {
	if !c.IsNull("@dbname") && c.Session.Instance().Database(c.String("@dbname")) == nil {
		return sqlerr.New(15010, 1, c.String("@dbname"))
	}
	err := c.Exec(
		ctx,
		`SELECT d.name, CAST((SELECT STR(SUM(CAST(f.size AS bigint)) / 128.0, 10, 2) FROM sys.master_files f WHERE f.database_id = d.database_id) + N' MB' AS nvarchar(13)) AS db_size, SUSER_SNAME(d.owner_sid) AS owner, CAST(d.database_id AS smallint) AS dbid,
		CONVERT(nvarchar(11), d.create_date) AS created, CAST(CONCAT('Status=', d.state_desc, ', Updateability=', IIF(d.is_read_only = 1, 'READ_ONLY', 'READ_WRITE'),
		', UserAccess=', d.user_access_desc, ', Recovery=', d.recovery_model_desc) AS nvarchar(600)) AS status, d.compatibility_level
		FROM sys.databases d WHERE d.name = @p1 OR @p1 IS NULL ORDER BY d.name`,
		c.Value("@dbname"),
	)
	if err != nil || c.IsNull("@dbname") {
		return err
	}
	return c.ExecIn(
		ctx,
		c.Session.Instance().Database(c.String("@dbname")),
		fileText("CAST(name AS nchar(128)) AS name", "nvarchar(128)", "nvarchar(18)")+"1 = 1 ORDER BY file_id",
	)
}

func helpFile(ctx context.Context, c *engine.ProcCall) error {
	return c.Exec(
		ctx,
		fileText("name", "sysname", "nvarchar(15)")+"@p1 IS NULL OR name = @p1 ORDER BY file_id",
		c.Value("@filename"),
	)
}

// fileText lists files as sp_helpfile, sp_helpdb and sp_helpfilegroup show them, each with types of its own; WHERE
// stands at its end.
func fileText(name, group, number string) string {
	return `SELECT ` + name + `, CAST(file_id AS smallint) AS fileid, CAST(physical_name AS nchar(260)) AS filename, ` +
		map[bool]string{true: `CAST(FILEGROUP_NAME(data_space_id) AS ` + group + `) AS filegroup, `}[group != ""] +
		`CAST(CONCAT(CAST(size AS bigint) * 8, ' KB') AS ` + number + `) AS size, CAST(IIF(max_size = -1, 'Unlimited', CONCAT(CAST(max_size AS bigint) * 8, ' KB')) AS ` + number + `) AS maxsize,
			CAST(IIF(is_percent_growth = 1, CONCAT(growth, '%'), CONCAT(CAST(growth AS bigint) * 8, ' KB')) AS ` + number + `) AS growth` +
		map[bool]string{true: `, CAST(IIF(type = 0, 'data only', 'log only') AS varchar(9)) AS usage`}[group != ""] +
		` FROM sys.database_files WHERE `
}

func spaceUsed(ctx context.Context, c *engine.ProcCall) error {
	if !c.IsNull("@objname") {
		id, err := c.ObjectID(ctx, "@objname")
		if err != nil {
			return err
		}
		return c.Exec(
			ctx,
			`SELECT OBJECT_NAME(@p1) AS name, CAST(STR(SUM(IIF(index_id < 2, row_count, 0)), 20) AS char(20)) AS rows, CAST(CONCAT(SUM(reserved_page_count) * 8, ' KB') AS varchar(18)) AS reserved,
				CAST(CONCAT(SUM(IIF(index_id < 2, used_page_count, 0)) * 8, ' KB') AS varchar(18)) AS data, CAST(CONCAT(SUM(IIF(index_id < 2, 0, used_page_count)) * 8, ' KB') AS varchar(18)) AS index_size,
				CAST(CONCAT(SUM(reserved_page_count - used_page_count) * 8, ' KB') AS varchar(18)) AS unused FROM sys.dm_db_partition_stats WHERE object_id = @p1`,
			int64(id),
		)
	}
	between := "; SELECT "
	if c.Bool("@oneresultset") {
		between = ", "
	}
	rest := ""
	if c.Bool("@oneresultset") && c.Bool("@include_total_xtp_storage") {
		rest = ", CAST(NULL AS varchar(18)) AS xtp_precreated, CAST(NULL AS varchar(18)) AS xtp_used, CAST(NULL AS " +
			"varchar(18)) AS xtp_pending_truncation"
	}
	return c.Exec(ctx, spaceText+between+spaceInUse+rest)
}

// spaceText is the size of a database for sp_spaceused, spaceInUse what its objects have of it: the second result set,
// or more columns of the only one with @oneresultset = 1
// (docs/relational-databases/system-stored-procedures/sp-spaceused-transact-sql.md).
const spaceText = `DECLARE @pages bigint, @used bigint, @data bigint; SELECT @pages = SUM(CAST(size AS bigint)) FROM sys.database_files;
	SELECT @used = ISNULL(SUM(used_page_count), 0), @data = ISNULL(SUM(IIF(index_id < 2, used_page_count, 0)), 0) FROM sys.dm_db_partition_stats;
	SELECT DB_NAME() AS database_name, CAST(CONCAT(CAST(@pages / 128.0 AS decimal(15, 2)), ' MB') AS varchar(18)) AS database_size,
		CAST(CONCAT(CAST((SELECT SUM(CAST(size AS bigint)) - @used FROM sys.database_files WHERE type = 0) / 128.0 AS decimal(15, 2)), ' MB') AS varchar(18)) AS [unallocated space]`

const spaceInUse = `CAST(CONCAT(@used * 8, ' KB') AS varchar(18)) AS reserved, CAST(CONCAT(@data * 8, ' KB') AS varchar(18)) AS data,
		CAST(CONCAT((@used - @data) * 8, ' KB') AS varchar(18)) AS index_size, CAST('0 KB' AS varchar(18)) AS unused`
