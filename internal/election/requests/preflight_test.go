// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

// group has a replica of each mode, and a status that was taken just now in which both that hold data could be
// promoted.
func group() *v1alpha1.AvailabilityGroup {
	seen := metav1.NewTime(begun)
	replica := func(server string, status metav1.ConditionStatus) v1alpha1.ReplicaStatus {
		return v1alpha1.ReplicaStatus{
			Server:     server,
			ObservedAt: &seen,
			Promotable: &v1alpha1.Promotability{Status: status, Reason: "Why", Message: "because"},
		}
	}
	return &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{
			{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
			{Server: "dubasy", AvailabilityMode: v1alpha1.AsynchronousCommit},
			{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
		}},
		Status: v1alpha1.AvailabilityGroupStatus{GroupID: "6a8b", Primary: "tukpub-0", Replicas: []v1alpha1.ReplicaStatus{
			replica("tukpub-0", metav1.ConditionFalse), replica("quisec-0", metav1.ConditionTrue),
		}},
	}
}

func TestPreflight(t *testing.T) {
	const switchover, failover, rejoin, reseed = v1alpha1.FailoverSwitchover, v1alpha1.FailoverFailover,
		v1alpha1.FailoverRejoin, v1alpha1.FailoverReseed
	quisec := func(change func(*v1alpha1.ReplicaStatus)) func(*v1alpha1.AvailabilityGroup) {
		return func(a *v1alpha1.AvailabilityGroup) { change(&a.Status.Replicas[1]) }
	}
	for name, c := range map[string]struct {
		spec    v1alpha1.FailoverSpec
		change  func(*v1alpha1.AvailabilityGroup)
		after   time.Duration
		verdict requests.Verdict
		reason  string
		says    string
	}{
		"a switchover": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Go},
		"without an election": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Refuse,
			reason: requests.ReasonNotFenced,
			change: func(a *v1alpha1.AvailabilityGroup) { a.Spec.ClusterType = v1alpha1.ClusterNone }},
		"to a stranger": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "other"}, verdict: requests.Refuse,
			reason: votes.ReasonNotAReplica,
			says:   "other is no replica of group content; its replicas are tukpub, quisec, dubasy, dubcfg"},
		"to a replica without data": {spec: v1alpha1.FailoverSpec{Kind: failover, To: "dubcfg", AllowDataLoss: true},
			verdict: requests.Refuse, reason: votes.ReasonNotAReplica, says: "holds no databases"},
		"a rejoin of one without data": {spec: v1alpha1.FailoverSpec{Kind: rejoin, To: "dubcfg"}, verdict: requests.Go},
		"a failover to an asynchronous one": {spec: v1alpha1.FailoverSpec{Kind: failover, To: "dubasy"},
			verdict: requests.Refuse, reason: votes.ReasonNotSynchronous},
		"a switchover to one": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "dubasy"},
			verdict: requests.Refuse, reason: votes.ReasonNotSynchronous},
		"with data loss": {spec: v1alpha1.FailoverSpec{Kind: failover, To: "dubasy", AllowDataLoss: true},
			verdict: requests.Go},
		"a reseed of an asynchronous one": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "dubasy"}, verdict: requests.Go},
		"a reseed of a database of others": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec",
			Databases: []v1alpha1.DatabaseName{"Shop"}}, verdict: requests.Refuse, reason: votes.ReasonNoSuchDatabase},
		"a reseed of what is written to beside the group": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec"},
			verdict: requests.Refuse, reason: votes.ReasonOwnData, says: "DROP DATABASE",
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Outside = []string{"Content"} })},
		"a reseed by a status as old as may be": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec"},
			verdict: requests.Refuse, reason: votes.ReasonOwnData, after: requests.FreshFor,
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Outside = []string{"Content"} })},
		"a reseed by an older one": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec"}, verdict: requests.Go,
			after:  requests.FreshFor + 1,
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Outside = []string{"Content"} })},
		"a reseed of one that was never seen": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec"},
			verdict: requests.Go, change: quisec(func(r *v1alpha1.ReplicaStatus) {
				r.Outside, r.ObservedAt = []string{"Content"}, nil
			})},
		"a reseed of that database": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec",
			Databases: []v1alpha1.DatabaseName{"Shop", "content"}}, verdict: requests.Refuse, reason: votes.ReasonOwnData,
			change: func(a *v1alpha1.AvailabilityGroup) {
				a.Spec.Databases = []v1alpha1.Database{{Name: "Content"}, {Name: "Shop"}}
				a.Status.Replicas[1].Outside = []string{"Content"}
			}},
		"a reseed of another one": {spec: v1alpha1.FailoverSpec{Kind: reseed, To: "quisec",
			Databases: []v1alpha1.DatabaseName{"shop"}}, verdict: requests.Go,
			change: func(a *v1alpha1.AvailabilityGroup) {
				a.Spec.Databases = []v1alpha1.Database{{Name: "Content"}, {Name: "Shop"}}
				a.Status.Replicas[1].Outside = []string{"Content"}
			}},
		"to nobody in particular": {spec: v1alpha1.FailoverSpec{Kind: failover}, verdict: requests.Go},
		"before there is the group": {spec: v1alpha1.FailoverSpec{Kind: failover, To: "quisec"}, verdict: requests.Wait,
			reason: requests.ReasonNotCreated,
			change: func(a *v1alpha1.AvailabilityGroup) { a.Status.GroupID = "" }},
		"a switchover without a primary": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"},
			verdict: requests.Wait, reason: votes.ReasonNoPrimary,
			change: func(a *v1alpha1.AvailabilityGroup) { a.Status.Primary = "" }},
		"a failover without a primary": {spec: v1alpha1.FailoverSpec{Kind: failover, To: "quisec"}, verdict: requests.Go,
			change: func(a *v1alpha1.AvailabilityGroup) { a.Status.Primary = "" }},
		"to one that was never seen": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Wait,
			reason: requests.ReasonStatusUnknown,
			change: func(a *v1alpha1.AvailabilityGroup) { a.Status.Replicas = a.Status.Replicas[:1] }},
		"to one of which nothing is told": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"},
			verdict: requests.Wait, reason: requests.ReasonStatusUnknown,
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Promotable = nil })},
		"to one that may have everything": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"},
			verdict: requests.Wait, reason: "Why", says: "because",
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Promotable.Status = metav1.ConditionUnknown })},
		"to one that lacks something": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Refuse,
			reason: "Why", says: "because",
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.Promotable.Status = metav1.ConditionFalse })},
		"by a status as old as may be": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Go,
			after: requests.FreshFor},
		"by an older one": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Wait,
			reason: requests.ReasonStatusStale, after: requests.FreshFor + time.Second},
		"by one of no known age": {spec: v1alpha1.FailoverSpec{Kind: switchover, To: "quisec"}, verdict: requests.Wait,
			reason: requests.ReasonStatusStale,
			change: quisec(func(r *v1alpha1.ReplicaStatus) { r.ObservedAt = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			declared := group()
			if c.change != nil {
				c.change(declared)
			}
			p := requests.Check(declared, c.spec, begun.Add(c.after))
			g.Expect(p).
				To(And(HaveField("Verdict", c.verdict), HaveField("Reason", c.reason),
					HaveField("Message", ContainSubstring(c.says))))
			g.Expect(p.Seen.IsZero()).
				To(Equal(p.Reason != "Why" && p.Reason != votes.ReasonOwnData || p.Verdict != requests.Refuse),
					"a refusal by the status tells when that was taken")
		})
	}
}

// A status of 20 seconds ago is relied on, and no older one.
func TestFreshForIsTwentySeconds(t *testing.T) {
	NewWithT(t).Expect(requests.FreshFor).To(Equal(20 * time.Second))
}

func TestServersAreKnownByObjectAndInstance(t *testing.T) {
	g := NewWithT(t)
	g.Expect(requests.SameServer("Quisec", "quisec-0")).To(BeTrue())
	g.Expect(requests.SameServer("quisec", "tukpub")).To(BeFalse())
	g.Expect(requests.SameServer("", "")).To(BeFalse(), "nobody is not the same as nobody")
	g.Expect(requests.Replica(group(), "quisec")).To(HaveField("Server", "quisec-0"))
	g.Expect(requests.Replica(group(), "other")).To(BeNil())
}

// The best is the one with the newest commit of those that hold data, answer and are not primary.
func TestTheBestHasTheNewestCommit(t *testing.T) {
	at := func(s int) *metav1.Time { return ptr.To(metav1.NewTime(begun.Add(time.Duration(s) * time.Second))) }
	replica := func(server, role string, commits ...*metav1.Time) v1alpha1.ReplicaStatus {
		r := v1alpha1.ReplicaStatus{Server: server, Role: role}
		for _, c := range commits {
			r.Databases = append(r.Databases, v1alpha1.ReplicaDatabaseStatus{Name: "Content", LastCommitTime: c})
		}
		return r
	}
	for name, c := range map[string]struct {
		replicas []v1alpha1.ReplicaStatus
		best     string
	}{
		"the first": {[]v1alpha1.ReplicaStatus{replica("a", "SECONDARY", at(5)),
			replica("b", "SECONDARY", at(4))}, "a"},
		"the last": {[]v1alpha1.ReplicaStatus{replica("a", "SECONDARY", at(4)),
			replica("b", "SECONDARY", at(5))}, "b"},
		"not the primary": {[]v1alpha1.ReplicaStatus{replica("p-0", "PRIMARY", at(9)),
			replica("b", "SECONDARY", at(5))}, "b"},
		"not a silent one": {[]v1alpha1.ReplicaStatus{replica("a", "Unknown", at(9)),
			replica("b", "SECONDARY", at(5))}, "b"},
		"not one without a commit": {[]v1alpha1.ReplicaStatus{replica("a", "SECONDARY", nil),
			replica("b", "SECONDARY", at(5)), replica("c", "SECONDARY")}, "b"},
		"by any of its databases": {[]v1alpha1.ReplicaStatus{replica("a", "SECONDARY", at(4)),
			replica("b", "SECONDARY", nil, at(5), at(3))}, "b"},
		"nobody": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			declared := group()
			declared.Status.Primary, declared.Status.Replicas = "p", c.replicas
			NewWithT(t).Expect(requests.Best(declared)).To(Equal(c.best))
		})
	}
}

// What is lost is told of each database; a copy that is ahead of all that was seen of the primary loses nothing.
func TestTheLossOfEachDatabase(t *testing.T) {
	g := NewWithT(t)
	at := func(s int) *metav1.Time { return ptr.To(metav1.NewTime(begun.Add(time.Duration(s) * time.Second))) }
	of := func(name string, commit *metav1.Time) v1alpha1.ReplicaDatabaseStatus {
		return v1alpha1.ReplicaDatabaseStatus{Name: name, LastCommitTime: commit, SynchronizationState: "NOT SYNCHRONIZING"}
	}
	declared := group()
	declared.Status.Replicas[0].Databases = []v1alpha1.ReplicaDatabaseStatus{
		of("content", at(50)),
		of("Content", at(60)),
		of("Orders", at(10)),
	}
	declared.Status.Replicas[1].Databases = []v1alpha1.ReplicaDatabaseStatus{
		of("Content", at(20)),
		of("Orders", at(11)),
		of("Users", nil),
	}
	g.Expect(requests.EstimateLoss(declared, "quisec")).To(Equal([]requests.Loss{
		{
			Database:          "Content",
			State:             "NOT SYNCHRONIZING",
			LastCommit:        at(20),
			PrimaryLastCommit: at(60),
			Estimate:          &metav1.Duration{Duration: 40 * time.Second},
		},
		{
			Database:          "Orders",
			State:             "NOT SYNCHRONIZING",
			LastCommit:        at(11),
			PrimaryLastCommit: at(11),
			Estimate:          &metav1.Duration{},
		},
		{Database: "Users", State: "NOT SYNCHRONIZING"},
	}))
	g.Expect(requests.EstimateLoss(declared, "other")).To(BeNil())
	loss := func(d time.Duration) requests.Loss { return requests.Loss{Estimate: &metav1.Duration{Duration: d}} }
	g.Expect(requests.Largest([]requests.Loss{loss(1), loss(3), loss(2)})).
		To(HaveValue(HaveField("Duration", time.Duration(3))))
	g.Expect(requests.Largest([]requests.Loss{loss(1), {}, loss(2)})).To(BeNil(), "one is not known")
	g.Expect(requests.Largest(nil)).To(BeNil())
}

// What a Failover asks the agents for: a Reseed of some databases has a kind of its own.
func TestWhatAFailoverAsksFor(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.FailoverSpec
		want votes.Request
	}{
		"a failover to any": {v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, AllowDataLoss: true,
			FencedHolder: "a-0/pod/run/n"},
			votes.Request{Kind: votes.RequestFailover, AllowDataLoss: true, FencedHolder: "a-0/pod/run/n"}},
		"a switchover": {v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverSwitchover, To: "quisec"},
			votes.Request{Kind: votes.RequestSwitchover, To: "quisec-0"}},
		"a reseed": {v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverReseed, To: "quisec"},
			votes.Request{Kind: votes.RequestReseed, To: "quisec-0"}},
		"a reseed of databases": {v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverReseed, To: "quisec",
			Databases: []v1alpha1.DatabaseName{"Content", "Shop"}},
			votes.Request{Kind: votes.RequestReseedDatabases, To: "quisec-0", Databases: []string{"Content", "Shop"}}},
	} {
		NewWithT(t).Expect(requests.Asked(c.spec)).To(Equal(c.want), name)
	}
}

// Switchovers and failovers make a replica primary, and nothing else does.
func TestWhichKindsPromote(t *testing.T) {
	for kind, promotes := range map[v1alpha1.FailoverKind]bool{
		v1alpha1.FailoverSwitchover: true, v1alpha1.FailoverFailover: true, v1alpha1.FailoverRejoin: false,
		v1alpha1.FailoverReseed: false} {
		NewWithT(t).Expect(requests.Promotes(kind)).To(Equal(promotes), "%s", kind)
	}
}
