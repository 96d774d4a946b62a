// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

func installSetOptions(r *Registry) {
	on(r, (*Session).setPredicate)
	on(r, (*Session).setCommands)
	on(r, func(s *Session, ctx context.Context, n *ast.SetTransactionIsolationLevelStatement, w tds.Writer) error {
		level := map[string]byte{"readuncommitted": 1, "readcommitted": 2, "repeatableread": 3, "serializable": 4,
			"snapshot": 5}[strings.ToLower(n.Level)]
		if level == 0 {
			return sqlerr.New(102, 1, n.Level)
		}
		s.settings.isolation = level
		return nil
	})
	on(r, func(s *Session, ctx context.Context, n *ast.SetTextSizeStatement, w tds.Writer) error {
		v, err := s.evaluateInt(ctx, n.TextSize)
		if s.settings.textSize = v; v == 0 {
			s.settings.textSize = 4096 // docs/t-sql/functions/textsize-transact-sql.md
		}
		return err
	})
	on(r, func(s *Session, ctx context.Context, n *ast.SetRowCountStatement, w tds.Writer) error {
		v, err := s.evaluate(ctx, n.NumberRows, sqltype.IntType)
		if err != nil {
			return err
		}
		rows, ok := v.(int64)
		if !ok || rows < 0 {
			return sqlerr.New(507, 2)
		}
		s.settings.rowCount = rows
		return nil
	})
	on(r, (*Session).setIdentityInsert)
	on(r, func(s *Session, ctx context.Context, n *ast.SetStatisticsStatement, w tds.Writer) error {
		for _, shows := range []string{"XML", "PROFILE"} { // what shows plans, of which there are none
			if n.IsOn && strings.Contains(strings.ToUpper(n.Options), shows) {
				return unsupported("SET STATISTICS " + shows)
			}
		}
		if strings.Contains(strings.ToUpper(n.Options), "TIME") {
			s.settings.statisticsTime = n.IsOn
		}
		return nil
	})
	on(r, func(*Session, context.Context, *ast.SetErrorLevelStatement, tds.Writer) error {
		return unsupported("SET ERRLVL")
	})
}

// setPredicate is SET option[, option] ON | OFF.
func (s *Session) setPredicate(ctx context.Context, n *ast.PredicateSetStatement, w tds.Writer) error {
	for _, name := range strings.Split(n.Options, ",") {
		name = strings.TrimSpace(name)
		switch ast.SetOptions(name) {
		case ast.SetOptionsNoCount:
			s.settings.noCount = n.IsOn
		case ast.SetOptionsXactAbort:
			s.settings.xactAbort = n.IsOn
		case ast.SetOptionsImplicitTransactions:
			s.settings.implicitTransactions = n.IsOn
		case ast.SetOptionsFmtOnly:
			s.settings.fmtOnly = n.IsOn
		case ast.SetOptionsNoExec:
			s.settings.noExec = n.IsOn
		case ast.SetOptionsParseOnly:
			s.settings.parseOnly = n.IsOn
		case ast.SetOptionsAnsiDefaults:
			for _, o := range []string{"AnsiNulls", "AnsiNullDfltOn", "AnsiPadding", "AnsiWarnings", "QuotedIdentifier"} {
				s.settings.options[o] = n.IsOn
			}
			s.settings.implicitTransactions = n.IsOn
		case ast.SetOptionsAnsiPadding:
			if !n.IsOn && s.strict() {
				return unsupported("SET " + strings.ToUpper(name) + " OFF")
			}
			s.settings.options[name] = n.IsOn
		case ast.SetOptionsAnsiNullDfltOff, ast.SetOptionsAnsiNullDfltOn: // one of them at most is on
			if n.IsOn {
				s.settings.options["AnsiNullDfltOff"], s.settings.options["AnsiNullDfltOn"] = false, false
			}
			s.settings.options[name] = n.IsOn
		case ast.SetOptionsAnsiNulls,
			ast.SetOptionsConcatNullYieldsNull,
			ast.SetOptionsAnsiWarnings,
			ast.SetOptionsArithAbort,
			ast.SetOptionsArithIgnore,
			ast.SetOptionsCursorCloseOnCommit,
			ast.SetOptionsForceplan,
			ast.SetOptionsNoBrowsetable,
			ast.SetOptionsNumericRoundAbort,
			ast.SetOptionsQuotedIdentifier,
			ast.SetOptionsRemoteProcTransactions:
			s.settings.options[name] = n.IsOn
		case ast.SetOptionsShowplanAll, ast.SetOptionsShowplanText, ast.SetOptionsShowplanXml:
			if n.IsOn {
				return unsupported("SET SHOWPLAN")
			}
		default:
			return sqlerr.New(195, 5, strings.ToUpper(name), "SET option")
		}
	}
	return nil
}

// strict tells whether options that change the meaning of statements are refused; old drivers switch some of them off
// while they log in and mean nothing by it.
func (s *Session) strict() bool { return s.nest > 1 }

// nullsEqual tells that = and <> compare with NULL as with a value, in the session or in the module that runs
// (docs/t-sql/statements/set-ansi-nulls-transact-sql.md).
func (s *Session) nullsEqual() bool {
	switch f := s.frame(); {
	case f != nil && f.module != nil && f.module.ID != 0: // which may be a view within another module
		return f.module.AnsiNullsOff
	case f != nil && f.objectID != 0:
		return f.nullsEqual
	}
	return !s.settings.options["AnsiNulls"]
}

// nullByDefault tells that a column without NULL and NOT NULL takes NULL
// (docs/t-sql/statements/set-ansi-null-dflt-on-transact-sql.md, Remarks; docs/t-sql/statements/
// create-table-transact-sql.md, "Nullability rules within a table definition"): with neither option on as the database
// says.
func (s *Session) nullByDefault(db *Database) bool {
	switch {
	case s.settings.options["AnsiNullDfltOn"]:
		return true
	case s.settings.options["AnsiNullDfltOff"] || db == nil:
		return false
	}
	set, given := db.Info().Options["ANSI_NULL_DEFAULT"]
	return given && (set == "" || set == "ON")
}

// nullIsEmpty tells that NULL is an empty text where texts are joined
// (docs/t-sql/statements/set-concat-null-yields-null-transact-sql.md).
func (s *Session) nullIsEmpty() bool { return !s.settings.options["ConcatNullYieldsNull"] }

func (s *Session) setCommands(ctx context.Context, n *ast.SetCommandStatement, w tds.Writer) error {
	for _, c := range n.Commands {
		g, ok := c.(*ast.GeneralSetCommand)
		if !ok {
			continue // FIPS_FLAGGER has no effect
		}
		if err := s.setCommand(ctx, g, w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) setCommand(ctx context.Context, g *ast.GeneralSetCommand, w tds.Writer) error {
	word := func() (string, error) {
		switch p := g.Parameter.(type) {
		case *ast.IdentifierLiteral:
			return p.Value, nil
		case *ast.ColumnReferenceExpression:
			return strings.Join(bind.Identifiers(p.MultiPartIdentifier), "."), nil
		}
		v, err := s.evaluate(ctx, g.Parameter, sqltype.NVarCharMax)
		text, _ := v.(string)
		return text, err
	}
	switch g.CommandType {
	case "LockTimeout":
		v, err := s.evaluateInt(ctx, g.Parameter)
		if err == nil {
			s.settings.lockTimeout = v
		}
		return err
	case "DateFirst":
		v, err := s.evaluateInt(ctx, g.Parameter)
		if err != nil {
			return err
		}
		if v < 1 || v > 7 {
			return sqlerr.New(2742, 1, v)
		}
		s.settings.dates.first, s.settings.ownFirst = v, true
		return nil
	case "Language":
		v, err := word()
		if err != nil {
			return err
		}
		return s.setLanguage(v, w)
	case "DateFormat":
		v, err := word()
		if err != nil {
			return err
		}
		order, ok := sqltype.ParseDateOrder(v)
		if !ok {
			return sqlerr.New(2741, 1, v)
		}
		s.settings.dates.order, s.settings.ownOrder = order, true
		return nil
	case "DeadlockPriority":
		v, err := word()
		if err != nil {
			return err
		}
		n, known := map[string]int64{"low": -5, "normal": 0, "high": 5}[strings.ToLower(v)]
		if !known {
			if n, err = strconv.ParseInt(v, 10, 64); err != nil || n < -10 || n > 10 {
				return sqlerr.New(2755, 1, -10, 10)
			}
		}
		s.settings.deadlock = n
		return nil
	case "ContextInfo":
		v, err := s.evaluate(ctx, g.Parameter, sqltype.VarBinaryOf(128))
		if err == nil {
			s.settings.contextInfo = nil
			if information, ok := v.([]byte); ok {
				// A session keeps 128 bytes whatever their number was (docs/t-sql/statements/set-context-info-transact-sql.md).
				s.settings.contextInfo = make([]byte, 128)
				copy(s.settings.contextInfo, information)
			}
		}
		return err
	case "QueryGovernorCostLimit":
		return nil
	}
	return sqlerr.New(195, 7, g.CommandType, "SET option")
}

func (s *Session) setIdentityInsert(ctx context.Context, n *ast.SetIdentityInsertStatement, w tds.Writer) error {
	name := bind.NameOf(n.Table)
	b := newBinder(ctx, s, s.db.ID())
	var space int32
	var sch *metadata.Catalog
	var o *metadata.Object
	if e := bind.Safely(func() {
		space, sch, o = b.TableToWrite(name, 1088)
		if o.Table.IdentityColumn() == nil {
			b.Fail(8106, name.String())
		}
		b.Require("ALTER", space, sch, o)
	}); e != nil {
		return e
	}
	switch {
	case !n.IsOn && s.settings.identityInto == o.ID && s.settings.identityDB == space:
		s.settings.identityInto, s.settings.identityDB = 0, 0
		s.plans = planCache{}
	case n.IsOn && s.settings.identityInto != 0 && (s.settings.identityInto != o.ID || s.settings.identityDB != space):
		other, schemaName, table := "", "", ""
		if db := s.inst.DatabaseByID(s.settings.identityDB); db != nil {
			other = db.Name()
			if osch, err := s.schema(ctx, db.ID()); err == nil {
				if x := osch.Objects[s.settings.identityInto]; x != nil {
					schemaName, table = osch.SchemaName(x), x.Name
				}
			}
		}
		return sqlerr.New(8107, 1, other, schemaName, table, name.String())
	case n.IsOn:
		s.settings.identityInto, s.settings.identityDB = o.ID, space
		// Bound INSERT statements know the former setting.
		s.plans = planCache{}
	}
	return nil
}
