// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"errors"
	"slices"

	driver "github.com/microsoft/go-mssqldb"
)

// Errors of a check that could not be carried out, or not to its end: they say nothing about the database. 916, 2571
// and 7983 are refused rights, 2520 and 2521 that there is no such database, 8921 that it had no room, say.
var unchecked = []int32{916, 2520, 2521, 2528, 2532, 2571, 7983, 8920, 8921, 8967, 8985, 8987, 8997}

// NotAllowedToCheck are the errors of a check by a login that is not the database's owner.
var NotAllowedToCheck = []int32{916, 2571, 7983}

// Findings are the numbers of the errors by which DBCC CHECKDB says that something is not as it should be; none where
// it could not be carried out. Source: docs/relational-databases/errors-events/database-engine-events-and-errors.md.
func Findings(err error) []int32 {
	var e driver.Error
	if !errors.As(err, &e) {
		return nil
	}
	var all []int32
	for _, one := range append([]driver.Error{e}, e.All...) {
		n := one.Number
		found := n >= 2500 && n < 2600 || n >= 7984 && n <= 7988 || n >= 8900 && n < 9000 || n >= 823 && n <= 825
		if found && !slices.Contains(unchecked, n) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}
