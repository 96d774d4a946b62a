// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
)

// there is a world with the site at which every server is, of the namespace that has no name.
func there() *World {
	w := NewWorld()
	w.Sites["tukwila"] = &v1alpha1.Site{Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{""}}}
	return w
}

// limited is a server of an image with a limit of memory.
func limited(image string) *v1alpha1.SQLServerSpec {
	return &v1alpha1.SQLServerSpec{Site: "tukwila", Image: image, Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}}}
}

// What no document says of SQL Server on Linux is let through with a warning at the field.
func TestWhatIsLetThroughWithAWarning(t *testing.T) {
	g := NewWithT(t)
	spec := *limited("engine:1")
	spec.Startup = &v1alpha1.StartupOptions{TraceFlags: []int32{1204}}
	g.Expect(warnServer(there(), &v1alpha1.SQLServer{Spec: spec})).To(BeEmpty())
	spec.Startup.CheckpointThrottleMBps = ptr.To[int32](750)
	g.Expect(warnServer(there(), &v1alpha1.SQLServer{Spec: spec})).
		To(HaveExactElements(HavePrefix("spec.startup.checkpointThrottleMBps becomes the startup option -k750")))
	topology := &v1alpha1.Topology{Spec: v1alpha1.TopologySpec{Servers: []v1alpha1.TopologyServer{
		{Name: "a", SQLServerSpec: *limited("engine:1")}, {Name: "b", SQLServerSpec: spec}}}}
	g.Expect(warnTopology(there(), topology)).To(HaveExactElements(
		HavePrefix("spec.servers[1].startup.checkpointThrottleMBps")))
}

// What the timings of a group cost is said at the field: the time until a lost primary is replaced, and engines with
// which two could write.
func TestWhatTimingsCost(t *testing.T) {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	late, rto := HavePrefix("spec.timings: two servers may write"), HavePrefix("spec.objectives.rto: the votes")
	for name, c := range map[string]struct {
		change func(*v1alpha1.AvailabilityGroup)
		warns  []any
	}{
		"nothing is declared": {func(*v1alpha1.AvailabilityGroup) {}, nil},
		"an objective that it can meet": {func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Objectives = &v1alpha1.Objectives{RTO: seconds(30)}
		}, nil},
		"one that it cannot": {func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Objectives = &v1alpha1.Objectives{RTO: seconds(17)}
		}, []any{And(rto, ContainSubstring("count for 14s"))}},
		"the timings of releases before, declared": {func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Timings = &v1alpha1.GroupTimings{VoteExpiry: seconds(10)}
			g.Spec.Objectives = &v1alpha1.Objectives{RTO: seconds(15)}
		}, []any{And(late, ContainSubstring("more than 1.9s late"), ContainSubstring("a voteExpiry of 13.2s"))}},
		"those of a group of before": {func(g *v1alpha1.AvailabilityGroup) {
			g.Status.Timings = orders.Recorded(ballot.DefaultTimings())
		}, []any{And(late, ContainSubstring("keeps the timings"), Not(ContainSubstring("voteExpiry of")))}},
		"one of before that nobody has recorded yet": {func(g *v1alpha1.AvailabilityGroup) {
			g.Status.GroupID = "044E594D-30D3-4C10-85B2-C65CE33D1B7F"
		}, []any{And(late, ContainSubstring("keeps the timings"))}},
		"longer votes": {func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.Timings = &v1alpha1.GroupTimings{VoteExpiry: seconds(20)}
		}, nil},
		"a group without votes": {func(g *v1alpha1.AvailabilityGroup) {
			g.Spec.ClusterType = v1alpha1.ClusterNone
			g.Spec.Objectives = &v1alpha1.Objectives{RTO: seconds(1)}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := &v1alpha1.AvailabilityGroup{}
			c.change(group)
			g.Expect(warnGroup(NewWorld(), group)).To(HaveExactElements(c.warns...))
		})
	}
}

// A policy that leaves something unprotected, or asks for what a group does not have, is let through and warned of.
func TestWhatABackupPolicyDoesNotProtectFrom(t *testing.T) {
	w := withEditions(map[string]v1alpha1.Edition{"a": v1alpha1.EditionStandard, "b": v1alpha1.EditionStandard})
	w.Groups["content"] = &v1alpha1.AvailabilityGroup{Spec: v1alpha1.AvailabilityGroupSpec{
		Replicas: []v1alpha1.Replica{{Server: "a"}, {Server: "b"}}}}
	w.Stores["s3"] = &v1alpha1.BackupStore{}
	for name, c := range map[string]struct {
		change func(*v1alpha1.BackupPolicySpec)
		warns  []any
	}{
		"nothing is missing": {func(*v1alpha1.BackupPolicySpec) {}, nil},
		"another store": {func(p *v1alpha1.BackupPolicySpec) { p.Stores[0] = "s4" },
			[]any{HavePrefix("spec.stores[0]: there is no BackupStore s4 yet")}},
		"no store": {func(p *v1alpha1.BackupPolicySpec) { p.Stores = nil }, []any{HavePrefix("spec.stores:")}},
		"no retention": {func(p *v1alpha1.BackupPolicySpec) { p.Retention = nil },
			[]any{HavePrefix("spec.retention:")}},
		"no log": {func(p *v1alpha1.BackupPolicySpec) { p.Log.Mode = v1alpha1.LogBackupNone },
			[]any{HavePrefix("spec.log.mode:")}},
		"at a basic secondary": {func(p *v1alpha1.BackupPolicySpec) { p.Replica = v1alpha1.BackupPreferSecondary },
			[]any{And(HavePrefix("spec.replica:"), ContainSubstring("SQLServer a"))}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.BackupPolicy{Spec: v1alpha1.BackupPolicySpec{
				Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}, Stores: []v1alpha1.ObjectName{"s3"},
				Log: &v1alpha1.LogBackups{Mode: v1alpha1.LogBackupScheduled}, Replica: v1alpha1.BackupAtPrimary,
				Retention: &v1alpha1.BackupRetention{Fulls: 2}}}
			c.change(&p.Spec)
			NewWithT(t).Expect(warnBackupPolicy(w, p)).To(HaveExactElements(c.warns...))
		})
	}
}
