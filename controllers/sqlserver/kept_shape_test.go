// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// What is not taken any more, by a new rule or since somebody declared another server, leaves a server that runs as it
// is: it keeps its pod's template, and everything else of it goes on.
func TestAPodThatIsTakenNoMoreHoldsUpNothingElse(t *testing.T) {
	zone := corev1.EnvVar{Name: "TZ", Value: "Europe/Dublin"}
	backup := v1alpha1.SQLServer{}
	backup.Namespace, backup.Name = "web", "backup"
	mounted := server()
	mounted.Spec.Pod = &v1alpha1.ServerPod{Volumes: []v1alpha1.PodPart{part(t, corev1.Volume{Name: "mine",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "backup-agent"}}})}}
	zoned := server()
	zoned.Spec.Pod = &v1alpha1.ServerPod{Env: []corev1.EnvVar{zone}}
	for name, c := range map[string]struct {
		server *v1alpha1.SQLServer
		around Surroundings
		// made is what the server's pod has of it.
		made  func(*corev1.PodSpec)
		has   func(Gomega, corev1.PodSpec)
		field string
	}{
		"a rule of a later release": {server: zoned, field: "spec.pod.env[0].name",
			made: func(s *corev1.PodSpec) { s.Containers[0].Env = append(s.Containers[0].Env, zone) },
			has:  func(g Gomega, s corev1.PodSpec) { g.Expect(s.Containers[0].Env).To(ContainElement(zone)) }},
		"a server that is declared later": {server: mounted, field: "spec.pod.volumes[0].secret.secretName",
			around: Surroundings{Servers: []v1alpha1.SQLServer{backup}},
			has:    func(g Gomega, s corev1.PodSpec) { g.Expect(s.Volumes).To(ContainElement(HaveField("Name", "mine"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := server()
			if c.made == nil {
				before = c.server
			}
			e := newEnviron(t, declared(before.DeepCopy(), Surroundings{}))
			e.settle(t, 1)
			if c.made != nil {
				c.made(&e.o.StatefulSet.Spec.Template.Spec)
				e.startPod()
			}
			pod := e.o.Pod.UID
			e.d = declared(c.server.DeepCopy(), c.around)
			settled := func() []string {
				t.Helper()
				p, done := e.settle(t, 1)
				g.Expect(p.Outcome).To(And(HaveField("Reason", v1alpha1.ReasonPodKept),
					HaveField("Message", ContainSubstring(c.field))))
				g.Expect(e.serves(p)).To(BeTrue(), "other servers go by it")
				c.has(g, e.o.Pod.Spec)
				return done
			}
			settled()
			g.Expect(e.o.Pod.UID).To(Equal(pod))
			g.Expect(settled()).To(BeEmpty())

			// Another release of the operator comes.
			e.d.AgentImage = "geosql:2"
			g.Expect(settled()).To(ContainElement(ContainSubstring("replace the sidecar")))
			g.Expect(e.o.Pod.UID).To(Equal(pod))
			g.Expect(e.o.Pod.Spec.Containers[1].Image).To(Equal("geosql:2"))

			// Its certificate is due, and then another image is declared.
			e.o.Now = start.Add(300 * 24 * time.Hour)
			g.Expect(settled()).To(ContainElement(ContainSubstring("issue a certificate")))
			g.Expect(e.o.Pod.UID).NotTo(Equal(pod))
			pod = e.o.Pod.UID
			g.Expect(settled()).To(BeEmpty())
			e.d.Server.Spec.Image = "mssql:2022-CU20"
			settled()
			g.Expect(e.o.Pod.UID).NotTo(Equal(pod))
			g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022-CU20"))

			// It had the turn of its group, and gives it back.
			e.hosts(Turn{Group: "content", Declared: true, Primary: "quisec", Holder: "tukpub"})
			e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
			g.Expect(plan(e.d, e.o).All()).To(ContainElement(ReleaseTurn{Group: "content"}))

			// It is corrected.
			e.d.Groups, e.o.Engine.Groups, e.o.Turns = nil, nil, nil
			corrected := server()
			corrected.Spec.Image = e.d.Server.Spec.Image
			e.d = declared(corrected, c.around)
			p, _ := e.settle(t, 1)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), p.Outcome.Message)
		})
	}
}

// What goes into every object must be right: there is no going on without.
func TestMetadataThatIsNotTakenStopsAServer(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 1)
	s := server()
	s.Spec.InheritedMetadata = &v1alpha1.ExtraMetadata{Labels: map[string]string{v1alpha1.LabelServer: "another"}}
	e.d = declared(s, Surroundings{})
	p := plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPodNotTaken))
}
