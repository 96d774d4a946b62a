// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// A fault that is repeated has a name and a time of its own each time, and the drill needs the time of the last.
func TestRepetition(t *testing.T) {
	g := NewWithT(t)
	s := v1alpha1.DrillSpec{Baseline: lasting(5 * time.Second), Faults: []v1alpha1.DrillFault{
		{
			Name:  "move",
			Kind:  v1alpha1.FaultSwitchover,
			At:    lasting(10 * time.Second),
			Every: lasting(30 * time.Second),
			Times: 3,
		},
		{Name: "slow", Kind: v1alpha1.FaultNetwork, At: lasting(20 * time.Second), Duration: lasting(time.Minute)},
	}}
	var names []string
	for _, o := range drill.Expand(s.Faults) {
		names = append(names, o.Name+"@"+o.At.String())
	}
	g.Expect(names).To(Equal([]string{"move-1@10s", "slow@20s", "move-2@40s", "move-3@1m10s"}))
	g.Expect(drill.Needs(s)).To(Equal(85 * time.Second))
}

// Sites that a fault cuts off from everything lose their clients with them; those that a link alone concerns do not.
func TestClientSites(t *testing.T) {
	g := NewWithT(t)
	at := func(site v1alpha1.SiteName) *v1alpha1.FaultPlace { return &v1alpha1.FaultPlace{Site: site} }
	servers := []v1alpha1.SiteName{"tukwila", "quincy", "dublin"}
	s := v1alpha1.DrillSpec{Faults: []v1alpha1.DrillFault{
		{Kind: v1alpha1.FaultPartition, Where: at("tukwila")},
		{Kind: v1alpha1.FaultNetwork, Where: at("dublin"), Network: &v1alpha1.NetworkFault{Loss: 100}},
		{Kind: v1alpha1.FaultPodKill, Where: at("quincy")},
		{Kind: v1alpha1.FaultPartition, Where: at("quincy"), Peer: at("dublin")},
	}}
	g.Expect(drill.ClientSites(s, servers)).To(Equal([]v1alpha1.SiteName{"quincy"}))
	g.Expect(drill.TakenAway(s.Faults)).To(Equal([]v1alpha1.SiteName{"tukwila", "dublin"}))
	s.Workload.Sites = []v1alpha1.SiteName{"tukwila", "quincy"}
	g.Expect(drill.ClientSites(s, servers)).To(Equal(s.Workload.Sites), "who names them wants them")
	g.Expect(drill.Remaining(s.Faults, s.Workload.Sites)).To(Equal([]v1alpha1.SiteName{"quincy"}))
	s.Workload.Sites = nil
	g.Expect(drill.ClientSites(s, servers[:1])).To(Equal(servers[:1]), "somebody must work")
}

// The image of the operator holds its program alone: without their data in it every schedule names a time zone that
// nobody knows, the one that is meant when none is given, too.
func TestTimeZonesAreInTheProgram(t *testing.T) {
	g := NewWithT(t)
	out, err := exec.Command("go", "list", "-deps", "geosql.dev/operator/cmd/geosql").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Fields(string(out))).To(ContainElement("time/tzdata"))
}
