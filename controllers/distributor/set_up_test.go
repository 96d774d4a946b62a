// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

const setUpLogin = "geosql_replication_main_setup"

// The login that is in sysadmin goes once no log reader has it, whatever has become of the Publication that gave it.
func TestTheLoginThatSetsUpGoesWithItsLastLogReader(t *testing.T) {
	const kill, drop = "KILL 57", "DROP LOGIN [" + setUpLogin + "]"
	for name, c := range map[string]struct {
		change func(*SetUp)
		err    error
		steps  []string
	}{
		"nobody has it":           {change: func(*SetUp) {}, steps: []string{kill, drop}},
		"nobody is connected":     {change: func(s *SetUp) { s.Sessions = nil }, steps: []string{drop}},
		"a log reader has it":     {change: func(s *SetUp) { s.Readers = 1 }},
		"it was made just now":    {change: func(s *SetUp) { s.Login.Age = time.Second }},
		"somebody else's":         {change: func(s *SetUp) { s.Login.SID = []byte{1} }},
		"there is none":           {change: func(s *SetUp) { s.Login = nil }},
		"who has it is not known": {change: func(*SetUp) {}, err: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.settle(t, all)
			s := SetUp{Login: &mssql.SetUpLogin{SID: w.d.System.SetUpSID, PasswordRight: true, Sysadmin: true, Age: time.Hour},
				Sessions: []int{57}}
			c.change(&s)
			w.o.SetUp = reconcile.Asked(s, c.err)
			p := plan(w.d, w.o)
			g.Expect(p.Steps).To(HaveLen(len(c.steps)), p.Outcome.Message)
			for i, step := range p.Steps {
				g.Expect(step.Describe()).To(ContainSubstring(c.steps[i]))
			}
			if len(c.steps) == 0 {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonConfigured))
				return
			}
			g.Expect(p.Outcome.Message).To(And(ContainSubstring(setUpLogin), ContainSubstring("sysadmin")))
		})
	}
}

func TestADistributorTakesTheLoginThatSetsUpAlong(t *testing.T) {
	g := NewWithT(t)
	w := deleted(t)
	login := &mssql.SetUpLogin{SID: w.d.System.SetUpSID, Sysadmin: true}
	w.o.SetUp = reconcile.Read(SetUp{Login: login, Sessions: []int{57}})
	all := texts(planDelete(w.d, w.o))
	g.Expect(len(all)).To(BeNumerically(">", 3))
	end := all[len(all)-3:]
	g.Expect(end[0]).To(ContainSubstring("KILL 57"))
	g.Expect(end[1]).To(ContainSubstring("DROP LOGIN [" + setUpLogin + "]"))
	g.Expect(end[2]).To(ContainSubstring("DROP LOGIN [geosql_replication_main]"))
}
