// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/checkout"
)

// exampleDrills asks for the drills of examples/drills, all of which take about an hour.
const exampleDrills = "GEOSQL_DRILL_EXAMPLES"

// TestDrillExamples runs each example of a drill on the example topology and compares its verdict with the one that its
// manifest expects. GEOSQL_DRILL_EXAMPLES names them, separated by commas, or says all.
func TestDrillExamples(t *testing.T) {
	wanted := os.Getenv(exampleDrills)
	if wanted == "" {
		t.Skip("GEOSQL_DRILL_EXAMPLES is not set: make soak-drills runs all")
	}
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.NeedChaosMesh(t)
	b.ResetWan(t)
	t.Cleanup(func() { removeTopology(t, b) })
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(checkout.Root(), "hack", "demo"))
	command.Env = append(os.Environ(), "DEMO_INSTALL=no", "DEMO_NAMESPACE="+namespace, "DEMO_RESULTS="+t.TempDir())
	out, err := command.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)

	files, err := filepath.Glob(filepath.Join(examplesOfDrills(), "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	failing, err := filepath.Glob(filepath.Join(examplesOfDrills(), "must-fail", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	ran := 0
	for _, file := range append(files, failing...) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if d, on := exampleOf(t, file, "msdn"); on && (wanted == "all" || strings.Contains(","+wanted+",", ","+name+",")) {
			ran++
			t.Run(name, func(t *testing.T) { runExample(t, b, d) })
		}
	}
	g.Expect(ran).To(BeNumerically(">", 0), "no example is called %s", wanted)
}

// examplesOfDrills is the folder of the examples.
func examplesOfDrills() string { return filepath.Join(checkout.Root(), "examples", "drills") }

// exampleOf is the drill of a file, if it is one of that topology.
func exampleOf(t *testing.T, file, topology string) (*v1alpha1.Drill, bool) {
	t.Helper()
	data, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, document := range strings.Split("\n"+string(data), "\n---") {
		d := &v1alpha1.Drill{}
		NewWithT(t).Expect(yaml.Unmarshal([]byte(document), d)).To(Succeed(), file)
		if d.Kind == "Drill" && string(d.Spec.Target.Topology) == topology {
			d.Namespace = namespace
			return d, true
		}
	}
	return nil, false
}

// runExample runs one drill to its end. What fails it must be what the manifest says, and nothing else of the
// objectives.
func runExample(t *testing.T, b *bed.Bed, d *v1alpha1.Drill) {
	g := NewWithT(t)
	gt := &groupTest{t: t, b: b}
	dt := drillTest{gt}
	g.Expect(b.Hub().Client.Create(t.Context(), d)).To(Succeed())
	t.Cleanup(func() { dt.removeDrill(t, d) })
	overAndExpected(t, gt, d)
}

// overAndExpected waits until an example is over and compares what came of it with what its manifest says.
func overAndExpected(t *testing.T, gt *groupTest, d *v1alpha1.Drill) {
	t.Helper()
	g := NewWithT(t)
	began := time.Now()
	bed.Wait(
		t,
		"drill "+d.Name+" is over",
		drill.TimeLimit(d.Spec)+5*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(d), d)
			return d.Status.Phase == v1alpha1.DrillCompleted, fmt.Sprintf(
				"%s (%s): %s",
				d.Status.Phase,
				d.Status.Reason,
				d.Status.Message,
			), err
		},
	)
	t.Logf("%s: %s after %.0f s: %s", d.Name, d.Status.Verdict, time.Since(began).Seconds(), d.Status.Message)
	for _, f := range d.Status.Faults {
		if f.Effect != nil {
			t.Logf("fault %s: asked %s; seen (%s) %s", f.Name, f.Effect.Asked, f.Effect.Status, f.Effect.Seen)
		}
	}
	(drillTest{gt}).report(t, d)
	g.Expect(string(d.Status.Verdict)).To(Equal(d.Annotations["geosql.dev/expected-verdict"]), d.Status.Message)
	missed := strings.Split(d.Annotations["geosql.dev/expected-failure"], ",")
	for _, o := range d.Status.Objectives {
		switch {
		case o.Name == missed[0]:
			g.Expect(o.Verdict).To(Equal(d.Status.Verdict), "%s: %s", o.Name, o.Evidence)
		case slices.Contains(missed, o.Name):
			g.Expect(o.Verdict).NotTo(Equal(v1alpha1.VerdictPassed), "%s: %s", o.Name, o.Evidence)
		default:
			g.Expect(o.Verdict).To(Equal(v1alpha1.VerdictPassed), "%s: %s", o.Name, o.Evidence)
		}
	}
}
