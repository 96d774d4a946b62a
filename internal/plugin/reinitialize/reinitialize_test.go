// SPDX-License-Identifier: Apache-2.0

package reinitialize

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/test/support/terminal"
)

func objects() (*v1alpha1.Subscription, *v1alpha1.Publication) {
	s := &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin", UID: "u1"},
		Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content"},
	}
	conditions.Set(&s.Status.StatusBase, 0, conditions.Ready(v1alpha1.ReasonDelivering, "it receives"))
	p := &v1alpha1.Publication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "articles"},
		Spec: v1alpha1.PublicationSpec{
			Articles: []v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Attachment"}}},
	}
	p.Status.Size = &v1alpha1.CopySize{Rows: 1200, Bytes: 3 << 20}
	return s, p
}

// needs lets a publication wait for the copy of one table.
func needs(p *v1alpha1.Publication) {
	p.Status.NeededReinitialization = &v1alpha1.NeededReinitialization{WaitingFor: []string{"dublin", "quincy"},
		Tables: []v1alpha1.NeededCopy{{Table: "dbo.Attachment", Reason: "its filter is another one", Rows: 7, Bytes: 2048}}}
}

// What it costs is shown first, and nothing is written before a person says so.
func TestReinitialize(t *testing.T) {
	for _, c := range []struct {
		name, input string
		flags       flags
		change      func(*v1alpha1.Subscription, *v1alpha1.Publication)
		texts       []string
		refused     string
		asked       bool
	}{
		{name: "dry run", flags: flags{dryRun: true},
			texts: []string{"Delivering: it receives", "database Content on dubsub-0 are replaced: dbo.Article, dbo.Attachment",
				"1200 rows, 3.0 MiB", "Nothing was changed."}},
		{name: "not confirmed", texts: []string{"Type the subscription's name"},
			refused: "not confirmed, nothing was changed"},
		{name: "confirmed", input: "dublin\n", texts: []string{"a new copy is asked for"}, asked: true},
		{name: "without a question", flags: flags{yes: true}, texts: []string{"kubectl get subscription -n web dublin"},
			asked: true},
		{name: "not measured", flags: flags{dryRun: true},
			change: func(_ *v1alpha1.Subscription, p *v1alpha1.Publication) { p.Status.Size = nil },
			texts:  []string{"whose size is not measured yet"}},
		{name: "one table", flags: flags{yes: true},
			change: func(_ *v1alpha1.Subscription, p *v1alpha1.Publication) { needs(p) },
			texts: []string{"dbo.Attachment in database Content on dubsub-0 is replaced: 7 rows, 2.0 KiB; its filter is " +
				"another one", "asked for at these, too: quincy\n"}, asked: true},
		{name: "one table, of a copy that was kept", flags: flags{dryRun: true},
			change: func(s *v1alpha1.Subscription, p *v1alpha1.Publication) {
				needs(p)
				s.Status.Initialization = &v1alpha1.SubscriptionInitialization{
					Method: v1alpha1.InitializeReplicationSupportOnly}
			}, texts: []string{"All tables of the articles in database Content on dubsub-0 are replaced", "1200 rows"}},
		{name: "one table, of what began with a backup", flags: flags{dryRun: true},
			change: func(s *v1alpha1.Subscription, p *v1alpha1.Publication) {
				needs(p)
				s.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeBackup}
			}, texts: []string{"All tables of the articles in database Content on dubsub-0 are replaced", "1200 rows"}},
		{name: "one table, given up", flags: flags{dryRun: true},
			change: func(s *v1alpha1.Subscription, p *v1alpha1.Publication) {
				needs(p)
				conditions.Set(&s.Status.StatusBase, 0, conditions.Stalled(v1alpha1.ReasonSubscriptionInactive, "given up"))
			}, texts: []string{"All tables of the articles in database Content on dubsub-0 are replaced", "1200 rows"}},
		{name: "no copies", flags: flags{yes: true}, change: func(_ *v1alpha1.Subscription, p *v1alpha1.Publication) {
			p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
		}, refused: "ReplicationSupportOnly"},
		{name: "no copies of this one", flags: flags{yes: true},
			change: func(s *v1alpha1.Subscription, _ *v1alpha1.Publication) {
				s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
			}, refused: "Subscription dublin has initialization ReplicationSupportOnly"},
		{name: "copies of this one alone", flags: flags{dryRun: true},
			change: func(s *v1alpha1.Subscription, p *v1alpha1.Publication) {
				p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeReplicationSupportOnly}
				s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
			}, texts: []string{"All tables of the articles in database Content on dubsub-0 are replaced"}},
		{name: "while files are brought", flags: flags{dryRun: true},
			change: func(s *v1alpha1.Subscription, _ *v1alpha1.Publication) {
				s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeManual,
					Manual: &v1alpha1.ManualInitialization{Folder: "disk"}}
				s.Status.Copy = &v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyTransfer, Snapshot: "20261120100000",
					Brought: &v1alpha1.BroughtCopy{Files: 8, LackingFiles: 3}}
			}, texts: []string{"A person brings the files of snapshot 20261120100000: a new copy takes another one",
				"/var/opt/mssql-backup/brought/disk of dubsub-0"}},
		{name: "no publication", flags: flags{yes: true},
			change:  func(s *v1alpha1.Subscription, _ *v1alpha1.Publication) { s.Spec.Publication = "other" },
			refused: "read Publication web/other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			s, p := objects()
			if c.change != nil {
				c.change(s, p)
			}
			hub := terminal.Hub(s, p).Build()
			command := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
				return run(cmd, hub, client.ObjectKeyFromObject(s), &c.flags)
			}}
			text, err := terminal.Run(t, command, c.input)
			if c.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			}
			for _, want := range c.texts {
				g.Expect(text).To(ContainSubstring(want))
			}
			var now v1alpha1.Subscription
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(s), &now)).To(Succeed())
			request := now.Annotations[v1alpha1.ReinitializeAnnotation]
			g.Expect(strings.HasPrefix(request, "u1/2")).To(Equal(c.asked), request)
			g.Expect(replication.Request(p, &now) != "").To(Equal(c.asked))
			if c.asked {
				text, err = terminal.Run(t, command, "")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(text).To(ContainSubstring("was asked for before"))
			}
		})
	}
}

// The question says over which link a copy goes, and for how long, as the Sites declare it; whoever may not read them
// is asked all the same.
func TestTheLinkOfACopy(t *testing.T) {
	site := func(name string, links ...v1alpha1.SiteLink) *v1alpha1.Site {
		return &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{Links: links}}
	}
	server := func(name string, site v1alpha1.SiteName) *v1alpha1.SQLServer {
		return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
			Spec: v1alpha1.SQLServerSpec{Site: site}}
	}
	refuses := func(kind string) interceptor.Funcs {
		refused := func(obj any) error {
			if kind == "" || !strings.HasSuffix(fmt.Sprintf("%T", obj), "."+kind) {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
		}
		return interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if err := refused(list); err != nil {
					return err
				}
				return c.List(ctx, list, o...)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
				o ...client.GetOption) error {
				if err := refused(obj); err != nil {
					return err
				}
				return c.Get(ctx, key, obj, o...)
			}}
	}
	for name, c := range map[string]struct {
		forbidden string
		says      string
	}{
		"declared": {"", "1200 rows, 3.0 MiB, from site tukwila to dublin (round trip 150ms, 1Gbit), on its way for at " +
			"least 2s."},
		"the Sites may not be read": {"SiteList", "from site tukwila to dublin (round trip not declared, bandwidth not " +
			"declared), so that nobody can tell for how long."},
		"servers may not be read": {"SQLServer", "Over which link it goes is not known: read SQLServer web/tukpub"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, p := objects()
			p.Spec.Publisher.Server, p.Spec.Distributor = "tukpub", "main"
			main := &v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"},
				Spec: v1alpha1.DistributorSpec{Server: "dist"}}
			hub := terminal.Hub(s, p, main, server("tukpub", "tukwila"), server("dist", "tukwila"),
				server("dubsub", "dublin"), site("dublin"), site("tukwila", v1alpha1.SiteLink{To: "dublin",
					Bandwidth: "1Gbit", RoundTrip: &metav1.Duration{Duration: 150 * time.Millisecond}})).
				WithInterceptorFuncs(refuses(c.forbidden)).Build()
			command := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
				return run(cmd, hub, client.ObjectKeyFromObject(s), &flags{dryRun: true})
			}}
			text, err := terminal.Run(t, command, "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(ContainSubstring(c.says))
		})
	}
}

// A request that had no answer may be carried out.
func TestASilentRequestIsUnknown(t *testing.T) {
	terminal.ExpectUnsure(t, "kubectl get subscription -n web dublin -o yaml", func(err error) error {
		s, p := objects()
		hub := terminal.Hub(s, p).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return err
			}}).Build()
		command := &cobra.Command{}
		command.SetOut(io.Discard)
		command.SetContext(t.Context())
		return run(command, hub, client.ObjectKeyFromObject(s), &flags{yes: true})
	})
}
