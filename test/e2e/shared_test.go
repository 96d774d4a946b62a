// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/test/e2e/bed"
)

// A group of three servers takes about a hundred processor seconds to be made and removed. Those below are each used by
// several tests, one after another. A test changes of them what it needs and puts it back; each is found synchronized,
// with failover policy Automatic, and with any of its replicas as primary.
var (
	// groupA is that of tests which ask for changes of the group itself, groupB that of tests which need it to be left
	// alone or do faults to it.
	groupA = sharedGroup("e2ea", func(*testing.T) *v1alpha1.GroupTimings { return nil })
	groupB = sharedGroup("e2eb", soonExpired)
)

// serverInQuincy is a server of no group.
var serverInQuincy = &bed.Shared[v1alpha1.SQLServer]{
	Make: func(t *testing.T, server *v1alpha1.SQLServer) {
		t.Helper()
		b := bed.Open(t, client.Options{Scheme: operatorScheme()})
		newServer(t, b, "e2equi", "quincy", nil).DeepCopyInto(server)
		createServer(t, b, server)
		waitForServer(t, b, server, 3*time.Minute)
	},
	Well: func(t *testing.T, server *v1alpha1.SQLServer) error {
		b := bed.Open(t, client.Options{Scheme: operatorScheme()})
		return bed.Until(
			t,
			"SQLServer "+server.Name+" is ready",
			wellWithin,
			func(ctx context.Context) (bool, string, error) {
				err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
				ready, text := describeServer(server)
				return ready, text, err
			},
		)
	},
	Remove: func(t *testing.T, server *v1alpha1.SQLServer) {
		removeServer(t, bed.Open(t, client.Options{Scheme: operatorScheme()}), server)
	},
}

// wellWithin bounds the time that a group has to be well again after a test: all its servers may be on their way back.
const wellWithin = 4 * time.Minute

func sharedGroup(name string, timings func(*testing.T) *v1alpha1.GroupTimings) *bed.Shared[groupTest] {
	return &bed.Shared[groupTest]{
		Make: func(t *testing.T, gt *groupTest) {
			t.Helper()
			gt.createServers(t, name)
			gt.createGroup(name, v1alpha1.ConfigurationOnly, func(g *v1alpha1.AvailabilityGroup) {
				usual(g)
				g.Spec.Timings = timings(t)
			})
			gt.wait("the group is synchronized", 1, 5*time.Minute)
		},
		Well:   func(t *testing.T, gt *groupTest) error { return gt.of(t).well(t) },
		Remove: func(t *testing.T, gt *groupTest) { gt.of(t).removeAll(t) },
	}
}

// usual is what a shared group has besides what all have: both copies can be read.
func usual(g *v1alpha1.AvailabilityGroup) { g.Spec.Replicas[0].Readable = true }

// inAll tells whether what differs little from another case, or takes longer, is to be done, too: in `make e2e-all` and
// `make soak`.
func inAll() bool { return os.Getenv(allTests) != "" || os.Getenv(soakRounds) != "" }

// allTests asks for the tests of `make e2e-all`.
const allTests = "GEOSQL_E2E_ALL"

// onlyInAll skips what `make e2e` leaves out.
func onlyInAll(t *testing.T) {
	t.Helper()
	if !inAll() {
		t.Skip("in make e2e-all only")
	}
}

// createServers creates one server per site. Next to nobody gives a database less of a processor; with less, what the
// nodes' API servers and kubelets do after a fault would come first.
func (gt *groupTest) createServers(t *testing.T, name string) {
	t.Helper()
	*gt = *newGroupTest(t, bed.Open(t, client.Options{Scheme: operatorScheme()}))
	for _, site := range groupSites {
		gt.servers[site] = newServer(t, gt.b, name+site[:1], site, func(s *v1alpha1.SQLServerSpec) {
			s.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("250m")
		})
		createServer(t, gt.b, gt.servers[site])
	}
}

// of is the group in the hands of a test.
func (gt *groupTest) of(t *testing.T) *groupTest {
	held := *gt
	held.t = t
	return &held
}

// inTurn is a shared group in the hands of the test whose turn it is.
func inTurn(t *testing.T, s *bed.Shared[groupTest]) *groupTest {
	t.Helper()
	gt := s.Get(t).of(t)
	gt.wait("the group is synchronized", 1, time.Minute)
	return gt
}

// well waits until the group is as a test may find it.
func (gt *groupTest) well(t *testing.T) error {
	return bed.Until(t, gt.group.Name+" is well", wellWithin, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		if err != nil || c.Status != metav1.ConditionTrue {
			return false, c.Reason + ": " + c.Message, err
		}
		spec, status := gt.group.Spec, gt.group.Status
		if turn := gt.group.Annotations[turnAnnotation]; turn != "" || c.ObservedGeneration != gt.group.Generation ||
			spec.FailoverPolicy != v1alpha1.FailoverAutomatic {
			return false, fmt.Sprintf(
				"turn %q, policy %s, generation %d seen of %d",
				turn,
				spec.FailoverPolicy,
				c.ObservedGeneration,
				gt.group.Generation,
			), nil
		}
		if len(status.Voters) != len(groupSites) ||
			meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionVotesComplete) {
			return false, fmt.Sprintf("it has %d votes", len(status.Voters)), nil
		}
		for _, site := range groupSites {
			_, r, err := gt.vote(ctx, site)
			if err != nil || r.State != votes.StateHeld || r.Holder.Server != status.Primary {
				return false, fmt.Sprintf("the vote of %s is %s, %s", site, r.State, r.Holder.Server), err
			}
		}
		return true, "", nil
	})
}

// removeAll takes the group and its servers away.
func (gt *groupTest) removeAll(t *testing.T) {
	t.Helper()
	gt.remove()
	servers := slices.Collect(maps.Values(gt.servers))
	deleteServers(t, gt.b, servers...)
	for _, s := range servers {
		removeServer(t, gt.b, s)
	}
}

// policy declares who may promote another replica, and the former policy again when the test ends.
func (gt *groupTest) policy(policy v1alpha1.FailoverPolicy) {
	gt.t.Helper()
	former := gt.group.Spec.FailoverPolicy
	gt.patch(func(g *v1alpha1.AvailabilityGroup) { g.Spec.FailoverPolicy = policy })
	bed.Wait(
		gt.t,
		"the agents are told the policy "+string(policy),
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			c, err := gt.ready(ctx)
			return c.Status == metav1.ConditionTrue &&
				c.ObservedGeneration == gt.group.Generation, c.Reason + ": " + c.Message, err
		},
	)
	gt.t.Cleanup(func() { gt.patch(func(g *v1alpha1.AvailabilityGroup) { g.Spec.FailoverPolicy = former }) })
}

// patch changes the declaration of the group.
func (gt *groupTest) patch(change func(*v1alpha1.AvailabilityGroup)) {
	gt.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(gt.group), gt.group)
	if err == nil {
		before := client.MergeFrom(gt.group.DeepCopy())
		change(gt.group)
		err = gt.b.Hub().Client.Patch(ctx, gt.group, before)
	}
	if err != nil {
		gt.t.Errorf("change AvailabilityGroup %s: %v", gt.group.Name, err)
	}
}
