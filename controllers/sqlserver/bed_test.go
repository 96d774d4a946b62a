// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

// bed is a hub and one site with the controller between them.
type bed struct {
	// t is the test that everything lives as long as.
	t         *testing.T
	hub, site *apiserver.Server
	// engine is the address of the engine that stands behind every server; nobody listens there at first.
	engine atomic.Pointer[string]
}

// newBed has the controller of servers alone, unless others are set up beside it.
func newBed(t *testing.T, beside ...func(mcmanager.Manager, *sites.Provider, *mssql.Connector)) *bed {
	t.Helper()
	if testing.Verbose() {
		log.SetLogger(zap.New(zap.UseDevMode(true)))
	} else {
		log.SetLogger(logr.Discard())
	}
	b := &bed{t: t, hub: apiserver.StartHub(t), site: apiserver.StartMember(t)}
	b.engine.Store(ptr.To("127.0.0.1:1"))
	b.hub.Namespace(t, system)
	b.hub.Namespace(t, "web")
	b.storage(t)
	site := b.site.Join(t, b.hub, system, "tukwila", "web")
	site.Spec.StorageClasses = v1alpha1.VolumeClasses{Data: "fast", Log: "fast", TempDB: "fast", Backup: "capacity"}
	NewWithT(t).Expect(b.hub.Client.Update(t.Context(), site)).To(Succeed())
	b.startManager(t, beside)
	return b
}

// storage makes the nodes and classes of the bed's Tukwila.
func (b *bed) storage(t *testing.T) {
	t.Helper()
	var objects []client.Object
	for _, name := range []string{"tukwila-worker", "tukwila-worker2"} {
		objects = append(
			objects,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}},
		)
	}
	for name, hosts := range map[string][]string{"fast": {"tukwila-worker"},
		"capacity": {"tukwila-worker", "tukwila-worker2"}, "archive": {"tukwila-worker2"}} {
		objects = append(objects, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "rancher.io/local-path", AllowVolumeExpansion: ptr.To(true),
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelHostname, Values: hosts}}},
			},
		})
	}
	for _, obj := range objects {
		NewWithT(t).Expect(b.site.Client.Create(t.Context(), obj)).To(Succeed())
		if node, ok := obj.(*corev1.Node); ok {
			// The API server taints new nodes until their kubelet reports; there is none here.
			node.Spec.Taints = nil
			NewWithT(t).Expect(b.site.Client.Update(t.Context(), node)).To(Succeed())
		}
	}
}

func (b *bed) startManager(t *testing.T, beside []func(mcmanager.Manager, *sites.Provider, *mssql.Connector)) {
	t.Helper()
	g := NewWithT(t)
	provider := sites.NewProvider(
		sites.Options{
			Namespace:    system,
			Heartbeat:    300 * time.Millisecond,
			UnknownAfter: 1500 * time.Millisecond,
			ProbeTimeout: time.Second,
			CallTimeout:  2 * time.Second,
		},
	)
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	local := mgr.GetLocalManager()
	connector := mssql.NewConnector(mssql.Options{
		Access:    mssql.SecretAccess{Reader: local.GetAPIReader()},
		AccessFor: mssql.AccessFor,
		Address:   func(mssql.Target) string { return *b.engine.Load() },
	})
	g.Expect(sqlserver.SetupWithManager(mgr,
		sqlserver.Options{Sites: provider, Connector: connector, Namespace: system, AgentImage: "geosql:1"})).
		To(Succeed())
	for _, set := range beside {
		set(mgr, provider, connector)
	}
	t.Cleanup(func() { _ = connector.Close() })
	apiserver.Run(t, mgr)
}

func (b *bed) create(t *testing.T, name string, change func(*v1alpha1.SQLServerSpec)) *v1alpha1.SQLServer {
	t.Helper()
	volume := func(size string) *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse(size)} }
	s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: v1alpha1.SQLServerSpec{
		Site: "tukwila", AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
		Storage: &v1alpha1.ServerStorage{
			Data:   volume("2Gi"),
			Log:    volume("1Gi"),
			TempDB: volume("1Gi"),
			Backup: volume("1Gi"),
		},
	}}
	if change != nil {
		change(&s.Spec)
	}
	NewWithT(t).Expect(b.hub.Client.Create(t.Context(), s)).To(Succeed())
	return s
}

func (b *bed) ready(t *testing.T, name string) func() metav1.Condition {
	return func() metav1.Condition {
		var s v1alpha1.SQLServer
		if err := b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: name}, &s); err != nil {
			return metav1.Condition{Reason: string(apierrors.ReasonForError(err))}
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

// why is what the object's condition says, for failures.
func (b *bed) why(t *testing.T, name string) func() string {
	return func() string { c := b.ready(t, name)(); return c.Reason + ": " + c.Message }
}

func get[T client.Object](t *testing.T, c client.Client, name string, obj T) func() error {
	return func() error { return c.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: name}, obj) }
}

func certificateOf(t *testing.T, b *bed, name string) map[string][]byte {
	t.Helper()
	var secret corev1.Secret
	NewWithT(t).Expect(get(t, b.site.Client, name+"-tls", &secret)()).To(Succeed())
	return secret.Data
}

// startPod is what the StatefulSet's controller, the scheduler and the kubelet do.
func (b *bed) startPod(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	var set appsv1.StatefulSet
	g.Expect(get(t, b.site.Client, name, &set)()).To(Succeed())
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.Spec.NodeName = "web", name+"-0", "tukwila-worker"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: pod.Spec.ServiceAccountName}}
	g.Expect(client.IgnoreAlreadyExists(b.site.Client.Create(t.Context(), account))).To(Succeed())
	g.Expect(b.site.Client.Create(t.Context(), pod)).To(Succeed())
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.101.1.7", PodIPs: []corev1.PodIP{{IP: "10.101.1.7"}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: sqlserver.ContainerEngine, Image: "mssql:1", Ready: true, State: running},
			{Name: sqlserver.ContainerAgent, Image: "geosql:1", Ready: true, State: running},
		},
	}
	g.Expect(b.site.Client.Status().Update(t.Context(), pod)).To(Succeed())
}

// startEngine starts an engine with the server's Secrets, as its pod would.
func (b *bed) startEngine(t *testing.T, name string) *engine.Engine {
	t.Helper()
	var passwords corev1.Secret
	NewWithT(t).Expect(get(t, b.site.Client, name+"-credentials", &passwords)()).To(Succeed())
	engine := engine.StartWith(b.t, "web", v1alpha1.ServerName(name), passwords.Data, certificateOf(t, b, name), nil)
	b.engine.Store(ptr.To(engine.Address))
	return engine
}

// replacePod ends the pod that the operator deletes, as its kubelet does, and starts another with the engine's files.
func (b *bed) replacePod(t *testing.T, name string, engine *engine.Engine) {
	t.Helper()
	g := NewWithT(t)
	var pod corev1.Pod
	g.Eventually(func() bool {
		return get(t, b.site.Client, name+"-0", &pod)() == nil && pod.DeletionTimestamp != nil
	}, patient, often).Should(BeTrue(), b.why(t, name))
	engine.Kill(t)
	g.Expect(b.site.Client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0))).To(Succeed())
	b.startPod(t, name)
	engine.Launch(t)
}

// collect ends the foreground deletion of a StatefulSet, as the garbage collector does when nothing depends on it.
func (b *bed) collect(t *testing.T, name string) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		var set appsv1.StatefulSet
		err := get(t, b.site.Client, name, &set)()
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || set.DeletionTimestamp == nil {
			return context.Canceled
		}
		set.Finalizers = nil
		return b.site.Client.Update(t.Context(), &set)
	}, patient, often).Should(Succeed())
}
