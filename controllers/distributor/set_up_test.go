// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"errors"
	"fmt"
	"strings"
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
	g.Expect(all[0]).To(ContainSubstring("KILL 57"))
	g.Expect(all[1]).To(ContainSubstring("DROP LOGIN [" + setUpLogin + "]"))
	g.Expect(all[len(all)-1]).To(ContainSubstring("DROP LOGIN [geosql_replication_main]"))
}

// Wherever a process ends while a distributor is being taken away: a login in sysadmin is not left behind, whatever the
// policy is.
func TestADeletionLeavesNoLoginThatSetsUp(t *testing.T) {
	for _, policy := range []v1alpha1.ReclaimPolicy{v1alpha1.ReclaimDelete, v1alpha1.ReclaimRetain} {
		for crash := range 12 {
			t.Run(fmt.Sprintf("%s, after %d steps", policy, crash), func(t *testing.T) {
				g := NewWithT(t)
				w := deleted(t)
				w.d.Distributor.Spec.ReclaimPolicy = policy
				w.o.SetUp = reconcile.Read(SetUp{Sessions: []int{57},
					Login: &mssql.SetUpLogin{SID: w.d.System.SetUpSID, Sysadmin: true}})
				p := planDelete(w.d, w.o)
				for _, step := range p.Steps[:min(crash, len(p.Steps))] {
					w.end(t, step)
				}
				for range 5 {
					p = planDelete(w.d, w.o)
					for _, step := range p.Steps {
						w.end(t, step)
					}
					if p.Done {
						break
					}
				}
				g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
				g.Expect(p.Left).To(BeEmpty())
				s, err := w.o.SetUp.Get()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.Login).To(BeNil())
				g.Expect(w.server(distributor).HasDistributor).To(Equal(policy == v1alpha1.ReclaimRetain))
			})
		}
	}
}

// What else there is stays with reclaimPolicy Retain, and is waited for only where a login in sysadmin may be left.
func TestARetainedDistributorWaitsForItsLogReaders(t *testing.T) {
	const drop = "DROP LOGIN [" + setUpLogin + "]"
	login := func(w *world, readers int) {
		w.o.SetUp = reconcile.Read(SetUp{Readers: readers,
			Login: &mssql.SetUpLogin{SID: w.d.System.SetUpSID, Sysadmin: true}})
	}
	for name, c := range map[string]struct {
		change func(*world)
		done   bool
		steps  []string
		says   string
		left   string
	}{
		"nobody ever had it": {func(*world) {}, true, nil, "", ""},
		"it is left":         {func(w *world) { login(w, 0) }, true, []string{drop}, "", ""},
		"somebody else's": {func(w *world) {
			w.o.SetUp = reconcile.Read(SetUp{Login: &mssql.SetUpLogin{SID: []byte{1}}})
		}, true, nil, "", ""},
		"a log reader has it": {func(w *world) { login(w, 1) }, false, nil, "give it back first", ""},
		"it was taken from a log reader, which does not run on yet": {func(w *world) {
			login(w, 0)
			w.d.Raised = []string{"articles"}
		}, false, []string{drop}, "log readers of Publications articles", ""},
		"it is gone, and a log reader does not run on yet": {func(w *world) { w.d.Raised = []string{"articles"} }, false, nil,
			"delete its Publication, with reclaimPolicy Retain", ""},
		"who has it is not known": {func(w *world) { w.o.SetUp = reconcile.NotRead[SetUp](errors.New("no answer")) }, false,
			nil, "no answer", ""},
		"it does not answer, and a log reader may have it": {func(w *world) {
			w.o.Servers[distributor], w.d.Raised = silent, []string{"articles"}
		}, false, nil, "Publications articles may have login", ""},
		"it is lost, and a log reader may have it": {func(w *world) {
			w.lost(distributor)
			w.d.Raised = []string{"articles"}
		}, true, nil, "", "Publications articles may have"},
		"it does not answer": {func(w *world) { w.o.Servers[distributor] = silent }, true, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := deleted(t)
			w.d.Distributor.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain
			c.change(w)
			p := planDelete(w.d, w.o)
			g.Expect(p.Done).To(Equal(c.done), p.Outcome.Message)
			g.Expect(texts(p)).To(HaveLen(len(c.steps)))
			for i, text := range texts(p) {
				g.Expect(text).To(ContainSubstring(c.steps[i]))
			}
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			g.Expect(strings.Join(p.Left, "; ")).To(ContainSubstring(c.left))
			if !c.done {
				g.Expect(p.Outcome.Message).To(ContainSubstring("reclaimPolicy Retain does not leave login " + setUpLogin))
			}
		})
	}
}

// Neither a suspended Distributor nor one that waits for something else keeps the login.
func TestTheLoginThatSetsUpIsDroppedFirst(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.o.SetUp = reconcile.Read(SetUp{
		Login: &mssql.SetUpLogin{SID: w.d.System.SetUpSID, Sysadmin: true, Age: time.Hour}})
	for _, p := range []reconcile.Plan{plan(w.d, w.o), planYield(w.d, w.o)} {
		g.Expect(texts(p)).To(HaveExactElements(ContainSubstring("DROP LOGIN [" + setUpLogin + "]")))
	}
}
