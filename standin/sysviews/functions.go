// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"encoding/hex"
	"fmt"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// installNamedFunctions registers the functions that tools call by three-part names, in msdb and master.
func installNamedFunctions(r *engine.Registry) {
	r.Function(
		engine.Function{
			Name: "msdb.dbo.fn_syspolicy_is_automation_enabled",
			Type: sqltype.BitType,
			Eval: func(*engine.Session, []any) (any, error) { return false, nil },
		},
	)
	r.Function(
		engine.Function{
			Name:       "msdb.dbo.agent_datetime",
			MinArgs:    2,
			MaxArgs:    2,
			Parameters: []sqltype.Type{sqltype.IntType},
			Type:       sqltype.DateTimeType,
			Eval: func(_ *engine.Session, args []any) (any, error) {
				date, dated := args[0].(int64)
				clock, timed := args[1].(int64)
				if !dated || !timed {
					return nil, nil
				}
				at, err := time.Parse("20060102 150405", fmt.Sprintf("%08d %06d", date, clock))
				if err != nil || at.Year() < 1753 {
					return nil, sqlerr.New(242, 3, "nvarchar", "datetime")
				}
				return at, nil
			},
		},
	)
	binary := sqltype.Type{Kind: sqltype.VarBinary, Length: 8000}
	for _, schema := range []string{"", "master.dbo."} {
		r.Function(
			engine.Function{
				Name:          schema + "fn_varbintohexstr",
				MinArgs:       1,
				MaxArgs:       1,
				Parameters:    []sqltype.Type{binary},
				Type:          sqltype.NVarCharMax,
				Deterministic: true,
				Eval: func(_ *engine.Session, args []any) (any, error) {
					b, ok := args[0].([]byte)
					if !ok {
						return nil, nil
					}
					return "0x" + hex.EncodeToString(b), nil
				},
			},
		)
		r.Function(
			engine.Function{
				Name:          schema + "fn_varbintohexsubstring",
				MinArgs:       4,
				MaxArgs:       4,
				Parameters:    []sqltype.Type{sqltype.BitType, binary, sqltype.IntType},
				Type:          sqltype.NVarCharMax,
				Deterministic: true,
				Eval:          hexOfPart,
			},
		)
	}
}

// hexOfPart is fn_varbintohexsubstring: whether 0x stands before it, the bytes, the first of them from 1, and how many,
// 0 for the rest.
func hexOfPart(_ *engine.Session, args []any) (any, error) {
	b, ok := args[1].([]byte)
	start, _ := args[2].(int64)
	count, _ := args[3].(int64)
	if !ok || start < 1 || start > int64(len(b)) || count < 0 {
		return nil, nil
	}
	b = b[start-1:]
	if count > 0 && count < int64(len(b)) {
		b = b[:count]
	}
	text := hex.EncodeToString(b)
	if prefixed, _ := args[0].(bool); prefixed {
		text = "0x" + text
	}
	return text, nil
}
