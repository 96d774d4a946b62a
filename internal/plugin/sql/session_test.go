// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"context"
	"errors"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// refusing is a server that answers every question by errors.
type refusing struct {
	mssql.Querier
	numbers []int32
	asked   int
}

func (r *refusing) Query(context.Context, tsql.Statement, func(mssql.Row) error) error {
	if r.asked++; len(r.numbers) == 0 {
		return &mssql.Error{Server: "tukpub-0", Class: mssql.Unknown, Err: errors.New("no answer")}
	}
	all := driver.Error{Number: r.numbers[0]}
	for _, n := range r.numbers {
		all.All = append(all.All, driver.Error{Number: n})
	}
	return &mssql.Error{Server: "tukpub-0", Class: mssql.Refused, Number: all.Number, Err: all}
}

// A login that may not see what the server is goes where the status says, and asks no more. Whatever else the server
// says in place of an answer leaves it unknown, for sa too: nothing is sent, and it is asked again.
func TestALoginThatMayNotAskIsToldFromAServerThatDoesNotSay(t *testing.T) {
	for what, c := range map[string]struct {
		numbers []int32
		mayNot  bool
	}{
		"VIEW SERVER STATE is denied":               {[]int32{300, 297}, true},
		"its parts are, since 2022":                 {[]int32{371}, true},
		"SELECT on the view is denied":              {[]int32{229}, true},
		"a permission in the database is denied":    {[]int32{262}, true},
		"no buffers":                                {[]int32{802}, false},
		"SHUTDOWN is in progress":                   {[]int32{6005}, false},
		"no memory for the query, in its own words": {[]int32{8651}, false},
		"nothing": {nil, false},
	} {
		t.Run(what, func(t *testing.T) {
			g, server := NewWithT(t), &refusing{numbers: c.numbers}
			s := &session{goal: &goal{group: "content", role: primary, server: "tukpub"}, watched: server, mayWatch: true}
			s.watch(t.Context())
			s.watch(t.Context())
			if c.mayNot {
				g.Expect(s.checkRole()).To(Succeed())
				g.Expect(server.asked).To(Equal(1))
				return
			}
			g.Expect(s.checkRole()).To(MatchError(And(ContainSubstring("does not say what it is"),
				ContainSubstring("nothing was sent"))))
			g.Expect(server.asked).To(Equal(2))
		})
	}
}
