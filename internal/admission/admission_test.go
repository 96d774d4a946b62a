// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/admission"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/ports"
)

const operatorNamespace = "geosql-system"

// replace replaces in turn, each pair in what the one before has left.
func replace(manifest string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		manifest = strings.ReplaceAll(manifest, pairs[i], pairs[i+1])
	}
	return manifest
}

// parse reads the documents of a manifest.
func parse(t testing.TB, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+manifest, "\n---") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatalf("parsing:\n%s\n%v", document, err)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
	return objects
}

// apply is what `kubectl apply --server-side` does.
func apply(ctx context.Context, c client.Client, u *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.FieldOwner("test"), client.ForceOwnership)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), opts...)
}

// startHub starts a hub whose API server calls the webhooks of a manager that makes its own certificate, configured as
// the chart configures them.
func startHub(t *testing.T) (*apiserver.Server, manager.Manager) {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.Level(zapcore.ErrorLevel)))
	hub := apiserver.StartHub(t)
	hub.Namespace(t, operatorNamespace)
	hub.Namespace(t, "web")
	port := ports.Free(t)
	g.Expect(hub.Client.Create(t.Context(), configuration(t, port))).To(Succeed())
	serving := admission.NewServing(
		admission.ServingOptions{Namespace: operatorNamespace, Service: "geosql-operator-webhook", Host: "127.0.0.1"},
	)
	mgr, err := manager.New(
		hub.Config,
		manager.Options{Scheme: apiserver.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
			WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: serving.TLSOptions()})},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(serving.SetupWithManager(mgr)).To(Succeed())
	g.Expect(admission.Register(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	g.Eventually(func() error {
		return hub.Client.Create(t.Context(), parseOne(t, with(site, "NAME", "ready")), client.DryRunAll)
	}, "60s").Should(Succeed(), "the webhooks answer")
	return hub, mgr
}

func parseOne(t testing.TB, manifest string) *unstructured.Unstructured { return parse(t, manifest)[0] }

// configuration is the chart's, with an address in place of the Service.
func configuration(t *testing.T, port int) client.Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checkout.Root(), "config", "webhook", "webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(data), "\n---") {
		if !strings.Contains(document, "kind: ValidatingWebhookConfiguration") {
			continue
		}
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := yaml.Unmarshal([]byte(document), c); err != nil {
			t.Fatal(err)
		}
		for i := range c.Webhooks {
			path := *c.Webhooks[i].ClientConfig.Service.Path
			c.Webhooks[i].ClientConfig.Service = nil
			c.Webhooks[i].ClientConfig.URL = ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
		}
		return c
	}
	t.Fatal("config/webhook/webhook.yaml has no ValidatingWebhookConfiguration: run make manifests")
	return nil
}

// clean removes all objects of the kinds, and waits until the webhooks' cache knows it.
func clean(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	t.Helper()
	g := NewWithT(t)
	for _, obj := range []client.Object{&v1alpha1.DrillSchedule{}, &v1alpha1.Drill{}, &v1alpha1.Failover{},
		&v1alpha1.Topology{}, &v1alpha1.Subscription{}, &v1alpha1.Publication{}, &v1alpha1.Distributor{},
		&v1alpha1.AgentProfile{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{}, &v1alpha1.Login{},
		&v1alpha1.PublisherMove{}, &v1alpha1.Backup{}, &v1alpha1.BackupPolicy{}, &v1alpha1.BackupStore{},
		&v1alpha1.Restore{}} {
		g.Expect(hub.Client.DeleteAllOf(t.Context(), obj, client.InNamespace("web"))).To(Succeed())
	}
	g.Expect(hub.Client.DeleteAllOf(t.Context(), &v1alpha1.Site{})).To(Succeed())
	for _, list := range []client.ObjectList{&v1alpha1.DrillScheduleList{}, &v1alpha1.DrillList{},
		&v1alpha1.FailoverList{}, &v1alpha1.TopologyList{}, &v1alpha1.SubscriptionList{}, &v1alpha1.PublicationList{},
		&v1alpha1.DistributorList{}, &v1alpha1.LoginList{}, &v1alpha1.PublisherMoveList{},
		&v1alpha1.BackupList{}, &v1alpha1.BackupPolicyList{}, &v1alpha1.BackupStoreList{}, &v1alpha1.RestoreList{},
		&v1alpha1.AgentProfileList{}, &v1alpha1.AvailabilityGroupList{}, &v1alpha1.SQLServerList{}, &v1alpha1.SiteList{}} {
		g.Eventually(func() (int, error) {
			err := cached.List(t.Context(), list)
			return meta.LenList(list), err
		}, "60s", "10ms").Should(BeZero())
	}
}

// uncheckedRules is what the API server itself adds to a refusal by the schema.
const uncheckedRules = "<nil>: Invalid value: null: some validation rules were not checked"

// TestAdmission applies manifests to a real API server.
func TestAdmission(t *testing.T) {
	hub, mgr := startHub(t)
	ctx := t.Context()
	cached := mgr.GetClient()
	tables := slices.Concat(refusals, replicationRefusals, shapeRefusals, updateRefusals, backupRefusals,
		topologyBackupRefusals, schemaRefusals, restoreRefusals)
	var answers []said
	ran := 0
	for _, r := range tables {
		t.Run("refused: "+r.name, func(t *testing.T) {
			ran++
			g := NewWithT(t)
			defer clean(t, hub, cached)
			setUp(t, hub, cached, r.setup)
			u := parseOne(t, r.manifest)
			err := apply(ctx, hub.Client, u)
			g.Expect(err).To(HaveOccurred(), "it was accepted:\n%s", r.manifest)
			said := strings.ReplaceAll(err.Error(), uncheckedRules, "")
			g.Expect(said).NotTo(ContainSubstring("<nil>"), "it does not say which field is meant")
			for _, fragment := range r.messages {
				g.Expect(err.Error()).To(ContainSubstring(fragment))
			}
			answers = append(answers, refused(err)...)
		})
	}
	t.Run("refused: what breaks a rule of a schema", func(t *testing.T) {
		if ran < len(tables) {
			t.Skip("some manifests of the tables were left out, which break rules")
		}
		breakRules(t, hub, answers)
	})
	t.Run("warned of", func(t *testing.T) { warnedOf(t, hub, cached) })
	for _, file := range []string{"examples/msdn.yaml", "examples/sites.yaml"} {
		t.Run("accepted: "+file, func(t *testing.T) { accepted(t, hub, file) })
	}
	t.Run("accepted in any order: samples", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(checkout.Root(), "config", "samples", "*.yaml"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(len(files)).To(BeNumerically(">=", 8))
		for _, file := range files {
			if filepath.Base(file) != "kustomization.yaml" {
				rel, _ := filepath.Rel(checkout.Root(), file)
				accepted(t, hub, rel)
			}
		}
	})
	t.Run("accepted: drills, each beside its target", func(t *testing.T) { drillExamples(t, hub, cached) })
	t.Run("a lost voter may be replaced, and the voters be left out", func(t *testing.T) {
		g := NewWithT(t)
		defer clean(t, hub, cached)
		setUp(t, hub, cached, replace(lostSite, "blueridge", "dublin")+"---"+made)
		for _, voters := range []string{"[tukwila, quincy, blueridge]", "[tukwila, quincy, dublin]", "[quincy]"} {
			g.Expect(apply(ctx, hub.Client, parseOne(t, with(group, "NAME", "g")+"  voters: "+voters+"\n"))).
				To(Succeed(), voters)
		}
		g.Expect(apply(ctx, hub.Client, parseOne(t, with(group, "NAME", "g")))).To(Succeed())
	})
	t.Run("stores and policies of backups may change", func(t *testing.T) { backupsMayChange(t, hub, cached) })
	t.Run("a topology's backups may change", func(t *testing.T) { topologyBackupsMayChange(t, hub, cached) })
	t.Run("of a group that exists initialPrimary may name a server that is gone", func(t *testing.T) {
		initialPrimaryMayGo(t, hub, cached)
	})
	t.Run("labels may be changed whatever became of others", func(t *testing.T) {
		g := NewWithT(t)
		defer clean(t, hub, cached)
		g.Expect(apply(ctx, hub.Client, parseOne(t, with(distributor, "NAME", "one", "SERVER", "d")))).To(Succeed())
		var two v1alpha1.Distributor
		g.Expect(yaml.Unmarshal([]byte(with(distributor, "NAME", "two", "SERVER", "e")), &two)).To(Succeed())
		g.Expect(hub.Client.Create(ctx, &two)).To(Succeed())
		g.Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(&two), &two) }, "60s").Should(Succeed())
		two.Labels = map[string]string{"a": "b"}
		g.Expect(hub.Client.Update(ctx, &two)).To(Succeed())
	})
	t.Run("that its objects stay is not forgotten before a Topology is gone", func(t *testing.T) {
		g := NewWithT(t)
		defer clean(t, hub, cached)
		u := parseOne(t, with(topology, "NAME", "t"))
		u.SetFinalizers([]string{v1alpha1.Finalizer})
		g.Expect(hub.Client.Create(ctx, u)).To(Succeed())
		g.Expect(hub.Client.Delete(ctx, u, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		finalizers := func(left ...string) error {
			g.Expect(hub.Client.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
			u.SetFinalizers(left)
			return hub.Client.Update(ctx, u)
		}
		g.Expect(finalizers(v1alpha1.Finalizer)).
			To(MatchError(ContainSubstring("goes after geosql.dev/finalizer")), "as the garbage collector does")
		g.Expect(finalizers(metav1.FinalizerOrphanDependents)).To(Succeed())
		g.Expect(finalizers()).To(Succeed())
	})
	t.Run("the certificate is kept in a Secret and its CA in the configuration", func(t *testing.T) {
		g := NewWithT(t)
		var secret corev1.Secret
		g.Expect(hub.Client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: admission.SecretName}, &secret)).
			To(Succeed())
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		g.Expect(hub.Client.Get(ctx, client.ObjectKey{Name: admission.ConfigurationName}, &c)).To(Succeed())
		g.Expect(c.Webhooks).To(HaveLen(13))
		for _, w := range c.Webhooks {
			g.Expect(w.ClientConfig.CABundle).To(Equal(secret.Data["ca.crt"]))
		}
	})
}

// accepted applies a file with server-side dry run.
func accepted(t *testing.T, hub *apiserver.Server, file string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(checkout.Root(), file))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	objects := parse(t, string(data))
	NewWithT(t).Expect(objects).NotTo(BeEmpty())
	for _, u := range objects {
		if u.GetKind() == "Namespace" {
			continue
		}
		NewWithT(
			t,
		).Expect(apply(t.Context(), hub.Client, u, client.DryRunAll)).
			To(Succeed(), "%s: %s %s", file, u.GetKind(), u.GetName())
	}
}

// setUp makes the objects of a manifest, with the status that it gives them, and waits until the webhooks' cache holds
// each as it was written last: a cache that has an object may not have its status yet.
func setUp(t *testing.T, hub *apiserver.Server, cached client.Reader, manifest string) {
	t.Helper()
	g := NewWithT(t)
	ctx := t.Context()
	for _, u := range parse(t, manifest) {
		g.Expect(apply(ctx, hub.Client, u)).To(Succeed())
		if u.Object["status"] != nil {
			status := client.ApplyConfigurationFromUnstructured(u.DeepCopy())
			g.Expect(hub.Client.Status().Apply(ctx, status, client.FieldOwner("test"))).To(Succeed())
		}
		written := &metav1.PartialObjectMetadata{}
		written.SetGroupVersionKind(u.GroupVersionKind())
		g.Expect(hub.Client.Get(ctx, client.ObjectKeyFromObject(u), written)).To(Succeed())
		g.Eventually(func() (string, error) { return cachedVersion(ctx, cached, u) }, "60s", "10ms").
			Should(Equal(written.ResourceVersion))
	}
}

// cachedVersion is the resource version that a cache holds of an object.
func cachedVersion(ctx context.Context, cached client.Reader, u *unstructured.Unstructured) (string, error) {
	obj, err := apiserver.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return "", err
	}
	held := obj.(client.Object)
	if err := cached.Get(ctx, client.ObjectKeyFromObject(u), held); err != nil {
		return "", err
	}
	return held.GetResourceVersion(), nil
}
