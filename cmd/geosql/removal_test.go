// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/chart"
	"geosql.dev/operator/test/support/checkout"
)

// installed is a hub into which Helm has installed the chart. Its pods do not run: kubelet does what the Job's does.
type installed struct {
	*apiserver.Server
	t    *testing.T
	helm string
	// environment of helm and kubectl. Their folder at home is the test's own: they keep there what an address serves.
	environment []string
	mu          sync.Mutex
	said        bytes.Buffer
}

// startInstalled starts a hub into which install installs the chart.
func startInstalled(t *testing.T) *installed {
	t.Helper()
	i := &installed{Server: apiserver.StartHub(t), t: t, helm: chart.Helm(t)}
	i.StartControllers(t, "job-controller")
	i.environment = append(os.Environ(), "HOME="+t.TempDir(), "KUBECONFIG="+i.KubeconfigFile(t),
		"PATH="+filepath.Dir(i.helm)+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.kubelet(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return i
}

// install installs the chart without its webhooks, which no manager serves here. The definitions and the policy are
// the hub's already.
func (i *installed) install() {
	i.t.Helper()
	values := chart.Values(i.t, `
image: {repository: geosql-operator}
crds: {install: false}
webhook: {enabled: false}
`)
	out, err := i.run("install", "geosql-operator", chart.Folder(), "--create-namespace", "--take-ownership", "--values",
		values)
	NewWithT(i.t).Expect(err).NotTo(HaveOccurred(), out)
	NewWithT(i.t).Expect(out).To(ContainSubstring("The order of removal is: what is declared, the sites, this release."))
}

// run runs helm in the operator's namespace.
func (i *installed) run(arguments ...string) (string, error) {
	command := exec.CommandContext(i.t.Context(), i.helm, append(arguments, "--namespace", sites.OperatorNamespace)...)
	command.Env = i.environment
	out, err := command.CombinedOutput()
	return string(out), err
}

// kubelet runs the pods of the Job, with the rights of their account, until ctx ends.
func (i *installed) kubelet(ctx context.Context) {
	cfg := rest.CopyConfig(i.Config)
	cfg.Impersonate.UserName = "system:serviceaccount:" + sites.OperatorNamespace + ":geosql-operator"
	hub, err := client.New(cfg, client.Options{Scheme: hubScheme()})
	if err != nil {
		i.t.Errorf("making a client of the manager's account: %v", err)
		return
	}
	for ctx.Err() == nil {
		var pods corev1.PodList
		err := i.Client.List(ctx, &pods, client.InNamespace(sites.OperatorNamespace), client.HasLabels{batchv1.JobNameLabel})
		for n := range pods.Items {
			if err == nil && pods.Items[n].Status.Phase == corev1.PodPending && pods.Items[n].DeletionTimestamp == nil {
				err = i.runPod(ctx, hub, &pods.Items[n])
			}
		}
		if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			i.t.Logf("running the Job's pods: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (i *installed) runPod(ctx context.Context, hub client.Client, pod *corev1.Pod) error {
	command := newRemovableCommand()
	arguments := pod.Spec.Containers[0].Args
	if err := command.ParseFlags(arguments[1:]); err != nil || arguments[0] != command.Name() {
		i.t.Errorf("the Job's arguments %q are not understood: %v", arguments, err)
	}
	flag := func(name string) string { return command.Flag(name).Value.String() }
	i.mu.Lock()
	err := removal{namespace: pod.Namespace, release: flag("release"), revision: flag("revision")}.judge(ctx, hub, &i.said)
	i.mu.Unlock()
	if apierrors.IsForbidden(err) {
		return err // rights that were granted a moment ago, which the API server does not know of yet
	}
	pod.Status.Phase = corev1.PodSucceeded
	if err != nil {
		pod.Status.Phase = corev1.PodFailed
	}
	return i.Client.Status().Update(ctx, pod)
}

// words are what the Job's pods have said.
func (i *installed) words() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.said.String()
}

// status is what Helm takes the release for.
func (i *installed) status() string {
	out, err := i.run("status", "geosql-operator", "--output", "json")
	NewWithT(i.t).Expect(err).NotTo(HaveOccurred(), out)
	var release struct{ Info struct{ Status string } }
	NewWithT(i.t).Expect(json.Unmarshal([]byte(out), &release)).To(Succeed())
	return release.Info.Status
}

// works tells whether the manager's Deployment is there.
func (i *installed) works() bool {
	err := i.Client.Get(i.t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "geosql-operator"},
		&appsv1.Deployment{})
	NewWithT(i.t).Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}

// `helm uninstall` refuses while there are objects that only the manager ends, and leaves everything as it is; it goes
// on once they are gone. By force it removes the operator, and then what the documents say happens, and helps.
func TestHelmRemovesTheOperatorOnceNothingWaitsForIt(t *testing.T) {
	g := NewWithT(t)
	hub := startInstalled(t)
	hub.install()
	out, err := hub.run("uninstall", "geosql-operator")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(hub.works()).To(BeFalse(), "the hub is empty")
	g.Expect(hub.words()).To(BeEmpty())

	hub.install()
	hub.Namespace(t, "web")
	site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin", Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s3",
		Finalizers: []string{v1alpha1.Finalizer}}, Spec: v1alpha1.BackupStoreSpec{
		Volume: &v1alpha1.ServerVolume{Server: "quirep"}}}
	login := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app",
		Finalizers: []string{v1alpha1.Finalizer}}, Spec: v1alpha1.LoginSpec{
		Target: v1alpha1.ServerOrGroup{Server: "quirep"}}}
	for _, object := range []client.Object{site, store, login} {
		g.Expect(hub.Client.Create(t.Context(), object)).To(Succeed())
	}

	out, err = hub.run("uninstall", "geosql-operator")
	g.Expect(err).To(HaveOccurred(), out)
	g.Expect(out).To(ContainSubstring("geosql-operator-removal"))
	g.Expect(hub.words()).To(And(ContainSubstring("in no namespace: site/dublin\n"),
		ContainSubstring("  kubectl delete backupstore.geosql.dev,login.geosql.dev --all -n web\n"),
		ContainSubstring("  helm rollback geosql-operator 1 -n geosql-system\n")))
	hub.understands("kubectl delete ")
	g.Expect(hub.works()).To(BeTrue(), "nothing was deleted")
	g.Expect(hub.status()).To(Equal("uninstalling"))
	out, err = hub.run("rollback", "geosql-operator", "1")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(hub.status()).To(Equal("deployed"))

	out, err = hub.run("uninstall", "geosql-operator", "--no-hooks")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(hub.works()).To(BeFalse())
	web := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	g.Expect(hub.Client.Delete(t.Context(), web)).To(Succeed())
	g.Expect(hub.Client.Delete(t.Context(), site)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
		g.Expect(web.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.NamespaceFinalizersRemaining),
			HaveField("Status", corev1.ConditionTrue), HaveField("Message", ContainSubstring(v1alpha1.Finalizer)))))
	}, time.Minute, "200ms").Should(Succeed())

	// As docs/uninstall.md says, of a hub whose namespace geosql-system was deleted: nobody serves its webhooks.
	hub.leaveWebhooks()
	changed := func() error {
		object := login.DeepCopy()
		object.Annotations = map[string]string{"example.com/changed": "true"}
		return hub.Client.Patch(t.Context(), object, client.MergeFrom(login), client.DryRunAll)
	}
	g.Eventually(changed, time.Minute, "100ms").Should(MatchError(ContainSubstring("failed calling webhook")))
	hub.documented(2)
	g.Eventually(changed, time.Minute, "100ms").Should(Succeed())
	hub.documented(1)
	for _, object := range []client.Object{web, site} {
		g.Eventually(func() bool {
			return apierrors.IsNotFound(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		}, time.Minute, "200ms").Should(BeTrue(), object.GetName())
	}
}

// understands has the hub try, as a dry run, the commands that the Job has named and that begin so.
func (i *installed) understands(prefix string) {
	g, tried := NewWithT(i.t), 0
	for line := range strings.Lines(i.words()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, prefix) {
			i.shell(line + " --dry-run=server")
			tried++
		}
	}
	g.Expect(tried).To(BeNumerically(">", 0))
}

// leaveWebhooks leaves the chart's webhooks, whose Service is gone.
func (i *installed) leaveWebhooks() {
	g := NewWithT(i.t)
	objects, err := chart.Render(i.t, "image: {repository: geosql-operator}\ncrds: {install: false}\n")
	g.Expect(err).NotTo(HaveOccurred())
	var webhooks admissionregistrationv1.ValidatingWebhookConfiguration
	objects.Read(i.t, "ValidatingWebhookConfiguration", "geosql-operator", &webhooks)
	g.Expect(i.Client.Create(i.t.Context(), &webhooks)).To(Succeed())
}

// documented carries out commands of docs/uninstall.md: 1 are the last ones, 2 those before.
func (i *installed) documented(fromEnd int) {
	text, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "uninstall.md"))
	NewWithT(i.t).Expect(err).NotTo(HaveOccurred())
	blocks := strings.Split(string(text), "```sh\n")
	script, _, _ := strings.Cut(blocks[len(blocks)-fromEnd], "```")
	i.shell(script)
}

// shell has bash run a script, which must succeed.
func (i *installed) shell(script string) {
	command := exec.CommandContext(i.t.Context(), "bash", "-c", script)
	command.Env = i.environment
	out, err := command.CombinedOutput()
	NewWithT(i.t).Expect(err).NotTo(HaveOccurred(), script+string(out))
}
