// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func systemFunction(
	lo, hi int,
	t sqltype.Type,
	params []sqltype.Type,
	run func(s *Session, a []any) any,
) *builtinFunction {
	return &builtinFunction{
		Min:    lo,
		Max:    hi,
		Params: params,
		Type:   t,
		Nulls:  true,
		Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			if e.session == nil {
				return nil, internalError(errNoSession)
			}
			return run(e.session, a), nil
		},
	}
}

var errNoSession = stringError("a function of the session is evaluated without one")

type stringError string

func (e stringError) Error() string { return string(e) }

func init() {
	name := []sqltype.Type{nmax}
	number := []sqltype.Type{intT}
	addBuiltins(map[string]*builtinFunction{
		"db_id": systemFunction(0, 1, sqltype.SmallIntType, name, func(s *Session, a []any) any {
			db := s.db
			if len(a) > 0 {
				n, _ := a[0].(string)
				db = s.inst.Database(n)
			}
			if db == nil {
				return nil
			}
			return int64(db.ID())
		}),
		"db_name": systemFunction(0, 1, sqltype.Sysname, number, func(s *Session, a []any) any {
			db := s.db
			if len(a) > 0 && integer(a[0]) != 0 {
				db = s.inst.DatabaseByID(int32(integer(a[0])))
			}
			if db == nil {
				return nil
			}
			return db.Name()
		}),
		"object_id": systemFunction(1, 2, intT, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			kind := ""
			if len(a) > 1 {
				kind, _ = a[1].(string)
			}
			return s.objectID(n, kind)
		}),
		"object_name": systemFunction(
			1,
			2,
			sqltype.Sysname,
			number,
			func(s *Session, a []any) any { return s.objectPart(a, false) },
		),
		"object_schema_name": systemFunction(
			1,
			2,
			sqltype.Sysname,
			number,
			func(s *Session, a []any) any { return s.objectPart(a, true) },
		),
		"schema_id": systemFunction(0, 1, intT, name, func(s *Session, a []any) any {
			sch, err := s.schema(s.context(), s.db.ID())
			if err != nil {
				return nil
			}
			want := s.defaultSchema(s.db.ID())
			if len(a) > 0 {
				want, _ = a[0].(string)
			}
			if n := sch.SchemaByName(want); n != nil {
				return int64(n.ID)
			}
			return nil
		}),
		"schema_name": systemFunction(0, 1, sqltype.Sysname, number, func(s *Session, a []any) any {
			sch, err := s.schema(s.context(), s.db.ID())
			if err != nil {
				return nil
			}
			if len(a) == 0 {
				return s.defaultSchema(s.db.ID())
			}
			if n := sch.Schemas[int32(integer(a[0]))]; n != nil && a[0] != nil {
				return n.Name
			}
			return nil
		}),
		"col_name": systemFunction(2, 2, sqltype.Sysname, number, func(s *Session, a []any) any {
			if o := s.objectByID(a[0]); o != nil && o.Table != nil {
				if c := o.Table.ColumnByID(int32(integer(a[1]))); c != nil {
					return c.Name
				}
			}
			return nil
		}),
		"col_length": systemFunction(2, 2, sqltype.SmallIntType, name, func(s *Session, a []any) any {
			table, _ := a[0].(string)
			column, _ := a[1].(string)
			if o := s.objectByID(s.objectID(table, "")); o != nil && o.Table != nil {
				if c := o.Table.Column(column); c != nil {
					return int64(c.Type.MaxBytes())
				}
			}
			return nil
		}),
		"columnproperty":   systemFunction(3, 3, intT, []sqltype.Type{intT, nmax, nmax}, columnProperty),
		"objectproperty":   systemFunction(2, 2, intT, []sqltype.Type{intT, nmax}, objectProperty),
		"objectpropertyex": systemFunction(2, 2, sqltype.VariantType, []sqltype.Type{intT, nmax}, objectPropertyEx),
		"indexproperty":    systemFunction(3, 3, intT, []sqltype.Type{intT, nmax, nmax}, indexProperty),
		"databasepropertyex": systemFunction(2, 2, sqltype.VariantType, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			p, _ := a[1].(string)
			return s.databaseProperty(n, p)
		}),
		"serverproperty": systemFunction(1, 1, sqltype.VariantType, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			f := s.inst.registry.properties[lower(strings.TrimSpace(n))]
			if f == nil {
				return nil
			}
			return normalise(f(s.inst))
		}),
		"typeproperty": systemFunction(2, 2, intT, name, func(s *Session, a []any) any { return nil }),
		"type_id": systemFunction(1, 1, intT, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			for _, i := range sqltype.Infos {
				if strings.EqualFold(i.Name, bind.SplitName(n).Name) {
					return i.UserTypeID
				}
			}
			if o := s.userType(s.context(), bind.SplitName(n)); o != nil {
				return o.UserTypeID()
			}
			return nil
		}),
		"object_definition": systemFunction(1, 1, nmax, number, func(s *Session, a []any) any {
			o := s.objectByID(a[0])
			sch, err := s.schema(s.context(), s.db.ID())
			if o == nil || err != nil {
				return nil
			}
			return s.DefinitionSeen(sch, o)
		}),
		"original_db_name": systemFunction(0, 0, sqltype.Sysname, nil, func(s *Session, _ []any) any {
			if s.request.Database != "" {
				return s.request.Database
			}
			return s.original.DefaultDatabase
		}),
		"type_name": systemFunction(1, 1, sqltype.Sysname, number, func(s *Session, a []any) any {
			for _, i := range sqltype.Infos {
				if a[0] != nil && i.UserTypeID == integer(a[0]) {
					return i.Name
				}
			}
			if sch, err := s.schema(s.context(), s.db.ID()); err == nil && a[0] != nil {
				for _, o := range sch.Objects {
					if id := o.UserTypeID(); id != 0 && id == integer(a[0]) {
						return o.TypeName()
					}
				}
			}
			return nil
		}),
		"ident_current": identFunction(func(s *Session, o *metadata.Object, t *bind.Target) any {
			if conn, release, err := s.connection(s.context(), s.db.ID()); err == nil {
				defer release()
				if last, used, err := s.takenIdentity(t, conn); err == nil {
					if !used {
						return o.Table.IdentityColumn().Identity.Seed
					}
					return last
				}
			}
			return nil
		}),
		"ident_seed": identFunction(func(_ *Session, o *metadata.Object, _ *bind.Target) any {
			return o.Table.IdentityColumn().Identity.Seed
		}),
		"ident_incr": identFunction(func(_ *Session, o *metadata.Object, _ *bind.Target) any {
			return o.Table.IdentityColumn().Identity.Increment
		}),
		"suser_sname": systemFunction(
			0,
			1,
			sqltype.Sysname,
			[]sqltype.Type{sqltype.VarBinaryOf(85)},
			func(s *Session, a []any) any {
				if len(a) == 0 {
					return s.login.Name
				}
				if sid, ok := a[0].([]byte); ok && len(sid) == 1 && sid[0] == 1 {
					return "sa"
				}
				return nil
			},
		),
		"user_name": systemFunction(0, 1, sqltype.Sysname, number, func(s *Session, a []any) any { return s.userName() }),
		"scope_identity": systemFunction(0, 0, sqltype.DecimalOf(38, 0), nil, func(s *Session, a []any) any {
			f := s.frame()
			if f == nil || f.identity == nil {
				return nil
			}
			return decimalOf(f.identity)
		}),
		"xact_state": systemFunction(0, 0, sqltype.SmallIntType, nil, func(s *Session, a []any) any {
			switch {
			case s.doomed:
				return int64(-1)
			case s.count > 0:
				return int64(1)
			}
			return int64(0)
		}),
		"current_transaction_id": systemFunction(
			0,
			0,
			bigT,
			nil,
			func(s *Session, a []any) any { return int64(s.descriptor) },
		),
		"error_number":   caughtFunction(intT, func(e *sqlerr.Error) any { return int64(e.Number) }),
		"error_severity": caughtFunction(intT, func(e *sqlerr.Error) any { return int64(e.Class) }),
		"error_state":    caughtFunction(intT, func(e *sqlerr.Error) any { return int64(e.State) }),
		"error_line":     caughtFunction(intT, func(e *sqlerr.Error) any { return int64(e.Line) }),
		"error_message":  caughtFunction(sqltype.NVarCharOf(4000), func(e *sqlerr.Error) any { return e.Message }),
		"error_procedure": caughtFunction(sqltype.Sysname, func(e *sqlerr.Error) any {
			if e.Procedure == "" {
				return nil
			}
			return e.Procedure
		}),
		"host_name": systemFunction(
			0,
			0,
			sqltype.Sysname,
			nil,
			func(s *Session, a []any) any { return s.request.HostName },
		),
		"host_id": systemFunction(
			0,
			0,
			sqltype.Type{Kind: sqltype.Char, Length: 10},
			nil,
			func(s *Session, a []any) any { return "0         " },
		),
		"app_name": systemFunction(
			0,
			0,
			sqltype.Sysname,
			nil,
			func(s *Session, a []any) any { return s.request.AppName },
		),
		"program_name": systemFunction(
			0,
			0,
			sqltype.Sysname,
			nil,
			func(s *Session, a []any) any { return s.request.AppName },
		),
		"eventdata": systemFunction(
			0,
			0,
			sqltype.Type{Kind: sqltype.XML},
			nil,
			func(s *Session, _ []any) any { return s.eventData() },
		),
		"original_login": systemFunction(
			0,
			0,
			sqltype.Sysname,
			nil,
			func(s *Session, a []any) any { return s.original.Name },
		),
		"session_context": systemFunction(1, 1, sqltype.VariantType, name, func(s *Session, a []any) any {
			k, _ := a[0].(string)
			return s.sessionKeys[lower(k)].value
		}),
		"context_info": systemFunction(0, 0, sqltype.VarBinaryOf(128), nil, func(s *Session, a []any) any {
			if s.settings.contextInfo == nil {
				return nil
			}
			return s.settings.contextInfo
		}),
		"rowcount_big":       systemFunction(0, 0, bigT, nil, func(s *Session, a []any) any { return s.rowCount }),
		"getansinull":        systemFunction(0, 1, intT, name, func(*Session, []any) any { return int64(1) }),
		"connectionproperty": systemFunction(1, 1, sqltype.VariantType, name, connectionProperty),
		"collationproperty": systemFunction(2, 2, sqltype.VariantType, name, func(_ *Session, a []any) any {
			n, _ := a[0].(string)
			p, _ := a[1].(string)
			c, ok := sqltype.ParseCollation(n)
			if !ok {
				return nil
			}
			return c.Property(lower(p))
		}),
		"sessionproperty": systemFunction(1, 1, sqltype.VariantType, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			key := map[string]string{"ansi_nulls": "AnsiNulls", "ansi_padding": "AnsiPadding", "ansi_warnings": "AnsiWarnings",
				"arithabort":              "ArithAbort",
				"concat_null_yields_null": "ConcatNullYieldsNull", "numeric_roundabort": "NumericRoundAbort",
				"quoted_identifier": "QuotedIdentifier"}[lower(n)]
			if key == "" {
				return nil
			}
			return map[bool]int64{true: 1}[s.settings.options[key]]
		}),
		"has_dbaccess": systemFunction(1, 1, intT, name, func(s *Session, a []any) any {
			n, _ := a[0].(string)
			db := s.inst.Database(n)
			if db == nil {
				return nil
			}
			if s.enter(s.context(), db) != nil {
				return int64(0)
			}
			return int64(1)
		}),
		"formatmessage": {Min: 1, Max: 21, Type: sqltype.NVarCharOf(2047), Nulls: true, Run: messageText},
		"min_active_rowversion": systemFunction(
			0,
			0,
			sqltype.Type{Kind: sqltype.Binary, Length: 8},
			nil,
			func(s *Session, a []any) any {
				if n, ok := s.lastRowVersion(s.committed); ok {
					return rowVersionValue(n + 1)
				}
				return nil
			},
		),
		"applock_mode": {
			Min:    3,
			Max:    3,
			Params: name,
			Type:   sqltype.NVarCharOf(32),
			Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
				return e.session.appLockMode(a[1].(string)), nil
			},
		},
		"applock_test": {Min: 4, Max: 4, Params: name, Type: intT, Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			return e.session.appLockGrantable(a[1].(string), a[2].(string)), nil
		}},
	})
}

func first(s string, e *sqlerr.Error) (any, *sqlerr.Error) {
	if e != nil {
		return nil, e
	}
	return s, nil
}

func identFunction(f func(s *Session, o *metadata.Object, t *bind.Target) any) *builtinFunction {
	return systemFunction(1, 1, sqltype.DecimalOf(38, 0), []sqltype.Type{nmax}, func(s *Session, a []any) any {
		n, _ := a[0].(string)
		o := s.objectByID(s.objectID(n, ""))
		if o == nil || o.Table == nil || o.Table.IdentityColumn() == nil {
			return nil
		}
		return decimalOf(f(s, o, &bind.Target{Object: o, Database: s.db, DatabaseName: s.db.Name()}))
	})
}

func decimalOf(v any) any {
	n, ok := v.(int64)
	if !ok {
		return nil
	}
	out, err := sqltype.Convert(n, bigT, sqltype.DecimalOf(38, 0), 0, sqltype.Explicit)
	if err != nil {
		return nil
	}
	return out
}

func caughtFunction(t sqltype.Type, f func(*sqlerr.Error) any) *builtinFunction {
	return systemFunction(0, 0, t, nil, func(s *Session, a []any) any {
		if e := s.caught(); e != nil {
			return f(e)
		}
		return nil
	})
}

func connectionProperty(s *Session, a []any) any {
	n, _ := a[0].(string)
	switch lower(n) {
	case "net_transport", "physical_net_transport":
		return "TCP"
	case "protocol_type":
		return "TSQL"
	case "auth_scheme":
		return "SQL"
	case "client_net_address":
		return clientAddress(s.request)
	case "local_net_address":
		if s.request.Local != nil {
			host, _, _ := strings.Cut(s.request.Local.String(), ":")
			return host
		}
	case "local_tcp_port":
		return int64(s.inst.config.Port)
	}
	return nil
}
