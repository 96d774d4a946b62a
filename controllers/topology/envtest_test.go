// SPDX-License-Identifier: Apache-2.0

//go:build integration

package topology_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

const (
	patient = 3 * time.Minute
	often   = 50 * time.Millisecond
	waits   = "test.geosql.dev/waits"
)

type bed struct {
	*testing.T
	hub *apiserver.Server
}

// newBed is an API server with the controller alone: the test speaks for the other controllers.
func newBed(t *testing.T) *bed {
	t.Helper()
	log.SetLogger(logr.Discard())
	hub := apiserver.StartHub(t)
	hub.Namespace(t, "web")
	g := NewWithT(t)
	mgr, err := mcmanager.New(
		hub.ManagerConfig(t),
		nil,
		manager.Options{Scheme: apiserver.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: ptr.To(true)}},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(topology.SetupWithManager(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.GetLocalManager().Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(done, patient).Should(Receive())
	})
	return &bed{t, hub}
}

func example(t *testing.T) *v1alpha1.Topology {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "examples", "msdn.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	tp := &v1alpha1.Topology{}
	NewWithT(t).Expect(yaml.UnmarshalStrict(data, tp)).To(Succeed())
	return tp
}

func (b *bed) get(obj client.Object, name string) error {
	return b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: name}, obj)
}

// reason of the Topology's Ready, and its summary.
func (b *bed) reason(name string) func() string {
	return func() string {
		var tp v1alpha1.Topology
		if err := b.get(&tp, name); err != nil {
			return err.Error()
		}
		if c := meta.FindStatusCondition(tp.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			return c.Reason + ", " + tp.Status.Summary
		}
		return ""
	}
}

func (b *bed) message(name string) string {
	var tp v1alpha1.Topology
	_ = b.get(&tp, name)
	if c := meta.FindStatusCondition(tp.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}

// change an object as a person would, however often others change it meanwhile.
func change[T client.Object](b *bed, name string, obj T, how func(T)) {
	b.Helper()
	NewWithT(b.T).Eventually(func() error {
		if err := b.get(obj, name); err != nil {
			return err
		}
		how(obj)
		return b.hub.Client.Update(b.Context(), obj)
	}, patient, often).Should(Succeed())
}

// ready writes the status that an object's controller would write.
func (b *bed) ready(obj client.Object, name string, base func() *v1alpha1.StatusBase) {
	b.Helper()
	NewWithT(b.T).Eventually(func() error {
		if err := b.get(obj, name); err != nil {
			return err
		}
		conditions.Set(base(), obj.GetGeneration(), conditions.Ready("Fine", "it is"))
		return b.hub.Client.Status().Update(b.Context(), obj)
	}, patient, often).Should(Succeed())
}

func (b *bed) allReady() {
	for _, name := range []string{"tukpub", "quisec", "dubcfg", "dist", "dubsub"} {
		s := &v1alpha1.SQLServer{}
		b.ready(s, name, func() *v1alpha1.StatusBase { return &s.Status.StatusBase })
	}
	g, d, p, s := &v1alpha1.AvailabilityGroup{}, &v1alpha1.Distributor{}, &v1alpha1.Publication{}, &v1alpha1.Subscription{}
	b.ready(g, "content", func() *v1alpha1.StatusBase { return &g.Status.StatusBase })
	b.ready(d, "main", func() *v1alpha1.StatusBase { return &d.Status.StatusBase })
	b.ready(p, "articles", func() *v1alpha1.StatusBase { return &p.Status.StatusBase })
	b.ready(s, "dublin", func() *v1alpha1.StatusBase { return &s.Status.StatusBase })
}

func TestController(t *testing.T) {
	b := newBed(t)
	NewWithT(t).Expect(b.hub.Client.Create(t.Context(), example(t))).To(Succeed())

	t.Run("expands and sums up", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(b.reason("msdn"), patient, often).Should(Equal("MembersNotReady, 0 of 9 ready"))
		b.allReady()
		g.Eventually(b.reason("msdn"), patient, often).Should(Equal("MembersReady, 9 of 9 ready"))
		s := &v1alpha1.SQLServer{}
		g.Expect(b.get(s, "quisec")).To(Succeed())
		g.Expect(s.Spec.Site).To(BeEquivalentTo("quincy"))
		g.Expect(s.Spec.Startup.TraceFlags).To(Equal([]int32{1204, 1222}))
		g.Expect(s.Labels).To(HaveKeyWithValue(v1alpha1.LabelTopology, "msdn"))
		g.Expect(s.OwnerReferences).To(BeEmpty(), "the garbage collector has nothing to go by")
	})

	t.Run("takes owner references away", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "dist", &v1alpha1.SQLServer{}, func(s *v1alpha1.SQLServer) {
			s.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Topology", Name: "msdn", UID: "former"},
			}
		})
		s := &v1alpha1.SQLServer{}
		g.Eventually(func(g Gomega) {
			g.Expect(b.get(s, "dist")).To(Succeed())
			g.Expect(s.OwnerReferences).To(BeEmpty())
		}, patient, often).Should(Succeed())
		g.Expect(s.DeletionTimestamp).To(BeNil())
	})

	t.Run("repairs what was changed, taken out, added and deleted by hand", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "articles", &v1alpha1.Publication{}, func(p *v1alpha1.Publication) {
			p.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Attachment", DataCompression: "Row"}, {Table: "dbo.Secrets"}}
		})
		change(b, "tukpub", &v1alpha1.SQLServer{}, func(s *v1alpha1.SQLServer) {
			s.Spec.Startup.TraceFlags = nil
			s.Spec.MSSQLConf = map[string]string{"memory.memorylimitmb": "1"}
		})
		g.Expect(b.hub.Client.Delete(t.Context(),
			&v1alpha1.Distributor{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "main"}})).
			To(Succeed())
		g.Eventually(func(g Gomega) {
			p, s, d := &v1alpha1.Publication{}, &v1alpha1.SQLServer{}, &v1alpha1.Distributor{}
			g.Expect(b.get(p, "articles")).To(Succeed())
			g.Expect(p.Spec.Articles).
				To(ConsistOf(v1alpha1.Article{Table: "dbo.Article"},
					v1alpha1.Article{Table: "dbo.Attachment", DataCompression: "Page"}))
			g.Expect(b.get(s, "tukpub")).To(Succeed())
			g.Expect(s.Spec.Startup.TraceFlags).To(HaveLen(2))
			g.Expect(s.Spec.MSSQLConf).To(BeEmpty())
			g.Expect(b.get(d, "main")).To(Succeed())
		}, patient, often).Should(Succeed())
		b.allReady()
		g.Eventually(b.reason("msdn"), patient, often).Should(Equal("MembersReady, 9 of 9 ready"))
	})

	t.Run("reports what the API server refuses and carries on with the others", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			tp.Spec.Servers[0].Site = "dublin"
			tp.Spec.ServerDefaults.Image = "mssql:next"
		})
		g.Eventually(b.reason("msdn"), patient, often).Should(HavePrefix("MemberRefused"))
		g.Expect(b.message("msdn")).To(And(ContainSubstring("SQLServer tukpub"), ContainSubstring("spec.site is immutable")))
		g.Eventually(func(g Gomega) {
			for _, name := range []string{"quisec", "dubcfg", "dist", "dubsub"} {
				s := &v1alpha1.SQLServer{}
				g.Expect(b.get(s, name)).To(Succeed())
				g.Expect(s.Spec.Image).To(Equal("mssql:next"))
			}
		}, patient, often).Should(Succeed())
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) { tp.Spec.Servers[0].Site = "tukwila" })
		g.Eventually(b.reason("msdn"), patient, often).ShouldNot(HavePrefix("MemberRefused"))
	})

	t.Run("writes nothing while it is suspended, nor its objects' own field", func(t *testing.T) {
		g := NewWithT(t)
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			tp.Spec.Suspend, tp.Spec.ServerDefaults.Image = true, "mssql:later"
		})
		g.Eventually(b.reason("msdn"), patient, often).Should(HavePrefix("Suspended, "))
		g.Expect(b.message("msdn")).
			To(And(ContainSubstring("steps wait, the first: change SQLServer"), ContainSubstring("spec.image differs")))
		s := &v1alpha1.SQLServer{}
		g.Expect(b.get(s, "quisec")).To(Succeed())
		g.Expect(s.Spec.Image).To(Equal("mssql:next"))
		g.Expect(s.Spec.Suspend).To(BeFalse())
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			tp.Spec.Suspend, tp.Spec.ServerDefaults.Image = false, "mssql:next"
		})
		g.Eventually(b.reason("msdn"), patient, often).ShouldNot(HavePrefix("Suspended"))
	})

	t.Run("leaves alone what another Topology declares", func(t *testing.T) {
		g := NewWithT(t)
		rival := example(t)
		rival.Name = "rival"
		rival.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
		rival.Spec.AvailabilityGroups, rival.Spec.Distributors, rival.Spec.Publications, rival.Spec.Subscriptions = nil, nil,
			nil, nil
		rival.Spec.Servers = []v1alpha1.TopologyServer{{Name: "dubsub"}, {Name: "own"}}
		rival.Spec.ServerDefaults.Site, rival.Spec.ServerDefaults.Image = "dublin", "rival:1"
		g.Expect(b.hub.Client.Create(t.Context(), rival)).To(Succeed())
		g.Eventually(b.reason("rival"), patient, often).Should(Equal("MemberConflict, 0 of 2 ready"))
		g.Expect(b.message("rival")).To(ContainSubstring("SQLServer dubsub: MemberConflict (it belongs to Topology msdn"))
		s := &v1alpha1.SQLServer{}
		g.Eventually(func() error { return b.get(s, "own") }, patient, often).Should(Succeed())
		g.Expect(b.get(s, "dubsub")).To(Succeed())
		g.Expect(s.Spec.Image).To(Equal("mssql:next"))
		// Its deletion takes what is its own.
		g.Expect(b.hub.Client.Delete(t.Context(), rival)).To(Succeed())
		g.Eventually(func() error { return client.IgnoreNotFound(b.get(s, "own")) }, patient, often).Should(Succeed())
		g.Eventually(func() bool { return b.get(&v1alpha1.Topology{}, "rival") != nil }, patient, often).Should(BeTrue())
		g.Expect(b.get(s, "dubsub")).To(Succeed())
		g.Expect(b.get(s, "own")).NotTo(Succeed())
	})

	t.Run("removes what left the manifest when nothing refers to it any more", func(t *testing.T) {
		g := NewWithT(t)
		// The subscription's controller has work to do before it goes.
		change(
			b,
			"dublin",
			&v1alpha1.Subscription{},
			func(s *v1alpha1.Subscription) { s.Finalizers = append(s.Finalizers, waits) },
		)
		change(b, "msdn", &v1alpha1.Topology{}, func(tp *v1alpha1.Topology) {
			tp.Spec.Subscriptions = nil
			tp.Spec.Servers = tp.Spec.Servers[:4]
		})
		sub, server := &v1alpha1.Subscription{}, &v1alpha1.SQLServer{}
		g.Eventually(func(g Gomega) {
			g.Expect(b.get(sub, "dublin")).To(Succeed())
			g.Expect(sub.DeletionTimestamp).NotTo(BeNil())
			tp := &v1alpha1.Topology{}
			g.Expect(b.get(tp, "msdn")).To(Succeed())
			g.Expect(tp.Status.Members).
				To(ContainElement(And(HaveField("Name", "dublin"), HaveField("Reason", v1alpha1.ReasonLeaving))))
		}, patient, often).Should(Succeed())
		g.Consistently(func() error { return b.get(server, "dubsub") }, 500*time.Millisecond, often).Should(Succeed())
		g.Expect(server.DeletionTimestamp).To(BeNil())
		change(b, "dublin", sub, func(s *v1alpha1.Subscription) { s.Finalizers = nil })
		g.Eventually(func() error { return b.get(server, "dubsub") }, patient, often).ShouldNot(Succeed())
	})

	t.Run("keeps everything when it is deleted with cascade orphan", func(t *testing.T) {
		g := NewWithT(t)
		orphan := metav1.DeletePropagationOrphan
		g.Expect(b.hub.Client.Delete(t.Context(),
			&v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}},
			&client.DeleteOptions{PropagationPolicy: &orphan})).
			To(Succeed())
		tp := &v1alpha1.Topology{}
		g.Eventually(func(g Gomega) {
			g.Expect(b.get(tp, "msdn")).To(Succeed())
			g.Expect(tp.Finalizers).To(Equal([]string{metav1.FinalizerOrphanDependents}))
		}, patient, often).Should(Succeed())
		for _, name := range []string{"tukpub", "quisec", "dubcfg", "dist"} {
			s := &v1alpha1.SQLServer{}
			g.Expect(b.get(s, name)).To(Succeed())
			g.Expect(s.DeletionTimestamp).To(BeNil())
		}
	})
}
