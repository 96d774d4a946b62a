// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// Standing is what there is under the name of a database.
type Standing struct {
	// Name as the instance writes it; State such as ONLINE, Access such as MULTI_USER.
	Name, State, Access string
	// Owner is the owner's login, empty where there is none of it.
	Owner string
	// Group that has it, as far as the instance knows it; InGroup says that one does.
	Group   string
	InGroup bool
	// Published says that it is published, or distributes.
	Published bool
	// Own says that each of its files has what was asked for in its path: who asks has made it.
	Own bool
	// Fork is the recovery fork on which it is, empty where that is not known.
	Fork string
}

// ReadStandings reads what stands under these names, by name in lower case. own is in the paths of the files of what is
// the caller's own.
func ReadStandings(ctx context.Context, q Querier, own string, names ...string) (map[string]*Standing, error) {
	all := map[string]*Standing{}
	err := q.Query(ctx, tsql.DatabaseStandings(own, names...), func(r Row) error {
		s, err := scanStanding(r)
		all[strings.ToLower(s.Name)] = &s
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func scanStanding(r Row) (s Standing, err error) {
	err = r.Scan(&s.Name, &s.State, &s.Access, &s.Owner, &s.Group, &s.InGroup, &s.Published, &s.Own, &s.Fork)
	return s, err
}
