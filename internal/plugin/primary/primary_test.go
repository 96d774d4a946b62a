// SPDX-License-Identifier: Apache-2.0

//go:build integration

package primary

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/terminal"
)

// votedGroup is a group in term 3 whose primary tukpub is known, with quisec synchronized and dubasy behind by 7 s.
func votedGroup(now time.Time) *v1alpha1.AvailabilityGroup {
	at := func(ago time.Duration) *metav1.Time {
		return ptr.To(metav1.NewTime(now.Add(-ago).Truncate(time.Second)))
	}
	database := func(state string, commit *metav1.Time) []v1alpha1.ReplicaDatabaseStatus {
		return []v1alpha1.ReplicaDatabaseStatus{{Name: "Content", SynchronizationState: state, LastCommitTime: commit}}
	}
	g := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"}}
	g.Spec = v1alpha1.AvailabilityGroupSpec{
		InitialPrimary: "tukpub",
		Databases:      []v1alpha1.Database{{Name: "Content"}},
		Replicas: []v1alpha1.Replica{
			{
				Server:           "tukpub",
				AvailabilityMode: v1alpha1.SynchronousCommit,
			}, {Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
			{
				Server:           "quithird",
				AvailabilityMode: v1alpha1.SynchronousCommit,
			}, {Server: "dubasy", AvailabilityMode: v1alpha1.AsynchronousCommit},
		},
	}
	g.Status = v1alpha1.AvailabilityGroupStatus{GroupID: "6a8b", Primary: "tukpub-0", Term: 3,
		Voters: []v1alpha1.VoterStatus{
			{Site: "tukwila", State: "Held", Term: 3, Holder: "tukpub-0", HolderIdentity: "tukpub-0/pod/engine"},
			{Site: "quincy", State: "Held", Term: 2, Holder: "quisec-0", HolderIdentity: "quisec-0/pod/engine"},
		},
		Replicas: []v1alpha1.ReplicaStatus{
			{
				Server:     "tukpub-0",
				Role:       "PRIMARY",
				ObservedAt: at(time.Second),
				Databases:  database("SYNCHRONIZED", at(time.Second)),
			},
			{
				Server:     "quisec-0",
				Role:       "SECONDARY",
				ObservedAt: at(time.Second),
				Databases:  database("SYNCHRONIZED", at(time.Second)),
				Promotable: &v1alpha1.Promotability{Status: metav1.ConditionTrue, Reason: "Synchronized"},
			},
			{
				Server:     "quithird-0",
				Role:       "SECONDARY",
				ObservedAt: at(time.Second),
				Databases:  database("REVERTING", at(time.Minute)),
				Promotable: &v1alpha1.Promotability{
					Status:  metav1.ConditionFalse,
					Reason:  "Reverting",
					Message: "database Content is reverting: wait until it is synchronized",
				},
			},
			{
				Server:     "dubasy-0",
				Role:       "SECONDARY",
				ObservedAt: at(time.Second),
				Databases:  database("SYNCHRONIZING", at(8*time.Second)),
			},
		}}
	return g
}

// hubOf is a real hub with the group and no operator.
func hubOf(t *testing.T) (*apiserver.Server, string) {
	t.Helper()
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	group := votedGroup(time.Now().Add(time.Hour))
	status := group.Status
	g.Expect(hub.Client.Create(t.Context(), group)).To(Succeed())
	group.Status = status
	for i := range group.Status.Replicas {
		// The status stays fresh for the whole test.
		group.Status.Replicas[i].ObservedAt = ptr.To(metav1.NewTime(time.Now().Add(time.Hour)))
	}
	g.Expect(hub.Client.Status().Update(t.Context(), group)).To(Succeed())
	return hub, hub.KubeconfigFile(t)
}

// failovers of the hub.
func failovers(t *testing.T, hub *apiserver.Server) []v1alpha1.Failover {
	t.Helper()
	var list v1alpha1.FailoverList
	NewWithT(t).Expect(hub.Client.List(t.Context(), &list, client.InNamespace("web"))).To(Succeed())
	return list.Items
}

func TestRequestsAgainstTheHub(t *testing.T) {
	hub, kubeconfig := hubOf(t)
	at := []string{"--kubeconfig", kubeconfig, "-n", "web"}
	clear := func() {
		NewWithT(t).Expect(hub.Client.DeleteAllOf(t.Context(), &v1alpha1.Failover{}, client.InNamespace("web"))).To(Succeed())
	}
	for _, c := range []struct {
		name      string
		command   func() *cobra.Command
		arguments string
		input     string
		spec      *v1alpha1.FailoverSpec
		text      string
		refused   string
	}{
		{name: "switchover", command: NewSwitchoverCommand, arguments: "content --to quisec-0",
			spec: &v1alpha1.FailoverSpec{Kind: "Switchover", To: "quisec", ExpectedTerm: ptr.To[int64](3)},
			text: "created: Switchover of group content, quisec"},
		{name: "switchover to a replica that reverts", command: NewSwitchoverCommand, arguments: "content --to quithird",
			spec: &v1alpha1.FailoverSpec{Kind: "Switchover", To: "quithird", ExpectedTerm: ptr.To[int64](3)},
			text: "note: database Content is reverting"},
		{name: "switchover to an asynchronous replica", command: NewSwitchoverCommand, arguments: "content --to dubasy",
			refused: "may lack acknowledged writes"},
		{name: "switchover to a stranger", command: NewSwitchoverCommand, arguments: "content --to nobody",
			refused: "its replicas are tukpub, quisec, quithird, dubasy"},
		{name: "of no group", command: NewSwitchoverCommand, arguments: "other --to quisec",
			refused: "no AvailabilityGroup other in namespace web; there are: content"},
		{name: "failover", command: NewFailoverCommand, arguments: "content", spec: &v1alpha1.FailoverSpec{Kind: "Failover"}},
		{name: "failover that loses, not confirmed", command: NewFailoverCommand,
			arguments: "content --to dubasy --allow-data-loss", refused: "not confirmed, nothing was changed", text: "7s"},
		{name: "failover that loses, wrongly confirmed", command: NewFailoverCommand,
			arguments: "content --to dubasy --allow-data-loss", input: "yes\n", refused: `"yes" is not content`},
		{name: "failover that loses", command: NewFailoverCommand, arguments: "content --to dubasy --allow-data-loss",
			input: "content\n",
			spec:  &v1alpha1.FailoverSpec{Kind: "Failover", To: "dubasy", AllowDataLoss: true, ExpectedTerm: ptr.To[int64](3)},
			text:  "SYNCHRONIZING"},
		{name: "with a holder that is fenced", command: NewFailoverCommand,
			arguments: "content --confirm-fenced tukpub --yes",
			spec: &v1alpha1.FailoverSpec{Kind: "Failover", FencedHolder: "tukpub-0/pod/engine/-",
				ExpectedTerm: ptr.To[int64](3)}},
		{name: "with a fenced server that is not the holder", command: NewFailoverCommand,
			arguments: "content --confirm-fenced quisec --yes", refused: "the votes are held by tukpub-0/pod/engine"},
		{name: "pause", command: NewPauseCommand, arguments: "content", spec: &v1alpha1.FailoverSpec{Kind: "Pause"}},
		{name: "resume", command: NewResumeCommand, arguments: "content", spec: &v1alpha1.FailoverSpec{Kind: "Resume"}},
		{name: "rejoin, not confirmed", command: NewRejoinCommand, arguments: "content tukpub", refused: "not confirmed"},
		{name: "rejoin", command: NewRejoinCommand, arguments: "content tukpub --yes",
			spec: &v1alpha1.FailoverSpec{Kind: "Rejoin", To: "tukpub"}},
		{name: "reseed", command: NewReseedCommand, arguments: "content tukpub --yes --expires 5m",
			spec: &v1alpha1.FailoverSpec{Kind: "Reseed", To: "tukpub", Expires: &metav1.Duration{Duration: 5 * time.Minute}}},
		{name: "reseed of one database", command: NewReseedCommand, arguments: "content tukpub --database Content --yes",
			spec: &v1alpha1.FailoverSpec{Kind: "Reseed", To: "tukpub", Databases: []v1alpha1.DatabaseName{"Content"}}},
		{name: "reseed of a database of others", command: NewReseedCommand, arguments: "content tukpub --database Shop --yes",
			refused: "Shop is no database of group content"},
		{name: "for ever", command: NewPauseCommand, arguments: "content --expires 100h",
			refused: "--expires must be between"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			defer clear()
			text, err := terminal.Run(t, c.command(), c.input, append(strings.Fields(c.arguments), at...)...)
			g.Expect(text).To(ContainSubstring(c.text))
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				g.Expect(failovers(t, hub)).To(BeEmpty(), "nothing was touched")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			made := failovers(t, hub)
			g.Expect(made).To(HaveLen(1))
			c.spec.Group = "content"
			if c.spec.Expires == nil {
				c.spec.Expires = &metav1.Duration{Duration: 2 * time.Minute}
			}
			g.Expect(made[0].Spec).To(Equal(*c.spec))
		})
	}
	t.Run("waits for the end and shows the timeline", func(t *testing.T) {
		defer clear()
		testWait(t, hub, at, v1alpha1.FailoverSucceeded, "")
	})
	t.Run("fails when the agents refuse", func(t *testing.T) {
		defer clear()
		testWait(t, hub, at, v1alpha1.FailoverRefused, "Refused: because (Suspended)")
	})
	t.Run("ends at a question when it is interrupted", func(t *testing.T) {
		g := NewWithT(t)
		text, err := interrupted(
			t,
			NewFailoverCommand(),
			"Type the group's name",
			append([]string{"content", "--to", "dubasy", "--allow-data-loss"}, at...)...)
		g.Expect(err).To(MatchError("interrupted, nothing was changed"))
		g.Expect(text).To(ContainSubstring("WOULD LOSE"))
		g.Expect(failovers(t, hub)).To(BeEmpty())
	})
	t.Run("says that it goes on when it is interrupted", func(t *testing.T) {
		g := NewWithT(t)
		defer clear()
		_, err := interrupted(
			t,
			NewSwitchoverCommand(),
			"waiting for the operator",
			append([]string{"content", "--to", "quisec", "--wait"}, at...)...)
		g.Expect(err).
			To(MatchError(ContainSubstring("has not ended before this command was interrupted; it goes on: kubectl get " +
				"failover -n web")))
		g.Expect(failovers(t, hub)).To(HaveLen(1))
	})
}

// interrupted runs a command whose input never comes, and interrupts it once it has said something.
func interrupted(t *testing.T, command *cobra.Command, said string, arguments ...string) (string, error) {
	t.Helper()
	g := NewWithT(t)
	never, input := io.Pipe()
	t.Cleanup(func() { _ = input.Close() })
	out := gbytes.NewBuffer()
	command.SetIn(never)
	command.SetOut(out)
	command.SetErr(out)
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(arguments)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	g.Eventually(out, time.Minute).Should(gbytes.Say(said))
	interrupt()
	var err error
	g.Eventually(ended, time.Minute).Should(Receive(&err))
	return string(out.Contents()), err
}

// testWait lets a switchover end as an operator would write it.
func testWait(t *testing.T, hub *apiserver.Server, at []string, outcome v1alpha1.FailoverOutcome, want string) {
	g := NewWithT(t)
	go func() {
		for tick(t.Context()) {
			var list v1alpha1.FailoverList
			_ = hub.Client.List(t.Context(), &list, client.InNamespace("web"))
			for _, f := range list.Items {
				begun := metav1.NewMicroTime(time.Now())
				f.Status = v1alpha1.FailoverStatus{
					Phase:   v1alpha1.FailoverCompleted,
					Outcome: outcome,
					Reason:  "Suspended",
					Message: "because",
					Term:    4,
					From:    "tukpub-0",
					To:      "quisec-0",
					Timeline: &v1alpha1.FailoverTimeline{
						Suspected: &begun,
						Promoted:  ptr.To(metav1.NewMicroTime(begun.Add(750 * time.Millisecond))),
					},
				}
				_ = hub.Client.Status().Update(t.Context(), &f)
			}
		}
	}()
	text, err := terminal.Run(
		t,
		NewSwitchoverCommand(),
		"",
		append([]string{"content", "--to", "quisec", "--wait", "--timeout", "20s"}, at...)...)
	g.Expect(text).To(And(ContainSubstring("term 4: tukpub-0 -> quisec-0"), MatchRegexp(`promoted +\S+ +\+750ms`)))
	if want == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	g.Expect(err).To(MatchError(ContainSubstring(want)))
}

// Any site that is a voter takes requests: it needs neither the hub nor the kinds of the operator.
func TestRequestsAtASite(t *testing.T) {
	g := NewWithT(t)
	site := apiserver.StartMember(t)
	site.Namespace(t, "web")
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	held := votes.Holder{Server: "tukpub-0", PodUID: "pod", Engine: "engine", Nonce: "n7"}
	lease.Spec.HolderIdentity, lease.Spec.LeaseTransitions = ptr.To(held.String()), ptr.To[int32](7)
	g.Expect(site.Client.Create(t.Context(), lease)).To(Succeed())
	at := []string{"--kubeconfig", site.KubeconfigFile(t), "-n", "web"}
	present := func() (votes.Request, map[string]string) {
		var now coordinationv1.Lease
		g.Expect(site.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), &now)).To(Succeed())
		r, _, err := votes.ParseRequest(now.Annotations)
		g.Expect(err).NotTo(HaveOccurred())
		return r, now.Annotations
	}

	text, err := terminal.Run(
		t,
		NewFailoverCommand(),
		"content\n",
		append([]string{"content", "--to", "quisec", "--allow-data-loss", "--confirm-fenced", "tukpub"}, at...)...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(ContainSubstring("What would be lost is not known here"))
	r, annotations := present()
	g.Expect(r).
		To(And(HaveField("Kind", votes.RequestFailover), HaveField("To", "quisec-0"), HaveField("AllowDataLoss", true),
			HaveField("FencedHolder", held.String()), HaveField("ExpiresSeconds", 120), HaveField("ID", Not(BeEmpty())),
			HaveField("ExpectedTerm", int64(7))))
	g.Expect(annotations).To(HaveKeyWithValue("geosql.dev/vote-state", "Released"), "the vote is left alone")

	_, err = terminal.Run(t, NewSwitchoverCommand(), "", append([]string{"other", "--to", "quisec"}, at...)...)
	g.Expect(err).To(MatchError(ContainSubstring("neither AvailabilityGroup other nor its Lease")))

	t.Run("replaces no other request without a word", func(t *testing.T) {
		g := NewWithT(t)
		before, _ := present()
		_, err := terminal.Run(t, NewSwitchoverCommand(), "", append([]string{"content", "--to", "quithird"}, at...)...)
		g.Expect(err).
			To(MatchError(And(ContainSubstring("Failover to quisec-0, data loss allowed, of"),
				ContainSubstring("waits on Lease web/geosql-content"), ContainSubstring("--replace"))))
		text, err := terminal.Run(
			t,
			NewFailoverCommand(),
			"content\n",
			append([]string{"content", "--to", "quisec", "--allow-data-loss", "--confirm-fenced", "tukpub"}, at...)...)
		g.Expect(err).NotTo(HaveOccurred(), "the same once more is the same request")
		g.Expect(text).To(ContainSubstring("waits there already"))
		r, _ := present()
		g.Expect(r).To(Equal(before))
		text, err = terminal.Run(
			t,
			NewSwitchoverCommand(),
			"",
			append([]string{"content", "--to", "quithird", "--replace"}, at...)...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).To(ContainSubstring("this takes the place of Failover to quisec-0"))
		r, _ = present()
		g.Expect(r.To).To(Equal("quithird-0"))
	})
	t.Run("waits for the agents' answer", func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go answer(ctx, site, client.ObjectKeyFromObject(lease), votes.OutcomeRefused, votes.ReasonNotSynchronized)
		_, err := terminal.Run(
			t,
			NewSwitchoverCommand(),
			"",
			append([]string{"content", "--to", "quisec", "--replace", "--wait", "--timeout", "20s"}, at...)...)
		g.Expect(err).To(MatchError(ContainSubstring("Refused: because (NotSynchronized)")))
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		go answer(ctx, site, client.ObjectKeyFromObject(lease), votes.OutcomeDone, votes.ReasonPromoted)
		text, err := terminal.Run(
			t,
			NewPauseCommand(),
			"",
			append([]string{"content", "--wait", "--timeout", "20s"}, at...)...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).To(ContainSubstring("Done: because"))
	})
	t.Run("says that nobody answers", func(t *testing.T) {
		g := NewWithT(t)
		_, err := terminal.Run(t, NewResumeCommand(), "", append([]string{"content", "--wait", "--timeout", "1s"}, at...)...)
		g.Expect(err).To(MatchError(And(ContainSubstring("no final answer within 1s"), ContainSubstring("Another voter"))))
	})
}

// tick waits a moment, and is false when ctx has ended.
func tick(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}

// answer answers every request on a Lease as an agent would, until ctx ends.
func answer(
	ctx context.Context,
	site *apiserver.Server,
	key client.ObjectKey,
	outcome votes.AnswerOutcome,
	reason string,
) {
	for tick(ctx) {
		var lease coordinationv1.Lease
		if site.Client.Get(ctx, key, &lease) != nil {
			continue
		}
		r, ok, err := votes.ParseRequest(lease.Annotations)
		if !ok || err != nil {
			continue
		}
		lease.Annotations[votes.AnnotationAnswer] = `{"id":"` + r.ID + `","outcome":"` + string(
			outcome,
		) + `","reason":"` + reason + `","message":"because"}`
		_ = site.Client.Update(ctx, &lease)
	}
}

// A hub that knows the kind and not the group is no site: what is asked of a group that is gone is not written on the
// Lease that it left, unless somebody says so.
func TestNothingIsAskedOfAGroupThatIsNotDeclared(t *testing.T) {
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	other := votedGroup(time.Now())
	other.Name = "other"
	for _, command := range []*cobra.Command{NewSwitchoverCommand(), NewFailoverCommand(), NewPauseCommand(),
		NewResumeCommand(), NewRejoinCommand(), NewReseedCommand()} {
		g := NewWithT(t)
		hub := terminal.Hub(other.DeepCopy(), lease.DeepCopy()).Build()
		command.SetOut(io.Discard)
		ask := func(direct bool) error {
			a := asking{
				cmd:       command,
				cluster:   hub,
				namespace: "web",
				flags:     &requestFlags{direct: direct},
				wish: wish{yes: true, spec: v1alpha1.FailoverSpec{
					Group: "content", Kind: v1alpha1.FailoverKind(strings.ToUpper(command.Name()[:1]) + command.Name()[1:]),
					Expires: &metav1.Duration{Duration: time.Minute}}},
			}
			return a.run(t.Context())
		}
		g.Expect(ask(false)).
			To(MatchError(And(ContainSubstring("no AvailabilityGroup content in namespace web; there are: other"),
				ContainSubstring("Lease geosql-content is there"), ContainSubstring("--direct"))), command.Name())
		var now coordinationv1.Lease
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(lease), &now)).To(Succeed())
		g.Expect(now.Annotations).NotTo(HaveKey(votes.AnnotationRequest))
	}
}

// Nobody waits in vain at a site whose Lease was lost and made anew: agents take it for none.
func TestAVoteThatWasNeverUsedIsSaid(t *testing.T) {
	for term, said := range map[int32]bool{0: true, 7: false} {
		g := NewWithT(t)
		lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
		lease.Spec.LeaseTransitions = &term
		var text strings.Builder
		command := NewSwitchoverCommand()
		command.SetOut(&text)
		a := asking{cmd: command, cluster: terminal.Hub(lease).Build(), namespace: "web", flags: &requestFlags{direct: true},
			wish: wish{
				spec: v1alpha1.FailoverSpec{
					Group:   "content",
					Kind:    v1alpha1.FailoverSwitchover,
					To:      "quisec",
					Expires: &metav1.Duration{Duration: time.Minute},
				},
			}}
		g.Expect(a.run(t.Context())).To(Succeed())
		g.Expect(strings.Contains(text.String(), "agents read nothing at such a site: name another voter in --context")).
			To(Equal(said), text.String())
	}
}

// A write that had no answer may have been done: who asked must not take it for refused, and ask twice.
func TestASilentWriteIsUnknown(t *testing.T) {
	group := votedGroup(time.Now())
	lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
	ask := func(direct bool, err error) error {
		hub := terminal.Hub(group.DeepCopy(), lease.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err },
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return err
			},
		}).Build()
		command := NewSwitchoverCommand()
		command.SetOut(io.Discard)
		a := asking{
			cmd:       command,
			cluster:   hub,
			namespace: "web",
			flags:     &requestFlags{direct: direct},
			wish: wish{spec: v1alpha1.FailoverSpec{
				Group: "content", Kind: v1alpha1.FailoverSwitchover, To: "quisec",
				Expires: &metav1.Duration{Duration: time.Minute}}},
		}
		return a.run(t.Context())
	}
	for direct, look := range map[bool]string{false: "kubectl get failovers -n web",
		true: `kubectl get lease -n web geosql-content -o jsonpath='{.metadata.annotations.geosql\.dev/request}'`} {
		terminal.ExpectUnsure(t, look, func(err error) error { return ask(direct, err) })
	}
}

// What a rival has claimed in vain at one voter does not hide who holds the votes.
func TestTheHolderIsWhoeverAMajorityNames(t *testing.T) {
	g := NewWithT(t)
	group := &v1alpha1.AvailabilityGroup{}
	group.Status.Voters = []v1alpha1.VoterStatus{
		{Site: "tukwila", State: "Held", Term: 3, HolderIdentity: "tukpub-0/pod/engine"},
		{Site: "quincy", State: "Held", Term: 3, HolderIdentity: "tukpub-0/pod/engine"},
		{Site: "dublin", State: "Claimed", Term: 4, HolderIdentity: "quisec-0/pod/engine"},
	}
	g.Expect(heldBy(group)).To(HaveEach("tukpub-0/pod/engine/-"))
	group.Status.Voters[1] = v1alpha1.VoterStatus{Site: "quincy"}
	g.Expect(heldBy(group)).To(HaveEach("quisec-0/pod/engine/-"))
}
