// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

// What an engine cannot start with, or a claim cannot become, is refused; a server that is there is not held to it when
// something else of it changes.
func TestServersThatCannotRun(t *testing.T) {
	quantity := func(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }
	memory := func(limit string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}
	}
	plain := func() *v1alpha1.SQLServer {
		volume := func() *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse("1Gi")} }
		s := &v1alpha1.SQLServer{
			Spec: v1alpha1.SQLServerSpec{
				Site:    "tukwila",
				Storage: &v1alpha1.ServerStorage{Data: volume(), Log: volume(), TempDB: volume(), Backup: volume()},
			},
		}
		s.Name = "s"
		return s
	}
	for name, c := range map[string]struct {
		was, now func(*v1alpha1.SQLServer)
		field    string
	}{
		"nothing said":           {now: func(*v1alpha1.SQLServer) {}},
		"a container of 2000 MB": {now: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("2000M") }},
		"a container of 2 GiB":   {now: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("2Gi") }},
		"a container of less": {now: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("1999M") },
			field: "spec.resources.limits.memory"},
		"an engine of less": {now: func(s *v1alpha1.SQLServer) { s.Spec.Memory = quantity("100Mi") },
			field: "spec.memory"},
		"less, as it was": {was: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("1Gi") },
			now: func(s *v1alpha1.SQLServer) { s.Spec.Resources, s.Spec.Image = memory("1Gi"), "newer" }},
		"less than before": {was: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("4Gi") },
			now: func(s *v1alpha1.SQLServer) { s.Spec.Resources = memory("1Gi") }, field: "spec.resources.limits.memory"},
		"requests above limits": {now: func(s *v1alpha1.SQLServer) {
			s.Spec.Resources = memory("2Gi")
			s.Spec.Resources.Requests = memory("3Gi").Limits
		}, field: "spec.resources.requests[memory]"},
		"requests without limits": {now: func(
			s *v1alpha1.SQLServer) {
			s.Spec.Resources.Requests = memory("3Gi").Limits
		}},
		"the site's class, now named": {was: func(*v1alpha1.SQLServer) {},
			now: func(s *v1alpha1.SQLServer) { s.Spec.Storage.Data.StorageClassName = ptr.To("fast") }},
		"another class, now named": {was: func(*v1alpha1.SQLServer) {},
			now:   func(s *v1alpha1.SQLServer) { s.Spec.Storage.Data.StorageClassName = ptr.To("capacity") },
			field: "spec.storage.data.storageClassName"},
		"a class that is named no more": {was: func(
			s *v1alpha1.SQLServer) {
			s.Spec.Storage.Data.StorageClassName = ptr.To("capacity")
		}, now: func(*v1alpha1.SQLServer) {}, field: "spec.storage.data.storageClassName"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := NewWorld()
			w.Sites["tukwila"] = &v1alpha1.Site{Spec: v1alpha1.SiteSpec{StorageClasses: v1alpha1.VolumeClasses{Data: "fast"}}}
			var old *v1alpha1.SQLServer
			if c.was != nil {
				old = plain()
				c.was(old)
			}
			now := plain()
			c.now(now)
			errs := w.server(field.NewPath("spec"), old, now)
			if c.field == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal(c.field))
		})
	}
}

// What is stored already is no reason to refuse an edit: a rule came later, or another server was declared. Nothing
// more of its kind is taken.
func TestAPodThatIsStoredIsNoReasonToRefuseAnEdit(t *testing.T) {
	shaped := func(secrets []string, env ...string) *v1alpha1.SQLServer {
		s := &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: "tukwila", Pod: &v1alpha1.ServerPod{}}}
		s.Name = "s"
		for i, secret := range secrets {
			s.Spec.Pod.Volumes = append(s.Spec.Pod.Volumes, v1alpha1.PodPart{RawExtension: runtime.RawExtension{
				Raw: fmt.Appendf(nil, `{"name":"v%d","secret":{"secretName":%q}}`, i, secret)}})
		}
		for _, name := range env {
			s.Spec.Pod.Env = append(s.Spec.Pod.Env, corev1.EnvVar{Name: name, Value: "x"})
		}
		return s
	}
	for name, c := range map[string]struct {
		old, now *v1alpha1.SQLServer
		fields   []string
	}{
		"as it was":        {old: shaped([]string{"backup-agent"}, "TZ"), now: shaped([]string{"backup-agent"}, "TZ")},
		"one is corrected": {old: shaped([]string{"backup-agent"}, "TZ"), now: shaped([]string{"backup-agent"})},
		"another Secret": {shaped([]string{"backup-agent"}), shaped([]string{"s-tls"}),
			[]string{"spec.pod.volumes[0].secret.secretName"}},
		"one more": {shaped([]string{"mine"}, "TZ"), shaped([]string{"mine", "backup-agent"}, "TZ"),
			[]string{"spec.pod.volumes[1].secret.secretName"}},
		"it was right":       {shaped(nil, "LANG"), shaped(nil, "TZ"), []string{"spec.pod.env[0].name"}},
		"it is declared new": {nil, shaped(nil, "TZ"), []string{"spec.pod.env[0].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &World{Servers: map[string]*v1alpha1.SQLServer{"s": c.now, "backup": {}}, strict: true}
			c.now.Spec.Suspend = true
			var fields []string
			for _, err := range w.server(field.NewPath("spec"), c.old, c.now) {
				fields = append(fields, err.Field)
			}
			NewWithT(t).Expect(fields).To(Equal(c.fields))
		})
	}
}

// A size that a volume's class refuses was never the volume's: it can be set back, at the server and in its Topology.
func TestASizeThatAVolumeCannotHaveIsSetBack(t *testing.T) {
	storage := func(size string) *v1alpha1.ServerStorage {
		return &v1alpha1.ServerStorage{Data: &v1alpha1.Volume{Size: resource.MustParse(size)}}
	}
	server := func(size string, stalled ...metav1.Condition) *v1alpha1.SQLServer {
		s := &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: "tukwila", Storage: storage(size)}}
		s.Name, s.Status.Conditions = "s", stalled
		return s
	}
	for name, c := range map[string]struct {
		stalled []metav1.Condition
		refused bool
	}{
		"it has grown": {refused: true},
		"it cannot grow": {stalled: []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonVolumeCannotGrow}}},
		"something else stalls": {stalled: []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonLoginConflict}}, refused: true},
		"it could not, and can now": {stalled: []metav1.Condition{{Type: v1alpha1.ConditionStalled,
			Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonVolumeCannotGrow}}, refused: true},
		"it cannot grow, and is suspended": {stalled: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSuspended},
			{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonVolumeCannotGrow}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := &World{Servers: map[string]*v1alpha1.SQLServer{"s": server("5Gi", c.stalled...)}, strict: true}
			errs := w.server(field.NewPath("spec"), server("5Gi"), server("1Gi"))
			if !c.refused {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring("cannot shrink")))
		})
	}
}
