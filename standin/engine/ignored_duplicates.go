// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// setIndexState sets an option of an index that is ON or OFF, by the parser's name in lower case
// (docs/t-sql/statements/create-index-transact-sql.md).
func setIndexState(i *metadata.Index, option, state string) error {
	on := strings.EqualFold(state, "On")
	switch option {
	case "ignoredupkey":
		return setIgnoreDuplicates(i, state)
	case "padindex":
		i.Padded = on
	case "allowrowlocks", "allowpagelocks":
		i.Locks.Set(option, on)
	case "statisticsnorecompute":
		i.NoRecompute = on
	case "optimizeforsequentialkey":
		i.SequentialKey = on
	}
	return nil
}

// setIgnoreDuplicates sets IGNORE_DUP_KEY (docs/t-sql/statements/create-index-transact-sql.md), which is for unique
// indexes.
func setIgnoreDuplicates(i *metadata.Index, state string) error {
	on := strings.EqualFold(state, "On")
	if on && !i.Unique {
		return sqlerr.New(1916, 1, "nonunique", "ignore_dup_key")
	}
	i.IgnoreDup = on
	return nil
}
