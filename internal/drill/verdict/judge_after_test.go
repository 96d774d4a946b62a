// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
)

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func figures(failures int32, connect, slowest time.Duration) []v1alpha1.ProbeFigures {
	f := v1alpha1.ProbeFigures{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Failures: failures}
	if failures < 5 {
		f.Connect, f.Slowest = lasting(connect), lasting(slowest)
	}
	return []v1alpha1.ProbeFigures{f}
}

// A fault of the network is over when probes see what they saw before it, not when its objects are gone.
func TestWhatIsLeftOfTheNetworksFaults(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		during, after []v1alpha1.ProbeFigures
		want          v1alpha1.DrillVerdict
	}{
		"as before":         {figures(0, 200*ms, 201*ms), figures(0, 5*ms, 6*ms), v1alpha1.VerdictPassed},
		"slow still":        {figures(0, 200*ms, 201*ms), figures(0, 190*ms, 191*ms), v1alpha1.VerdictInconclusive},
		"cut, open again":   {figures(5, 0, 0), figures(0, 5*ms, 6*ms), v1alpha1.VerdictPassed},
		"cut still":         {figures(5, 0, 0), figures(5, 0, 0), v1alpha1.VerdictInconclusive},
		"nobody looked":     {figures(5, 0, 0), nil, v1alpha1.VerdictInconclusive},
		"a lossy way, once": {figures(1, 4*ms, 5*ms), figures(1, 4*ms, 5*ms), v1alpha1.VerdictPassed},
	} {
		t.Run(name, func(t *testing.T) {
			m := good()
			m.Faults[0].Kind = v1alpha1.FaultNetwork
			m.Faults[0].Effect.Before, m.Faults[0].Effect.During, m.Faults[0].Effect.After = figures(
				0,
				4*ms,
				5*ms,
			), c.during, c.after
			j := verdict.Judge(v1alpha1.DrillSpec{}, nil, m)
			NewWithT(t).Expect(j.Verdict).To(Equal(c.want), j.Message)
		})
	}
}
