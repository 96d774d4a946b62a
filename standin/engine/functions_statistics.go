// SPDX-License-Identifier: Apache-2.0

package engine

import "geosql.dev/standin/sqltype"

// installStatisticsFunctions registers STATS_DATE.
func installStatisticsFunctions() {
	addBuiltins(
		map[string]*builtinFunction{
			"stats_date": systemFunction(2, 2, sqltype.DateTimeType, []sqltype.Type{intT, intT}, func(s *Session, a []any) any {
				o := s.objectByID(a[0])
				if o == nil || o.Table == nil {
					return nil
				}
				for _, st := range o.Table.Statistics {
					if int64(st.ID) == integer(a[1]) {
						return st.Updated
					}
				}
				for _, i := range o.Table.Indexes {
					if int64(i.ID) == integer(a[1]) && i.StatsUpdated != nil {
						return *i.StatsUpdated
					}
				}
				return nil
			}),
		},
	)
}
