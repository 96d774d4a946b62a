// SPDX-License-Identifier: Apache-2.0

//go:build integration

package move

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/terminal"
)

// answering writes the status that the operator would: an estimate, what speaks against a move to quisub, and the end
// of one that is approved.
func answering(t *testing.T, hub *apiserver.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for look := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
			<-look.C
			var all v1alpha1.PublisherMoveList
			if hub.Client.List(ctx, &all) != nil {
				continue
			}
			for i := range all.Items {
				m := &all.Items[i]
				before := client.MergeFrom(m.DeepCopy())
				answerMove(m)
				// A conflict is looked at again.
				_ = hub.Client.Status().Patch(ctx, m, before)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func answerMove(m *v1alpha1.PublisherMove) {
	s := &m.Status
	set := func(o conditions.Outcome) { conditions.Set(&s.StatusBase, m.Generation, o) }
	now := ptr.To(metav1.NewMicroTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	switch {
	case m.Spec.To == "slowsub":
		return
	case m.Spec.To == "quisub":
		s.Phase = v1alpha1.MovePending
		set(conditions.Stalled(v1alpha1.ReasonPublisherNotFenced, "tukpub-0 is silent, and may still take writes"))
	case m.Spec.Approved:
		s.Phase, s.ToDatabase, s.ToSubscription = v1alpha1.MoveCompleted, "Content", "dublin"
		s.Timeline = &v1alpha1.MoveTimeline{Approved: now, Delivering: ptr.To(metav1.NewMicroTime(now.Add(7 * time.Second)))}
		s.Subscriptions = []v1alpha1.MovedSubscription{
			{
				Name:   "quincy",
				State:  "Delivering",
				Method: v1alpha1.InitializeReplicationSupportOnly,
				Reason: "12 rows of 1 articles are equal",
			},
		}
		set(conditions.Ready(v1alpha1.ReasonMoved, "dubsub-0 publishes articles"))
	default:
		s.Phase, s.Steps = v1alpha1.MoveEstimated, []string{"remove Subscription dublin; its tables stay"}
		s.Estimate = &v1alpha1.MoveEstimate{
			Time:    metav1.NewTime(now.Time),
			Summary: "It lacks transactions that were replicated.",
			Subscribers: []v1alpha1.MoveEvidence{
				{Subscription: "dublin", Server: "dubsub", Answers: true, Rows: ptr.To[int64](4711)},
			},
		}
		if m.Spec.To == "baresub" {
			s.Estimate.Lacks = []v1alpha1.MoveLack{{Table: "dbo.Article", Kind: v1alpha1.LackCheck, Names: "CK_Price"},
				{Table: "dbo.Article", Kind: v1alpha1.LackIdentity, Names: "Id"}}
		}
		set(conditions.Stalled(v1alpha1.ReasonAwaitingApproval, "nothing was changed yet"))
	}
}

// declared is what the commands name.
func declared() []client.Object {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	volume := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	objects := []client.Object{
		&v1alpha1.Publication{
			ObjectMeta: at("articles"),
			Spec: v1alpha1.PublicationSpec{Publisher: v1alpha1.ServerOrGroup{Server: "tukpub"},
				Database: "Content", Distributor: "far", Articles: []v1alpha1.Article{{Table: "dbo.Article"}}},
		},
		&v1alpha1.Distributor{ObjectMeta: at("far"), Spec: v1alpha1.DistributorSpec{Server: "dist"}},
	}
	for _, name := range []string{"baresub", "dubsub", "quisub", "slowsub"} {
		objects = append(
			objects,
			&v1alpha1.SQLServer{
				ObjectMeta: at(name),
				Spec: v1alpha1.SQLServerSpec{Site: "dublin", AcceptEULA: true, Edition: "Developer", Image: "engine",
					Storage: &v1alpha1.ServerStorage{Data: volume, Log: volume, TempDB: volume, Backup: volume}},
			},
		)
	}
	return objects
}

func moves(t *testing.T, hub *apiserver.Server) []v1alpha1.PublisherMove {
	t.Helper()
	var list v1alpha1.PublisherMoveList
	NewWithT(t).Expect(hub.Client.List(t.Context(), &list, client.InNamespace("web"))).To(Succeed())
	return list.Items
}

// The loss is shown before anything is asked; without a word of approval nothing remains.
func TestMovePublisher(t *testing.T) {
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	for _, object := range declared() {
		NewWithT(t).Expect(hub.Client.Create(t.Context(), object)).To(Succeed())
	}
	answering(t, hub)
	at := []string{"--kubeconfig", hub.KubeconfigFile(t), "-n", "web"}
	for _, c := range []struct{ name, arguments, input, text, refused string }{
		{name: "dry run", arguments: "articles --to dubsub-0 --distributor far --dry-run",
			text: "A PublisherMove of articles to dubsub would be created. Nothing was written"},
		{name: "estimate", arguments: "articles --to dubsub-0 --distributor far --estimate",
			text: "1. remove Subscription dublin; its tables stay\nNothing was changed."},
		{name: "of no publication", arguments: "nothing --to dubsub --dry-run",
			refused: "no Publication nothing in namespace web; there are: articles"},
		{name: "to no server", arguments: "articles --to nobody",
			refused: "no SQLServer nobody in namespace web; there are: baresub, dubsub, quisub, slowsub"},
		{name: "by no distributor", arguments: "articles --to dubsub --distributor near --yes",
			refused: "no Distributor near in namespace web; there are: far"},
		{name: "not confirmed", arguments: "articles --to dubsub", text: "4711",
			refused: "not confirmed, nothing was changed"},
		{name: "wrongly confirmed", arguments: "articles --to dubsub", input: "yes\n", text: "It lacks transactions",
			refused: "not confirmed"},
		{name: "refused", arguments: "articles --to quisub --yes",
			refused: "refused, nothing was changed: tukpub-0 is silent, and may still take writes (PublisherNotFenced)"},
		{name: "no estimate in time", arguments: "articles --to slowsub --estimate-timeout 1s", text: "for 1s at most",
			refused: "is not there within 1s, which --estimate-timeout makes longer: the operator has said nothing of it yet"},
		{name: "a bare copy, looked at", arguments: "articles --to baresub --estimate",
			text: "dbo.Article lacks Identity: Id"},
		{name: "a bare copy", arguments: "articles --to baresub --yes --accept-lacking Check",
			text:    "dbo.Article lacks Check: CK_Price",
			refused: "the tables of baresub lack Identity, and writers will miss it; say so with --accept-lacking Identity"},
		{name: "a bare copy, accepted", arguments: "articles --to baresub --accept-lacking Check,Identity",
			refused: "not confirmed, nothing was changed"},
		{name: "without a server", arguments: "articles", refused: `"to" not set`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := terminal.Run(t, NewCommand(), c.input, append(strings.Fields(c.arguments), at...)...)
			g.Expect(text).To(ContainSubstring(c.text))
			if c.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			}
			g.Expect(moves(t, hub)).To(BeEmpty())
		})
	}

	g := NewWithT(t)
	waiting := &v1alpha1.PublisherMove{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "somebodys"},
		Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles", To: "blusub"},
	}
	g.Expect(hub.Client.Create(t.Context(), waiting)).To(Succeed())
	_, err := terminal.Run(t, NewCommand(), "", append([]string{"articles", "--to", "dubsub", "--yes"}, at...)...)
	g.Expect(err).To(MatchError(ContainSubstring("PublisherMove somebodys moves articles to blusub already")))
	g.Expect(hub.Client.Delete(t.Context(), waiting)).To(Succeed())

	text, err := terminal.Run(
		t,
		NewCommand(),
		"articles\n",
		append(
			[]string{"articles", "--to", "dubsub", "--distributor", "far", "--confirm-fenced", "tukpub-0", "--wait"},
			at...)...)
	g.Expect(err).NotTo(HaveOccurred(), text)
	g.Expect(text).
		To(And(ContainSubstring("+7s"), ContainSubstring("Subscription quincy: Delivering, ReplicationSupportOnly. 12 rows"),
			ContainSubstring("movedBy articles-to-dubsub-")))
	left := moves(t, hub)
	g.Expect(left).To(HaveLen(1), "the record stays")
	g.Expect(left[0].Spec).To(Equal(v1alpha1.PublisherMoveSpec{Publication: "articles", To: "dubsub", Distributor: "far",
		FencedServers: []v1alpha1.ServerName{"tukpub"}, Approved: true}))
}

// An approval that had no answer may have been done, and cannot be taken back: who gave it must not take it for
// refused.
func TestASilentApprovalIsUnknown(t *testing.T) {
	move := &v1alpha1.PublisherMove{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "over"},
		Spec:       v1alpha1.PublisherMoveSpec{Publication: "articles", To: "dubsub"},
	}
	answerMove(move)
	terminal.ExpectUnsure(t, "kubectl get publishermove -n web over -o yaml", func(err error) error {
		hub := terminal.Hub(append(declared(), move.DeepCopy())...).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, hub client.WithWatch, object client.Object, patch client.Patch,
				options ...client.PatchOption) error {
				if object.(*v1alpha1.PublisherMove).Spec.Approved {
					return err
				}
				return hub.Patch(ctx, object, patch, options...)
			}}).Build()
		command := NewCommand()
		command.SetOut(io.Discard)
		m := moving{
			cmd:         command,
			hub:         hub,
			namespace:   "web",
			publication: "articles",
			flags:       &moveFlags{to: "dubsub", yes: true, patience: time.Minute},
		}
		return m.run(t.Context())
	})
}
