// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// The functions about indexes, files and values (docs/t-sql/functions/metadata-functions-transact-sql.md).
func init() {
	intT, name := sqltype.IntType, []sqltype.Type{nmax}
	addBuiltins(map[string]*builtinFunction{
		"index_col": systemFunction(
			3,
			3,
			sqltype.NVarCharOf(128),
			[]sqltype.Type{nmax, intT, intT},
			func(s *Session, a []any) any {
				text, _ := a[0].(string)
				o := s.objectByID(s.objectID(text, ""))
				if o == nil || o.Table == nil {
					return nil
				}
				for _, i := range o.Table.Indexes {
					if n := integer(a[2]); int64(i.ID) == integer(a[1]) && n > 0 && n <= int64(len(i.Keys)) {
						if c := o.Table.ColumnByID(i.Keys[n-1].Column); c != nil {
							return c.Name
						}
					}
				}
				return nil
			},
		),
		"indexkey_property": systemFunction(
			4,
			4,
			intT,
			[]sqltype.Type{intT, intT, intT, nmax},
			func(s *Session, a []any) any {
				property, _ := a[3].(string)
				o := s.objectByID(a[0])
				if o == nil || o.Table == nil {
					return nil
				}
				for _, i := range o.Table.Indexes {
					if n := integer(a[2]); int64(i.ID) == integer(a[1]) && n > 0 && n <= int64(len(i.Keys)) {
						switch lower(property) {
						case "columnid":
							return int64(i.Keys[n-1].Column)
						case "isdescending":
							return asBit(i.Keys[n-1].Descending)
						}
					}
				}
				return nil
			},
		),
		"fulltextserviceproperty": systemFunction(1, 1, intT, name, func(_ *Session, a []any) any {
			if n, _ := a[0].(string); !strings.EqualFold(n, "IsFullTextInstalled") {
				return nil
			}
			return int64(0)
		}),
		"fulltextcatalogproperty": systemFunction(
			2,
			2,
			intT,
			[]sqltype.Type{nmax, nmax},
			func(*Session, []any) any { return nil },
		),
		// Its properties are those of files in Azure's storage, which no file here has
		// (docs/t-sql/functions/filepropertyex-transact-sql.md).
		"filepropertyex": systemFunction(
			2,
			2,
			sqltype.VariantType,
			[]sqltype.Type{nmax, nmax},
			func(*Session, []any) any { return nil },
		),
		"sql_variant_property": {
			Min:  2,
			Max:  2,
			Type: sqltype.VariantType,
			Run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
				t := e.Types[0]
				if t.Kind == sqltype.SQLVariant {
					t = sqltype.TypeOf(a[0])
				}
				property, _ := a[1].(string)
				switch lower(property) {
				case "collation":
					if t.Kind.IsCharacter() {
						return sqltype.DefaultCollation, nil
					}
				case "basetype":
					return t.Kind.String(), nil
				case "precision":
					return int64(t.DisplayPrecision()), nil
				case "scale":
					return int64(t.DisplayScale()), nil
				case "maxlength":
					return int64(t.MaxBytes()), nil
				}
				return nil, nil
			},
		},
	})
}

// asBit is a bit's number.
func asBit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
