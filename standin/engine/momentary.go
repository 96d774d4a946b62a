// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// momentaryValue binds what is the same for all rows of a statement where a condition is kept for all statements to
// come, as that of a CHECK constraint is: it has no parameters, and asks the session that executes.
func (b *binder) momentaryValue(key string, t sqltype.Type) expr {
	e := expr{sql: "tsql_value(" + sqltype.StoredLiteral(key) + ")", typ: t, nullable: true}
	if t.Kind.IsCharacter() {
		e.collation = sqltype.DefaultCollationKey
	}
	return e
}

// momentary are the values that such a condition may ask for.
func momentary(key string) (sqltype.Type, func(*Session) any) {
	if t, ok := clockTypes[key]; ok {
		return t, func(s *Session) any { return s.clock(t) }
	}
	switch key {
	case "user_name()":
		return sqltype.Sysname, func(s *Session) any { return s.userName() }
	case "suser_sname()":
		return sqltype.Sysname, func(s *Session) any { return s.login.Name }
	}
	return sqltype.Type{}, nil
}

// clockTypes are the types of the functions that give the time.
var clockTypes = map[string]sqltype.Type{"getdate": sqltype.DateTimeType, "getutcdate": sqltype.DateTimeType,
	"sysdatetime": sqltype.DateTime2Type, "sysutcdatetime": sqltype.DateTime2Type,
	"sysdatetimeoffset": {Kind: sqltype.DateTimeOffset, Scale: 7}}

// value is tsql_value: NULL while storage repeats logged changes, which judges nothing.
func (st *connState) value(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil {
		return nil, nil
	}
	t, f := momentary(args[0].Text())
	if f == nil {
		return nil, sqlerr.New(1046, 1)
	}
	return encodeResult(t, f(st.session))
}
