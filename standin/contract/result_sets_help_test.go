// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// helpSets are the result sets of procedures that the catalogue does not have, each as the page of the procedure
// documents it (docs/relational-databases/system-stored-procedures): the call, and for each result set its columns.
var helpSets = []struct {
	call string
	sets []string
}{
	{
		"sp_who",
		[]string{
			"spid smallint, ecid smallint, status nchar(30), loginame nchar(128), hostname nchar(128), blk char(5), dbname " +
				"nchar(128), cmd nchar(26), request_id int",
		},
	}, // sys.sysprocesses.cmd, of which the page has the former width
	{"sp_databases", []string{"DATABASE_NAME sysname, DATABASE_SIZE int, REMARKS varchar(254)"}},
	{
		"sp_tables",
		[]string{
			"TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, TABLE_TYPE varchar(32), REMARKS varchar(254)",
		},
	},
	{
		"sp_columns 'child'",
		[]string{
			"TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, COLUMN_NAME sysname, DATA_TYPE smallint, " +
				"TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE smallint, RADIX smallint, " +
				"NULLABLE smallint, REMARKS varchar(254), COLUMN_DEF nvarchar(4000), SQL_DATA_TYPE smallint, SQL_DATETIME_SUB " +
				"smallint, CHAR_OCTET_LENGTH int, ORDINAL_POSITION int, IS_NULLABLE varchar(254), SS_DATA_TYPE tinyint",
		},
	},
	{
		"sp_pkeys 'child'",
		[]string{
			"TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, COLUMN_NAME sysname, KEY_SEQ smallint, " +
				"PK_NAME sysname",
		},
	},
	{
		"sp_fkeys 'parent'",
		[]string{
			"PKTABLE_QUALIFIER sysname, PKTABLE_OWNER sysname, PKTABLE_NAME sysname, PKCOLUMN_NAME sysname, " +
				"FKTABLE_QUALIFIER sysname, FKTABLE_OWNER sysname, FKTABLE_NAME sysname, FKCOLUMN_NAME sysname, " +
				"KEY_SEQ smallint, UPDATE_RULE smallint, DELETE_RULE smallint, FK_NAME sysname, PK_NAME sysname, " +
				"DEFERRABILITY smallint",
		},
	}, // the last one is ODBC's, which the page leaves out
	{
		"sp_statistics 'child'",
		[]string{
			"TABLE_QUALIFIER sysname, TABLE_OWNER sysname, TABLE_NAME sysname, NON_UNIQUE smallint, INDEX_QUALIFIER sysname, " +
				"INDEX_NAME sysname, TYPE smallint, SEQ_IN_INDEX smallint, COLUMN_NAME sysname, " +
				"COLLATION char(1), CARDINALITY int, PAGES int, FILTER_CONDITION varchar(128)",
		},
	},
	{
		"sp_special_columns 'child'",
		[]string{
			"SCOPE smallint, COLUMN_NAME sysname, DATA_TYPE smallint, TYPE_NAME sysname, PRECISION int, LENGTH int, SCALE " +
				"smallint, PSEUDO_COLUMN smallint",
		},
	},
	{
		"sp_stored_procedures",
		[]string{
			"PROCEDURE_QUALIFIER sysname, PROCEDURE_OWNER sysname, PROCEDURE_NAME nvarchar(134), NUM_INPUT_PARAMS int, " +
				"NUM_OUTPUT_PARAMS int, NUM_RESULT_SETS int, REMARKS varchar(254), PROCEDURE_TYPE smallint",
		},
	},
	{
		"sp_helpdb 'master'",
		[]string{
			"name sysname, db_size nvarchar(13), owner sysname, dbid smallint, created nvarchar(11), status nvarchar(600), " +
				"compatibility_level tinyint",
			"name nchar(128), fileid smallint, filename nchar(260), filegroup nvarchar(128), size nvarchar(18), maxsize " +
				"nvarchar(18), growth nvarchar(18), usage varchar(9)",
		},
	},
	{
		"sp_helpfile",
		[]string{
			"name sysname, fileid smallint, filename nchar(260), filegroup sysname, size nvarchar(15), maxsize nvarchar(15), " +
				"growth nvarchar(15), usage varchar(9)",
		},
	},
	{
		"sp_helpfilegroup 'PRIMARY'",
		[]string{
			"groupname sysname, groupid smallint, filecount int",
			"file_in_group sysname, fileid smallint, filename nchar(260), size nvarchar(15), maxsize nvarchar(15), growth " +
				"nvarchar(15)",
		},
	},
	{"sp_helpindex 'child'", []string{"index_name sysname, index_description varchar(210), index_keys nvarchar(2078)"}},
	{
		"sp_helptrigger 'child'",
		[]string{
			"trigger_name sysname, trigger_owner sysname, isupdate int, isdelete int, isinsert int, isafter int, isinsteadof " +
				"int, trigger_schema sysname",
		},
	},
	{"sp_helptext 'shown'", []string{"Text nvarchar(255)"}},
	{"sp_helprole", []string{"RoleName sysname, RoleId smallint, IsAppRole int"}},
	{"sp_helprolemember", []string{"DbRole sysname, MemberName sysname, MemberSID varbinary(85)"}},
	{"sp_helpsrvrolemember", []string{"ServerRole sysname, MemberName sysname, MemberSID varbinary(85)"}},
	{
		"sp_helplogins",
		[]string{
			"LoginName sysname, SID varbinary(85), DefDBName sysname, DefLangName sysname, AUser char(5), ARemote char(7)",
			"LoginName sysname, DBName sysname, UserName sysname, UserOrAlias char(8)",
		},
	},
	// The page says that UserID and SID are smallint.
	{
		"sp_helpuser",
		[]string{
			"UserName sysname, RoleName sysname, LoginName sysname, DefDBName sysname, DefSchemaName sysname, UserID " +
				"char(10), SID varbinary(85)",
		},
	},
	{
		"sp_helplanguage",
		[]string{
			"langid smallint, dateformat nchar(3), datefirst tinyint, upgrade int, name sysname, alias sysname, months " +
				"nvarchar(372), shortmonths nvarchar(132), days nvarchar(217), lcid int, msglangid smallint",
		},
	},
	{
		"sp_spaceused",
		[]string{
			"database_name nvarchar(128), database_size varchar(18), unallocated space varchar(18)",
			"reserved varchar(18), data varchar(18), index_size varchar(18), unused varchar(18)",
		},
	},
	{
		"sp_spaceused 'child'",
		[]string{
			"name nvarchar(128), rows char(20), reserved varchar(18), data varchar(18), index_size varchar(18), unused " +
				"varchar(18)",
		},
	},
	{"sp_server_info", []string{"attribute_id int, attribute_name varchar(60), attribute_value varchar(255)"}},
}

// notHelped are procedures of this kind whose result sets are not compared, each with the reason.
var notHelped = map[string]string{
	"sp_help":           "its result sets differ by the kind of object, and the page gives no types for most of them",
	"sp_helpconstraint": "its columns are of the widths of what they show",
	"sp_helpprotect":    "the same",
	"sp_lock":           "rows and tables are not locked",
}

// TestDocumentedHelp: names, order and types of the columns of those result sets.
func TestDocumentedHelp(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, text := range []string{"CREATE TABLE parent (id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY)",
		"CREATE TABLE child (id int NOT NULL CONSTRAINT pk_child PRIMARY KEY, parent int CONSTRAINT fk_child REFERENCES " +
			"parent, name nvarchar(20) DEFAULT N'x')",
		"CREATE VIEW shown AS SELECT id FROM child", "CREATE TRIGGER fires ON child AFTER INSERT AS RETURN"} {
		mustExec(t, db, text)
	}
	for _, p := range helpSets {
		name, _, _ := strings.Cut(p.call, " ")
		if why := notHelped[name]; why != "" {
			t.Errorf("%s is compared, and is not: %s", name, why)
		}
		got, err := resultShapes(t, db, "EXEC "+p.call)
		if err != nil {
			t.Errorf("%s: %v", p.call, err)
			continue
		}
		if len(got) != len(p.sets) {
			t.Errorf("%s: %d result sets where %d are documented", p.call, len(got), len(p.sets))
			continue
		}
		for n, set := range p.sets {
			var want []string
			for _, column := range strings.Split(set, ", ") {
				at := strings.LastIndex(column, " ")
				want = append(want, column[:at+1]+wireType(column[at+1:]))
			}
			if have := strings.Join(got[n], ", "); have != strings.Join(want, ", ") {
				t.Errorf("%s, result set %d\nwants %s\ngot   %s", p.call, n+1, strings.Join(want, ", "), have)
			}
		}
	}
}
