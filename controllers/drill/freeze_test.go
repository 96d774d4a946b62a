// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/probe"
)

// pods are those of engines that can be frozen. Each keeps the marks of what was done to it.
type pods struct {
	now   func() time.Time
	marks map[string]time.Time
	// froze counts how often an engine was stopped; lost says that the next answer does not arrive.
	froze int
	lost  bool
}

func (p *pods) Run(_ context.Context, _ *rest.Config, _, pod, _ string, command ...string) ([]byte, error) {
	i := slices.Index(command, "--mark")
	if i < 0 {
		return nil, errors.New("not asked for")
	}
	f := probe.Frozen{Processes: []int{7}, Stopped: []int{}}
	key := pod + " " + command[i+1]
	if done, known := p.marks[key]; known {
		age := p.now().Sub(done)
		f.Before = &age
	} else {
		p.froze++
		p.marks[key], f.Stopped = p.now(), f.Processes
	}
	if p.lost {
		p.lost = false
		return nil, context.DeadlineExceeded
	}
	return json.Marshal(f)
}

// A freeze that was done is not done again when nobody could note it - the manager ended, or the answer was lost - and
// counts from when it was done: what clients missed then was no time before the fault.
func TestAFreezeIsDoneOnce(t *testing.T) {
	for name, lose := range map[string]func(*stage, *pods){
		"the manager ended":   func(*stage, *pods) {},
		"the answer was lost": func(_ *stage, p *pods) { p.lost = true },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := freeze()
			s := newStage(t, f)
			s.until(v1alpha1.DrillRunning)
			for s.d.Status.Faults[0].State != v1alpha1.FaultInjecting {
				s.look(time.Second)
			}
			p := &pods{now: func() time.Time { return s.now }, marks: map[string]time.Time{}}
			lose(s, p)
			r := &Reconciler{pods: p, now: p.now}
			carry := func() *results {
				done, err := r.carryOut(t.Context(), s.w, s.plan.Steps)
				g.Expect(err).NotTo(HaveOccurred())
				return done
			}
			s.pass(time.Second)
			s.plan = s.planned()
			carry() // and what came of it is not noted
			began := s.now
			s.pass(f.Duration.Duration + 5*time.Second)
			s.plan = s.planned()
			s.d.Status = *reported(s.plan, carry())
			g.Expect(p.froze).To(Equal(len(struckBy(s.d.Status.Faults[0]))), "once each")
			g.Expect(s.d.Status.Faults[0].Injected.Time).To(BeTemporally("==", began))
			s.look(time.Second)
			g.Expect(s.d.Status.Faults[0].State).To(Equal(v1alpha1.FaultRemoving), "its time is over")
		})
	}
}
