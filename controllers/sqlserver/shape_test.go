// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/podshape"
)

// inTwoGroups is a group with a replica at the server's own site, and one elsewhere.
func inTwoGroups() Surroundings {
	at := func(name string, site v1alpha1.SiteName) v1alpha1.SQLServer {
		return v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	return Surroundings{
		Groups: []v1alpha1.AvailabilityGroup{{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
			Spec: v1alpha1.AvailabilityGroupSpec{
				Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "tuksec"}, {Server: "quisec"}}}}},
		Servers: []v1alpha1.SQLServer{at("quisec", "quincy"), at("tuksec", "tukwila"), at("tukalone", "tukwila"),
			*server()},
	}
}

func part(t *testing.T, value any) v1alpha1.PodPart {
	t.Helper()
	p, err := podshape.Part(value)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

func templateOf(t *testing.T, e *environ) corev1.PodTemplateSpec {
	t.Helper()
	return statefulSet(e.d, e.o, must(decide(e.d, e.o))).Spec.Template
}

// shaped is a server that uses everything that shapes a pod.
func shaped(t *testing.T) *v1alpha1.SQLServer {
	t.Helper()
	s := server()
	many := map[string]string{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		many["example.com/"+key] = key
	}
	s.Spec.InheritedMetadata = &v1alpha1.ExtraMetadata{Labels: map[string]string{"team": "db", "cost": "1"},
		Annotations: many}
	s.Spec.ServiceAccount = &v1alpha1.ServerServiceAccount{Annotations: map[string]string{"cloud/role": "r"}}
	s.Spec.Agent = &v1alpha1.ServerAgent{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"),
			corev1.ResourceMemory: resource.MustParse("512Mi")},
	}, ImagePullPolicy: corev1.PullAlways}
	affinity := part(t, corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"elsewhere"}}}}}}},
	})
	s.Spec.Scheduling = &v1alpha1.ServerScheduling{Affinity: &affinity,
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: many}}}}
	s.Spec.Pod = &v1alpha1.ServerPod{
		Metadata: &v1alpha1.ExtraMetadata{Labels: map[string]string{"team": "pods"},
			Annotations: map[string]string{"sidecar.istio.io/inject": "false"}},
		Env: []corev1.EnvVar{{Name: "KRB5_CONFIG", Value: "/etc/krb/krb5.conf"}},
		Volumes: []v1alpha1.PodPart{part(t, corev1.Volume{Name: "krb", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: "krb"}}})},
		VolumeMounts: []corev1.VolumeMount{{Name: "krb", MountPath: "/etc/krb", ReadOnly: true}},
		InitContainers: []v1alpha1.PodPart{part(t, corev1.Container{Name: "first", Image: "busybox:1",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("16Mi"), corev1.ResourceCPU: resource.MustParse("1000m"),
				corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}}})},
		Sidecars: []v1alpha1.PodPart{part(t, corev1.Container{Name: "ship", Image: "vector:1",
			VolumeMounts: []corev1.VolumeMount{{Name: "log", MountPath: "/log", ReadOnly: true},
				{Name: "backup", MountPath: "/backup"}}})},
		SecurityContext:               &corev1.PodSecurityContext{},
		TerminationGracePeriodSeconds: ptr.To[int64](300),
	}
	return s
}

// What a server declares of its pod is in the template, and what it leaves out is as it was.
func TestAShapedPod(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(shaped(t), Surroundings{}))
	g.Expect(e.d.misshapen).To(BeEmpty())
	template := templateOf(t, e)
	spec, engine, sidecar := template.Spec, template.Spec.Containers[0], template.Spec.Containers[1]
	g.Expect(template.Labels).To(And(HaveKeyWithValue("team", "pods"), HaveKeyWithValue("cost", "1"),
		HaveKeyWithValue(v1alpha1.LabelServer, "tukpub"), HaveKeyWithValue("app.kubernetes.io/name", "sql-server"),
		HaveKeyWithValue("app.kubernetes.io/instance", "tukpub")))
	g.Expect(template.Annotations).To(And(HaveKeyWithValue("sidecar.istio.io/inject", "false"),
		HaveKeyWithValue("example.com/a", "a")))
	g.Expect(spec.Containers).To(HaveLen(3))
	g.Expect(spec.InitContainers[0].Name).To(Equal("keys"), "the operator's comes first")
	g.Expect(spec.InitContainers[1].Name).To(Equal("first"))
	for _, c := range append(spec.InitContainers[1:], spec.Containers[2]) {
		g.Expect(c.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")), c.Name)
		g.Expect(*c.SecurityContext.AllowPrivilegeEscalation).To(BeFalse(), c.Name)
	}
	g.Expect(engine.Env).To(ContainElement(corev1.EnvVar{Name: "KRB5_CONFIG", Value: "/etc/krb/krb5.conf"}))
	g.Expect(engine.VolumeMounts).To(ContainElement(HaveField("MountPath", "/etc/krb")))
	g.Expect(sidecar.ImagePullPolicy).To(Equal(corev1.PullAlways))
	g.Expect(sidecar.Resources.Requests.Cpu().String()).To(Equal("500m"))
	g.Expect(sidecar.Resources.Limits.Cpu().IsZero()).To(BeTrue(), "an agent that is throttled misses its lease")
	g.Expect(sidecar.Resources.Limits.Memory().String()).To(Equal("512Mi"), "not less than is asked for")
	g.Expect(spec.SecurityContext.RunAsUser).To(BeNil(), "the site's range has one")
	g.Expect(spec.SecurityContext.FSGroup).To(BeNil())
	g.Expect(*spec.SecurityContext.RunAsNonRoot).To(BeTrue())
	g.Expect(engine.SecurityContext.RunAsGroup).To(BeNil())
	g.Expect(*spec.TerminationGracePeriodSeconds).To(BeEquivalentTo(300))
	terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	g.Expect(terms).To(HaveLen(1))
	g.Expect(terms[0].MatchExpressions).To(HaveLen(2), "where the volumes can live and the user wants the pod")
	account := account(e.d)
	g.Expect(account.ServiceAccount.Annotations).To(And(HaveKeyWithValue("cloud/role", "r"),
		HaveKeyWithValue("example.com/a", "a")))
	for _, one := range account.pairs(Account{}) {
		g.Expect(one.want.GetLabels()).To(And(HaveKeyWithValue("team", "db"),
			HaveKeyWithValue("app.kubernetes.io/component", "database")))
	}
	g.Expect(configMap(e.d).Labels).To(HaveKeyWithValue("cost", "1"))
	g.Expect(disruptionBudget(e.d, true, map[string]string{annotationEvictable: "x"}).Annotations).
		To(And(HaveKeyWithValue("example.com/h", "h"), HaveKeyWithValue(annotationEvictable, "x")))
}

// The order in which maps are walked, or in which a manifest has the fields of a part, restarts nobody.
func TestTheOrderOfFieldsRestartsNobody(t *testing.T) {
	g := NewWithT(t)
	s := shaped(t)
	want := hashOf(templateOf(t, newEnviron(t, declared(s, inTwoGroups()))))
	for range 50 {
		again := s.DeepCopy()
		for _, parts := range [][]v1alpha1.PodPart{again.Spec.Pod.Volumes, again.Spec.Pod.InitContainers,
			again.Spec.Pod.Sidecars} {
			for i := range parts {
				// Written from a map, with the fields in another order than the type's and with white space.
				var fields map[string]any
				g.Expect(json.Unmarshal(parts[i].Raw, &fields)).To(Succeed())
				text, err := json.MarshalIndent(fields, "", " ")
				g.Expect(err).NotTo(HaveOccurred())
				parts[i].Raw = text
			}
		}
		g.Expect(hashOf(templateOf(t, newEnviron(t, declared(again, inTwoGroups()))))).To(Equal(want))
	}
}

// What matters for scheduling, for the objects' keepers and for the pod's end waits for the next start of the pod, or
// is written to the running one; what the engine's process has restarts it.
func TestWhichShapesRestartAPod(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*testing.T, *v1alpha1.SQLServer)
		restarts bool
	}{
		"labels": {change: func(_ *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.InheritedMetadata = &v1alpha1.ExtraMetadata{Labels: map[string]string{"team": "db"}}
			s.Spec.Pod = &v1alpha1.ServerPod{Metadata: &v1alpha1.ExtraMetadata{
				Annotations: map[string]string{"safe-to-evict": "false"}}}
		}},
		"affinity": {change: func(t *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Scheduling = shaped(t).Spec.Scheduling
		}},
		"anti-affinity": {change: func(_ *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Scheduling = &v1alpha1.ServerScheduling{ReplicaAntiAffinity: v1alpha1.AntiAffinityRequired}
		}},
		"the time to end": {change: func(_ *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Pod = &v1alpha1.ServerPod{TerminationGracePeriodSeconds: ptr.To[int64](300)}
		}},
		"an account's annotation": {change: func(t *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.ServiceAccount = shaped(t).Spec.ServiceAccount
		}},
		"an agent's resources": {change: func(t *testing.T, s *v1alpha1.SQLServer) { s.Spec.Agent = shaped(t).Spec.Agent }},
		"an environment": {restarts: true, change: func(t *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Pod = &v1alpha1.ServerPod{Env: shaped(t).Spec.Pod.Env}
		}},
		"a sidecar": {restarts: true, change: func(t *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Pod = &v1alpha1.ServerPod{Sidecars: shaped(t).Spec.Pod.Sidecars}
		}},
		"an init container": {restarts: true, change: func(t *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Pod = &v1alpha1.ServerPod{InitContainers: shaped(t).Spec.Pod.InitContainers}
		}},
		"a user": {restarts: true, change: func(_ *testing.T, s *v1alpha1.SQLServer) {
			s.Spec.Pod = &v1alpha1.ServerPod{SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000)}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			pod := e.o.Pod.UID
			s := server()
			c.change(t, s)
			e.d = declared(s, Surroundings{})
			g.Expect(e.d.misshapen).To(BeEmpty())
			e.settle(t, 100)
			g.Expect(e.o.Pod.UID != pod).To(Equal(c.restarts))
		})
	}
}

// Labels and annotations go to the running pod and from it; what others have written there stays.
func TestARunningPodIsLabelled(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	pod := e.o.Pod.UID
	e.o.Pod = e.o.Pod.DeepCopy()
	e.o.Pod.Labels["others"] = "x"
	delete(e.o.Pod.Labels, v1alpha1.LabelApp) // as a release before has made it
	s := server()
	s.Spec.Pod = &v1alpha1.ServerPod{Metadata: &v1alpha1.ExtraMetadata{Labels: map[string]string{"team": "db"},
		Annotations: map[string]string{"note": "y"}}}
	e.d = declared(s, Surroundings{})
	e.settle(t, 100)
	g.Expect(e.o.Pod.Labels).To(And(HaveKeyWithValue("team", "db"), HaveKeyWithValue("others", "x"),
		HaveKey(v1alpha1.LabelApp)))
	g.Expect(e.o.Pod.Annotations).To(HaveKeyWithValue("note", "y"))
	e.d = declared(server(), Surroundings{})
	e.settle(t, 100)
	g.Expect(e.o.Pod.Labels).To(And(Not(HaveKey("team")), HaveKeyWithValue("others", "x")))
	g.Expect(e.o.Pod.Annotations).NotTo(Or(HaveKey("note"), HaveKey(annotationMetadata)))
	g.Expect(e.o.Pod.UID).To(Equal(pod))
}

// patched is a map after a merge patch.
func patched(have map[string]string, changes map[string]*string) map[string]string {
	after := with(map[string]string{}, have)
	for key, value := range changes {
		if after == nil {
			after = map[string]string{}
		}
		if delete(after, key); value != nil {
			after[key] = *value
		}
	}
	return after
}

// Everything that a pod has of the operator's is kept from users by its name, so that what a later release adds is
// not taken by one that somebody has declared before.
func TestWhatThePodHasIsReserved(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Memory = ptr.To(resource.MustParse("4Gi"))
	spec := templateOf(t, newEnviron(t, declared(s, Surroundings{}))).Spec
	for _, v := range spec.Volumes {
		g.Expect(podshape.OwnsVolume(v.Name)).To(BeTrue(), "volume "+v.Name)
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		g.Expect(podshape.OwnsContainer(c.Name)).To(BeTrue(), "container "+c.Name)
		for _, p := range c.Ports {
			g.Expect(podshape.OwnsPort("x", p.ContainerPort)).To(BeTrue(), "port "+p.Name)
			g.Expect(podshape.OwnsPort(p.Name, 1)).To(BeTrue(), "port "+p.Name)
		}
		for _, m := range c.VolumeMounts {
			g.Expect(podshape.OwnsFolder(m.MountPath)).To(BeTrue(), "folder "+m.MountPath)
		}
	}
	for _, v := range spec.Containers[0].Env {
		g.Expect(podshape.OwnsEnv(v.Name)).To(BeTrue(), "variable "+v.Name)
	}
	for key := range newEnviron(t, declared(s, inTwoGroups())).d.ownLabels() {
		g.Expect(podshape.OwnsLabel(key)).To(BeTrue(), "label "+key)
	}
}

// What went by admission is not run, and the condition names the field.
func TestAPodThatIsNotTaken(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Pod = &v1alpha1.ServerPod{Sidecars: []v1alpha1.PodPart{part(t, corev1.Container{Name: "mssql", Image: "x"})}}
	e := newEnviron(t, declared(s, Surroundings{}))
	p := plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonPodNotTaken))
	g.Expect(p.Outcome.Message).To(ContainSubstring("spec.pod.sidecars[0].name"))
}

// A sidecar that somebody declares and that does not run keeps the pod from being ready, which is said; the engine is
// administered meanwhile.
func TestASidecarThatEndsHoldsUpNothing(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Pod = &v1alpha1.ServerPod{Sidecars: shaped(t).Spec.Pod.Sidecars}
	e := newEnviron(t, declared(s, Surroundings{}))
	e.settle(t, 100)
	e.o.Pod = e.o.Pod.DeepCopy()
	e.o.Pod.Status.Conditions[0].Status = corev1.ConditionFalse
	e.o.Pod.Status.ContainerStatuses = append(e.o.Pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "ship",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}})
	delete(e.o.Engine.Logins, "geosql_agent")
	p := plan(e.d, e.o)
	g.Expect(p.Steps).NotTo(BeEmpty(), "its login is made")
	e.settle(t, 100)
	p = plan(e.d, e.o)
	g.Expect(p.Outcome.Message).To(ContainSubstring("container ship, which spec.pod declares, ends again and again"))
}

// Replicas of one group at one site keep apart: where they can, or rather not at all; others do not matter.
func TestReplicasKeepApart(t *testing.T) {
	g := NewWithT(t)
	around := inTwoGroups()
	e := newEnviron(t, declared(server(), around))
	apart := templateOf(t, e).Spec.Affinity.PodAntiAffinity
	g.Expect(apart.RequiredDuringSchedulingIgnoredDuringExecution).To(BeEmpty())
	g.Expect(apart.PreferredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1))
	term := apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	g.Expect(term.TopologyKey).To(Equal(corev1.LabelHostname))
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	g.Expect(err).NotTo(HaveOccurred())
	for name, matches := range map[string]bool{"tuksec": true, "quisec": false, "tukalone": false, "tukpub": false} {
		s := server()
		s.Name = name
		made := templateOf(t, newEnviron(t, declared(s, around))).Labels
		g.Expect(selector.Matches(labels.Set(made))).To(Equal(matches), name)
	}
	g.Expect(Spread(e.d)).To(And(ContainSubstring("prefers another node than tuksec"), ContainSubstring("group content")))
	g.Expect(Spread(declared(server(), Surroundings{}))).To(BeEmpty())

	s := server()
	s.Spec.Scheduling = &v1alpha1.ServerScheduling{ReplicaAntiAffinity: v1alpha1.AntiAffinityRequired}
	around.Servers[1].Status.Placement = &v1alpha1.PlacementStatus{Node: "tukwila-worker"}
	e = newEnviron(t, declared(s, around))
	apart = podSpec(e.d, nil).Affinity.PodAntiAffinity
	g.Expect(apart.PreferredDuringSchedulingIgnoredDuringExecution).To(BeEmpty())
	g.Expect(apart.RequiredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1))
	g.Expect(Spread(e.d)).To(ContainSubstring("needs another node than tuksec"))
	_, err = decide(e.d, e.o)
	g.Expect(err).To(MatchError(ContainSubstring("node tukwila-worker has tuksec")), "its volumes can live nowhere else")
}

// The claim of the agent's volume has no data: what its end costs is said as it is.
func TestClaimsThatAreBeingDeleted(t *testing.T) {
	for role, says := range map[string]string{"agent": "no data on it", "data": "the data are gone"} {
		t.Run(role, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			for r, c := range e.o.Claims {
				if string(r) == role {
					c.DeletionTimestamp = &metav1.Time{Time: start}
				}
			}
			p := plan(e.d, e.o)
			g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonVolumesTerminating))
			g.Expect(waits(p).Why).To(And(ContainSubstring("tukpub-"+role), ContainSubstring(says)))
			for _, s := range p.All() {
				g.Expect(s).NotTo(BeAssignableToTypeOf(RestartPod{}))
			}
		})
	}
}
