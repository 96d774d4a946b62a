// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// vote is the group's Lease at a site.
func (gt *groupTest) vote(ctx context.Context, site string) (coordinationv1.Lease, votes.Record, error) {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: namespace, Name: votes.LeaseName(gt.group.Name)}
	if err := gt.b.Site(site).Client.Get(ctx, key, &lease); err != nil {
		return lease, votes.Record{}, err
	}
	record, err := votes.DecodeLease(&lease)
	return lease, record, err
}

// electedAt waits until a site's server holds the votes as primary, by the word of the voter at witness.
func (gt *groupTest) electedAt(site, witness string, timeout time.Duration) {
	gt.t.Helper()
	want := credentials.HostName(gt.server(site))
	bed.Wait(gt.t, want+" is primary", timeout, func(ctx context.Context) (bool, string, error) {
		_, r, err := gt.vote(ctx, witness)
		return r.State == votes.StateHeld &&
				r.Holder.Server == want, fmt.Sprintf(
				"term %d %s %s",
				r.Term,
				r.State,
				r.Holder.Server,
			), err
	})
}

// request writes a request on the Lease at a site, as kubectl geosql does when the hub is away.
func (gt *groupTest) request(site string, r votes.Request) {
	gt.t.Helper()
	r.Issued = time.Now().UTC()
	bed.Wait(gt.t, "the request is written at "+site, 20*time.Second, func(ctx context.Context) (bool, string, error) {
		lease, _, err := gt.vote(ctx, site)
		if err != nil {
			return false, "", err
		}
		r.Annotate(lease.Annotations)
		err = gt.b.Site(site).Client.Update(ctx, &lease)
		return err == nil, fmt.Sprint(err), nil
	})
}

// answered waits for the final answer to a request.
func (gt *groupTest) answered(site, id string, timeout time.Duration) votes.Answer {
	gt.t.Helper()
	var answer votes.Answer
	bed.Wait(gt.t, "request "+id+" is answered", timeout, func(ctx context.Context) (bool, string, error) {
		lease, _, err := gt.vote(ctx, site)
		if err != nil {
			return false, "", err
		}
		answer, _, err = votes.ParseAnswer(lease.Annotations)
		return answer.ID == id && answer.Final(), fmt.Sprintf("%+v", answer), err
	})
	return answer
}

// gap does something and returns the longest time without an acknowledgement from then until a condition holds and
// writes are acknowledged again.
func (w *writer) gap(t *testing.T, do, until func()) time.Duration {
	t.Helper()
	last, longest := w.lastAck(), time.Duration(0)
	watched, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			if now := w.lastAck(); now.After(last) {
				longest, last = max(longest, now.Sub(last)), now
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	do()
	until()
	w.more(t, 2*time.Minute)
	close(stop)
	<-watched
	return longest
}

// The primary's engine is killed, its pod is deleted, its site is cut off: each time another site's server is promoted
// without anybody's doing, no acknowledged write is lost, the old primary rejoins by itself, and a switchover brings
// the primary back.
func TestGroupFailover(t *testing.T) {
	onlyInSoak(t)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	gt := declareGroup(t, b, "e2efail", v1alpha1.SynchronousCommit, nil)
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	through := gt.wherever(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(through)

	another := func() {
		t.Helper()
		bed.Wait(t, "another server is primary", time.Minute, func(ctx context.Context) (bool, string, error) {
			_, r, err := gt.vote(ctx, "dublin")
			text := fmt.Sprintf("term %d %s %s", r.Term, r.State, r.Holder.Server)
			return r.State == votes.StateHeld && r.Holder.Server != credentials.HostName(gt.server("tukwila")), text, err
		})
	}
	back := func(id string) {
		t.Helper()
		_, r, err := gt.vote(t.Context(), "dublin")
		g.Expect(err).NotTo(HaveOccurred())
		gt.wait("the group is synchronized again", r.Term, 3*time.Minute)
		took := w.gap(t, func() {
			gt.request(
				"quincy",
				votes.Request{
					ID:   id,
					Kind: votes.RequestSwitchover,
					To:   credentials.HostName(gt.server("tukwila")),
					By:   "e2e",
				},
			)
		},
			func() { gt.electedAt("tukwila", "dublin", time.Minute) })
		t.Logf("%s: switched back, no acknowledgement for %.1f s", id, took.Seconds())
		g.Expect(gt.answered("dublin", id, 30*time.Second)).To(HaveField("Outcome", votes.OutcomeDone))
		_, r, err = gt.vote(t.Context(), "dublin")
		g.Expect(err).NotTo(HaveOccurred())
		gt.wait("the group is synchronized again", r.Term, 3*time.Minute)
		gt.explainTimelines()
	}

	took := w.gap(t, func() { gt.killEngine("tukwila") }, another)
	t.Logf("engine killed: no acknowledgement for %.1f s", took.Seconds())
	back("back-1")

	pod, err := podOf(t.Context(), b.Site("tukwila"), gt.servers["tukwila"])
	g.Expect(err).NotTo(HaveOccurred())
	took = w.gap(t, func() { g.Expect(b.Site("tukwila").Client.Delete(t.Context(), pod)).To(Succeed()) }, another)
	t.Logf("pod deleted: no acknowledgement for %.1f s", took.Seconds())
	gone(t, b.Site("tukwila"), pod)
	back("back-2")

	took = w.gap(t, func() {
		b.Wan(t, "cut", "tukwila", "quincy")
		b.Wan(t, "cut", "tukwila", "dublin")
	}, another)
	t.Logf("site cut off: no acknowledgement for %.1f s", took.Seconds())
	b.Wan(t, "heal", "tukwila", "quincy")
	b.Wan(t, "heal", "tukwila", "dublin")
	back("back-3")

	w.end()
	w.verify(t, through)
	for _, site := range []string{"tukwila", "quincy"} {
		shell := connectorFrom(t, b, shellAt(t, b.Site(site), namespace))
		w.verify(t, open(t, shell, gt.servers[site], credentials.RoleSA, "Content"))
	}
}

// explainTimelines logs the timelines that the votes have.
func (gt *groupTest) explainTimelines() {
	gt.t.Helper()
	lines := gt.timelines()
	for _, l := range lines[max(0, len(lines)-2):] {
		gt.t.Log(explain(l, time.Time{}))
	}
}

// timelines are those that the vote at Dublin has, none where it cannot be read: they explain, nothing is judged by
// them.
func (gt *groupTest) timelines() []votes.Timeline {
	gt.t.Helper()
	lease, _, err := gt.vote(gt.t.Context(), "dublin")
	if err != nil {
		gt.t.Logf("timelines: %v", err)
		return nil
	}
	lines, err := votes.ParseTimelines(lease.Annotations)
	if err != nil {
		gt.t.Logf("timelines: %v", err)
	}
	return lines
}

// explain says what came when: seconds since the moment, or since the term was suspected where no moment is given.
func explain(l votes.Timeline, since time.Time) string {
	text := fmt.Sprintf("term %d %s %s -> %s %s:", l.Term, l.Cause, l.From, l.To, l.Outcome)
	if since.IsZero() && l.Suspected != nil {
		since = l.Suspected.Time
	}
	for _, moment := range []struct {
		name string
		at   *metav1.MicroTime
	}{{"suspected", l.Suspected}, {"claimed", l.Claimed}, {"fenced", l.Fenced}, {"promoted", l.Promoted},
		{"first write", l.FirstWrite}, {"all synchronized", l.AllSynchronized}} {
		if moment.at != nil {
			text += fmt.Sprintf(" %s %.2f", moment.name, moment.at.Sub(since).Seconds())
		}
	}
	if l.Message != "" {
		text += " (" + l.Message + ")"
	}
	return text
}
