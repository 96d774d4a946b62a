// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"geosql.dev/operator/api/v1alpha1"
)

// idle are the kinds that a person cannot suspend, each with the reason.
var idle = map[string]string{
	"AgentProfile":  "nothing acts on it",
	"Backup":        "it is an order for one backup, and waits with its policy",
	"Drill":         "it is an order for one run, which its deletion ends",
	"DrillSchedule": "suspended, it makes no drills and says so itself",
	"Failover":      "it is an order for one election: the agents act",
	"PublisherMove": "it is an order for one move, and rests with its Publication",
	"Restore":       "it is an order for one restore: the agent acts, and it rests with its server",
	"Site":          "without it nothing can be seen there",
}

// Whatever acts can be suspended, by the same field; a kind that comes later decides.
func TestWhateverActsCanBeSuspended(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var seen []string
	for kind, of := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		spec, has := of.FieldByName("Spec")
		if !has || strings.HasSuffix(kind, "List") {
			continue
		}
		seen = append(seen, kind)
		object := reflect.New(of)
		can, ok := object.Interface().(interface{ IsSuspended() bool })
		g.Expect(ok).NotTo(Equal(idle[kind] != ""), "%s: %s", kind, idle[kind])
		if !ok {
			continue
		}
		_, has = spec.Type.FieldByName("Suspend")
		g.Expect(has).To(BeTrue(), kind)
		g.Expect(can.IsSuspended()).To(BeFalse())
		object.Elem().FieldByName("Spec").FieldByName("Suspend").SetBool(true)
		g.Expect(can.IsSuspended()).To(BeTrue(), kind)
	}
	for kind := range idle {
		g.Expect(slices.Contains(seen, kind)).To(BeTrue(), kind)
	}
}
