// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// users answers with the users of a login, each with whether it is in db_owner.
type users struct {
	mssql.Querier
	rows []user
}

type user struct {
	name  string
	owner bool
}

func (u user) Scan(dest ...any) error {
	*dest[0].(*string), *dest[1].(*bool) = u.name, u.owner
	return nil
}

func (u users) Query(_ context.Context, _ tsql.Statement, scan func(mssql.Row) error) error {
	for _, r := range u.rows {
		if err := scan(r); err != nil {
			return err
		}
	}
	return nil
}

// Two users of one login, made at the same time, are one: whichever row comes last, nothing is asked for again and
// again.
func TestOwner(t *testing.T) {
	for name, c := range map[string]struct {
		rows  []user
		name  string
		owner bool
	}{
		"none":                    {nil, "", false},
		"one":                     {[]user{{"agents", false}}, "agents", false},
		"an owner":                {[]user{{"agents", true}}, "agents", true},
		"twice, the first owns":   {[]user{{"agents", true}, {"agents", false}}, "agents", true},
		"twice, the second owns":  {[]user{{"agents", false}, {"agents", true}}, "agents", true},
		"twice, and neither does": {[]user{{"agents", false}, {"agents", false}}, "agents", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			name, owner, err := mssql.ReadOwner(t.Context(), users{rows: c.rows}, "agents")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(name).To(Equal(c.name))
			g.Expect(owner).To(Equal(c.owner))
		})
	}
}
