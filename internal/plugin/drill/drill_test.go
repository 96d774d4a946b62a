// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

// A run that had no answer may begin its faults: who asked must not take it for refused, and ask twice.
func TestASilentDrillIsUnknown(t *testing.T) {
	declared := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose-tukwila"},
		Spec:       v1alpha1.DrillSpec{RunID: "1"},
		Status:     v1alpha1.DrillStatus{RunID: "1", Phase: v1alpha1.DrillCompleted},
	}
	manifest := "apiVersion: geosql.dev/v1alpha1\nkind: Drill\nmetadata: {name: lose-tukwila, namespace: web}\n"
	for name, c := range map[string]struct {
		there     []client.Object
		flags     runFlags
		arguments []string
	}{
		"by name":         {[]client.Object{declared}, runFlags{}, []string{"lose-tukwila"}},
		"a new manifest":  {nil, runFlags{file: "-"}, nil},
		"a manifest anew": {[]client.Object{declared}, runFlags{file: "-"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			terminal.ExpectUnsure(t, "kubectl geosql drill describe lose-tukwila -n web", func(err error) error {
				hub := terminal.Hub(c.there...).WithInterceptorFuncs(interceptor.Funcs{
					Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err },
					Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return err },
				}).Build()
				command := &cobra.Command{}
				command.SetContext(t.Context())
				command.SetIn(strings.NewReader(manifest))
				return c.flags.run(command, hub, "web", c.arguments)
			})
		})
	}
}

const lose = `
apiVersion: geosql.dev/v1alpha1
kind: Drill
metadata: {name: lose-tukwila, namespace: web}
spec:
  runID: "7"
  target: {availabilityGroup: content}
  faults: [{name: kill, kind: PodKill, where: {role: Primary}, at: 30s}]
`

// A dry run writes nothing, whether the drill is declared or not, and asks nobody to wait; whoever asks for the plan
// leaves what is declared as it is, and takes away what it made.
func TestADryRunWritesNothing(t *testing.T) {
	declared := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose-tukwila"},
		Spec:       v1alpha1.DrillSpec{RunID: "1"},
		Status:     v1alpha1.DrillStatus{RunID: "1", Phase: v1alpha1.DrillRunning},
	}
	for name, c := range map[string]struct {
		there     []client.Object
		flags     runFlags
		arguments []string
		says      string
		asked     int
	}{
		"by name": {[]client.Object{declared}, runFlags{dryRun: true}, []string{"lose-tukwila"},
			"would be changed: run ", 0},
		"a new manifest": {nil, runFlags{dryRun: true, file: "-"}, nil,
			"would be created: run 7 on availabilitygroup/content\n     30s after the baseline: fault kill, PodKill\n", 0},
		"a manifest anew": {[]client.Object{declared}, runFlags{dryRun: true, file: "-"}, nil, "would be changed: run ",
			0},
		"a plan": {nil, runFlags{plan: true, file: "-", timeout: time.Minute}, nil, "# 3 objects", 1},
		"a plan by name": {[]client.Object{declared}, runFlags{plan: true, timeout: time.Minute},
			[]string{"lose-tukwila"}, "# 3 objects", 1},
		"a plan nobody makes": {nil, runFlags{plan: true, file: "-", timeout: time.Millisecond}, nil, "is deleted again", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := 0
			hub := terminal.Hub(c.there...).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, hub client.WithWatch, object client.Object,
					options ...client.CreateOption) error {
					d := object.(*v1alpha1.Drill)
					if len(options) == 0 {
						asked++
						g.Expect(d.Spec.DryRun).To(BeTrue(), "it breaks nothing")
					}
					if c.flags.timeout == time.Minute {
						d.Status = v1alpha1.DrillStatus{
							RunID:   d.Spec.RunID,
							Phase:   v1alpha1.DrillCompleted,
							Message: "3 objects would be created",
						}
					}
					return hub.Create(ctx, object, options...)
				},
			}).Build()
			command, out := &cobra.Command{}, &bytes.Buffer{}
			command.SetContext(t.Context())
			command.SetIn(strings.NewReader(lose))
			command.SetOut(out)
			command.SetErr(out)
			err := c.flags.run(command, hub, "web", c.arguments)
			g.Expect(err != nil).To(Equal(c.flags.timeout == time.Millisecond), "%v", err)
			g.Expect(out.String()).To(ContainSubstring(c.says))
			g.Expect(asked).To(Equal(c.asked))
			var left v1alpha1.DrillList
			g.Expect(hub.List(t.Context(), &left)).To(Succeed())
			g.Expect(left.Items).To(HaveLen(len(c.there)))
			if len(c.there) > 0 {
				g.Expect(left.Items[0].Spec).To(Equal(declared.Spec))
			}
		})
	}
}

// A run that is not over is not replaced by another, and a drill that is not there is said at once.
func TestARunIsNotReplaced(t *testing.T) {
	g := NewWithT(t)
	running := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose-tukwila"},
		Spec:       v1alpha1.DrillSpec{RunID: "1"},
		Status:     v1alpha1.DrillStatus{RunID: "1", Phase: v1alpha1.DrillRunning},
	}
	hub := terminal.Hub(running).Build()
	command := &cobra.Command{}
	command.SetContext(t.Context())
	g.Expect((&runFlags{}).run(command, hub, "web", []string{"lose-tukwila"})).
		To(MatchError(And(ContainSubstring("run 1 of drill web/lose-tukwila is not over (Running)"),
			ContainSubstring("drill abort"))))
	g.Expect((&runFlags{}).run(command, hub, "web", []string{"lose-quincy"})).
		To(MatchError("no Drill lose-quincy in namespace web; there are: lose-tukwila"))
}

// What clients saw comes first, and the operator's word beside it.
func TestTheOperatorsWordStandsBesideWhatClientsSaw(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	g.Expect(describeDrill(&out, &v1alpha1.Drill{Status: v1alpha1.DrillStatus{
		Counts: &v1alpha1.DrillCounts{Altered: 2, Torn: 1},
		Faults: []v1alpha1.FaultStatus{{Name: "move", Effect: &v1alpha1.FaultEffect{Seen: "by quisec-0 in term 5",
			Operator: "Failover x has succeeded"}}}}})).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("2 altered, 1 torn"),
		ContainSubstring("by quisec-0 in term 5; the operator says: Failover x has succeeded")))
}
