// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

// cutSites are three sites of which one is behind a cut: its API server and its engine take every question and answer
// none, and its heartbeat fails.
type cutSites struct {
	cut     v1alpha1.SiteName
	members map[v1alpha1.SiteName]*sites.Member
}

func (c cutSites) Member(site v1alpha1.SiteName) (*sites.Member, error) { return c.members[site], nil }

// Wait is that of a Provider, with a heartbeat of the test.
func (c cutSites) Wait(
	ctx context.Context,
	site v1alpha1.SiteName,
	patience sites.Patience,
) (context.Context, context.CancelFunc) {
	if site == c.cut {
		return context.WithTimeoutCause(ctx, patience.Silent, sites.ErrSilent)
	}
	return context.WithTimeout(ctx, patience.Answering)
}

// silent waits for an answer that does not come.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The news of a new primary come from the sites that answer, and wait for the answer of one that is cut off only as
// long as for one whose heartbeat fails: its engine, its agent's orders and its vote.
func TestACutSiteHoldsUpAnObservationNoLongerThanItsPatience(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
			Spec: v1alpha1.AvailabilityGroupSpec{
				InitialPrimary: "tukpub",
				Voters:         []v1alpha1.SiteName{"tukwila", "quincy", "dublin"},
			},
			Status: v1alpha1.AvailabilityGroupStatus{GroupID: "there"}}
		reached := cutSites{cut: "tukwila", members: map[v1alpha1.SiteName]*sites.Member{}}
		hub := fake.NewClientBuilder().WithScheme(scheme)
		for server, site := range map[string]string{"tukpub": "tukwila", "quisec": "quincy", "dubsec": "dublin"} {
			group.Spec.Replicas = append(
				group.Spec.Replicas,
				v1alpha1.Replica{Server: v1alpha1.ServerName(server), AvailabilityMode: v1alpha1.SynchronousCommit},
			)
			hub = hub.WithObjects(
				&v1alpha1.SQLServer{
					ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server},
					Spec:       v1alpha1.SQLServerSpec{Site: v1alpha1.SiteName(site)},
				},
			)
			cache := fake.NewClientBuilder().
				WithScheme(scheme).
				WithObjects(votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})).
				Build()
			api := client.Reader(cache)
			if site == string(reached.cut) {
				api = interceptor.NewClient(
					cache,
					interceptor.Funcs{
						Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object,
							_ ...client.GetOption) error {
							return silent(ctx)
						},
					},
				)
			}
			reached.members[v1alpha1.SiteName(site)] = &sites.Member{
				Site: v1alpha1.Site{
					ObjectMeta: metav1.ObjectMeta{Name: site},
					Spec:       v1alpha1.SiteSpec{APIServer: "https://" + site},
				},
				Client:     cache,
				APIReader:  api,
				RESTConfig: &rest.Config{},
				Namespaces: []string{"web"},
			}
		}
		asked := make(chan v1alpha1.ServerName, 3)
		connector := mssql.NewConnector(
			mssql.Options{
				Access: mssql.AccessFunc(func(ctx context.Context, _ string, server v1alpha1.ServerName) (mssql.Access, error) {
					asked <- server
					if server == "tukpub" {
						return mssql.Access{}, silent(ctx)
					}
					return mssql.Access{}, context.Canceled
				}),
			},
		)
		r := &Reconciler{
			sites:     reached,
			confirmed: unconfirmed{},
			connector: connector,
			hub:       hub.Build(),
			now:       time.Now,
			timings:   ballot.DefaultTimings(),
		}
		began := time.Now()
		d, err := r.desire(t.Context(), group)
		g.Expect(err).NotTo(HaveOccurred())
		o, err := r.observe(t.Context(), d)
		took := time.Since(began)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(asked).To(HaveLen(3))
		longest := max(instancePatience.Silent, 2*sitePatience.Silent)
		g.Expect(took).To(BeNumerically("<=", longest), "an engine is asked beside the orders, and these before the votes")
		g.Expect(took).To(BeNumerically("<", sitePatience.Answering))
		g.Expect(o.Agents["tukpub"].Err).To(MatchError(sites.ErrSilent), "the orders")
		g.Expect(o.Agents["quisec"].Err).NotTo(HaveOccurred())
		g.Expect(o.Voters).To(HaveLen(3))
		for _, v := range o.Voters {
			if v.Site == reached.cut {
				g.Expect(v.Err).To(MatchError(sites.ErrSilent), "the vote")
			} else {
				g.Expect(v.Err).NotTo(MatchError(sites.ErrSilent))
			}
		}
		g.Expect(o.Instances["tukpub"].Err).To(HaveOccurred(), "the engine")
	})
}
