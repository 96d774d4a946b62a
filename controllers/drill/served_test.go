// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
)

// Who is answered when he reads is served.
func TestReadersAreServed(t *testing.T) {
	g := NewWithT(t)
	f := cut()
	f.Duration = &metav1.Duration{Duration: 20 * time.Minute}
	s := newStage(t, f)
	s.d.Spec.AbortWhen = &v1alpha1.DrillAbort{UnservedFor: &metav1.Duration{Duration: 3 * time.Minute}}
	s.until(v1alpha1.DrillRunning)
	written := s.w.latest["tukwila"].Acknowledged
	s.w.clients = nil // the stage answers for none
	for range 30 {
		read := history.Instant{Wall: s.now.UnixNano(), Monotonic: s.now.UnixNano()}
		s.w.latest = map[v1alpha1.SiteName]history.Newest{"tukwila": {Acknowledged: written, Answered: read}}
		s.look(10 * time.Second)
	}
	g.Expect(s.d.Status.AbortReason).To(BeEmpty())
}
