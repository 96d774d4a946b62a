// SPDX-License-Identifier: Apache-2.0

//go:build integration

package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/kubelet"
)

// planted are secrets, each of a Secret of its own.
var planted = map[string]string{
	"sa": "Planted-Sa-Passw0rd", "login": `Planted "login" Passw0rd`, "token": "planted-T0ken-Of-An-Agent-0123456789",
	"app": "Planted,App(Passw0rd", "bucket": "PlantedBucketSecret/With+Signs==", "env": "planted in nobody's Secret",
}

func inWeb(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

// files are those of a bundle.
func files(t *testing.T, name string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	data, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	packed, err := gzip.NewReader(bytes.NewReader(data))
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
		all[strings.TrimPrefix(header.Name, "geosql-report/")] = string(text)
	}
}

// plant puts the secrets wherever somebody or something may write them.
func plant(t *testing.T, hub, member *apiserver.Server, at *kubelet.Kubelet) {
	t.Helper()
	g := NewWithT(t)
	add := func(where *apiserver.Server, objects ...client.Object) {
		for _, o := range objects {
			g.Expect(where.Client.Create(t.Context(), o)).To(Succeed())
		}
	}
	own := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
	connection := &corev1.Secret{ObjectMeta: inWeb("webapp-connection"), Data: map[string][]byte{
		"password": []byte(planted["login"]), "username": []byte("webapp"), "host": []byte("content"),
		"database": []byte("Content")}}
	connection.Labels = own
	add(hub, connection, &corev1.Secret{ObjectMeta: inWeb("store"),
		Data: map[string][]byte{"secretKey": []byte(planted["bucket"])}},
		&corev1.Secret{ObjectMeta: inWeb("app"), Data: map[string][]byte{
			"url": []byte("Server=tcp:content,1433;User ID=app;Password=" + planted["app"] + ";Encrypt=True")}})
	add(member, &corev1.Secret{ObjectMeta: inWeb("tukpub-credentials"),
		Data: map[string][]byte{"sa-password": []byte(planted["sa"])}},
		&corev1.Secret{ObjectMeta: inWeb("tukpub-agent"),
			Data: map[string][]byte{"orders.json": []byte(`{"voters":[{"token":"` + planted["token"] + `"}]}`)}},
		votes.NewLease("web", "content", "tukpub-0", votes.Configuration{}))
	everything := planted["sa"] + " " + planted["login"] + " " + planted["token"] + " " + planted["bucket"] + " " +
		planted["app"]
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	server := &v1alpha1.SQLServer{ObjectMeta: inWeb("tukpub"),
		Spec: v1alpha1.SQLServerSpec{Site: "tukwila", AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
			Pod:     &v1alpha1.ServerPod{Env: []corev1.EnvVar{{Name: "GREETING", Value: planted["env"]}}},
			Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}}}
	kept := map[string]string{
		"kapp.k14s.io/original":           `{"spec":{"env":[{"name":"GREETING","value":"` + planted["env"] + `"}]}}`,
		"objectset.rio.cattle.io/applied": "H4sIAAAAAAAA/6tWKkktLlGyUlAqSy0qzszPU6oFAH3pBDcXAAAA",
	}
	server.Annotations = map[string]string{"note": everything}
	maps.Copy(server.Annotations, kept)
	add(hub, server)
	application := &appsv1.Deployment{ObjectMeta: inWeb("application")}
	application.Annotations = kept
	application.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	application.Spec.Template.Labels = application.Spec.Selector.MatchLabels
	application.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "a:1",
		Env: []corev1.EnvVar{{Name: "GREETING", Value: planted["env"]}}}}
	add(member, application)
	server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "LoginFailed",
		LastTransitionTime: metav1.Now(), Message: "url sqlserver://sa:" + planted["sa"] + "@tukpub-0 " + everything}}
	g.Expect(hub.Client.Status().Update(t.Context(), server)).To(Succeed())
	add(hub, &corev1.Event{ObjectMeta: inWeb("event"), Message: "It has " + everything, Reason: "Said",
		InvolvedObject: corev1.ObjectReference{Kind: "SQLServer", Namespace: "web", Name: "tukpub"}})
	labels := map[string]string{v1alpha1.LabelServer: "tukpub", v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
	at.Runs(t, "web", "tukpub-0", labels, "mssql", "agent")
	line := func(text string) kubelet.Line { return kubelet.Line{At: time.Now(), Text: text} }
	at.Log("web", "tukpub-0", "mssql", line("Starting up database 'Content'."), line(everything),
		line("Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("sa:"+planted["sa"]))))
	at.Log("web", "tukpub-0", "agent",
		line(`{"msg":"x","data":"`+base64.StdEncoding.EncodeToString([]byte(everything))+`"}`))
}

// A report has what somebody needs, of each site that answers, and no secret in any form; what it lacks it says.
func TestReport(t *testing.T) {
	g := NewWithT(t)
	hub, member, silent := apiserver.StartHub(t), apiserver.StartMember(t), apiserver.StartMember(t)
	hub.Namespace(t, "web")
	member.Join(t, hub, sites.OperatorNamespace, "tukwila", "web")
	silent.Join(t, hub, sites.OperatorNamespace, "quincy", "web")
	member.Namespace(t, sites.OperatorNamespace)
	plant(t, hub, member, kubelet.Start(t, member))
	kubeconfig := apiserver.Contexts(t, "hub", map[string]*rest.Config{"hub": hub.Config, "tukwila": member.Config,
		"quincy": silent.Config})
	silent.Wire.Cut()
	run := func(arguments ...string) (string, int) {
		var out bytes.Buffer
		command := NewCommand()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetOut(&out)
		command.SetErr(&out)
		command.SetArgs(append([]string{"--kubeconfig", kubeconfig, "-n", "web"}, arguments...))
		status := cli.Exit(&out, command.ExecuteContext(t.Context()))
		return out.String(), status
	}
	name := filepath.Join(t.TempDir(), "report.tar.gz")
	said, status := run("-o", name)
	g.Expect(status).To(Equal(0), said)
	g.Expect(said).To(And(HavePrefix(name+" is written: "), ContainSubstring("quincy")))
	info, err := os.Stat(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	all := files(t, name)

	for file, has := range map[string]string{
		"INDEX.txt":                                                          "kubectl geosql report, plugin dev, namespace web",
		"hub/versions.txt":                                                   "Kubernetes",
		"hub/status.txt":                                                     "tukpub-0",
		"hub/objects/sqlserver.yaml":                                         "reason: LoginFailed",
		"hub/objects/site.yaml":                                              "name: quincy",
		"hub/secrets.yaml":                                                   "name: store",
		"sites/tukwila/secrets.yaml":                                         "- sa-password",
		"hub/namespaces/web/events.txt":                                      "Said SQLServer/tukpub (1): It has [redacted: ",
		"sites/tukwila/namespaces/web/pods.yaml":                             "name: tukpub-0",
		"sites/tukwila/namespaces/web/leases.yaml":                           "name: geosql-content",
		"sites/tukwila/namespaces/web/logs/tukpub-0/mssql.log":               "Starting up database 'Content'.",
		"sites/tukwila/namespaces/web/logs/tukpub-0/agent.log":               "[redacted: ",
		"sites/tukwila/namespaces/web/poddisruptionbudgets.yaml":             "[]",
		"sites/tukwila/namespaces/" + sites.OperatorNamespace + "/pods.yaml": "[]",
	} {
		g.Expect(all).To(HaveKeyWithValue(file, ContainSubstring(has)), "%s", all["INDEX.txt"])
	}
	g.Expect(all["INDEX.txt"]).To(And(ContainSubstring("quincy"), ContainSubstring("geosql-names"),
		ContainSubstring("hub/objects/sqlserver.yaml (")))
	kept := string(silent.Kubeconfig())
	_, key, _ := strings.Cut(kept, "client-key-data: ")
	key, _, _ = strings.Cut(key, "\n")
	g.Expect(len(key)).To(BeNumerically(">", 100))
	for file, text := range all {
		for what, secret := range planted {
			for _, form := range append(forms(secret), base64.StdEncoding.EncodeToString([]byte(secret))) {
				g.Expect(text).NotTo(ContainSubstring(form), "%s has the secret of %s", file, what)
			}
		}
		g.Expect(text).NotTo(ContainSubstring(key), "%s has the key of a kubeconfig", file)
		g.Expect(text).NotTo(ContainSubstring("Passw0rd"), file)
	}
	g.Expect(all["hub/objects/sqlserver.yaml"]).To(And(ContainSubstring("GREETING"),
		ContainSubstring("edition: Developer"), Not(ContainSubstring("H4sI"))))
	g.Expect(all["sites/tukwila/namespaces/web/deployments.yaml"]).To(And(ContainSubstring("GREETING"),
		Not(ContainSubstring("H4sI"))))

	said, status = run("-o", name)
	g.Expect(status).To(Equal(1))
	g.Expect(said).To(ContainSubstring("exists"), "nothing is written over")
	_, status = run("--since", "0s")
	g.Expect(status).To(Equal(2))

	// A site alone.
	alone := filepath.Join(t.TempDir(), "site.tar.gz")
	said, status = run("-o", alone, "--context", "tukwila")
	g.Expect(status).To(Equal(0), said)
	of := files(t, alone)
	g.Expect(of["INDEX.txt"]).To(ContainSubstring("does not know the hub's kinds, and is packed as a site"))
	g.Expect(of).To(HaveKeyWithValue("site/namespaces/web/logs/tukpub-0/mssql.log", ContainSubstring("Starting up")))
}

// What is too long is cut, at its beginning, and said.
func TestABundleIsBounded(t *testing.T) {
	g := NewWithT(t)
	b := newBundle(newRedactor())
	b.text("long.log", strings.Repeat("a line of a log\n", maxFile/16+1000)+"the last\n")
	for n := range maxBundle/maxFile + 2 {
		b.text(strings.Repeat("x", n+1), strings.Repeat("y", maxFile))
	}
	g.Expect(len(b.files["long.log"])).To(BeNumerically("<=", maxFile))
	g.Expect(b.files["long.log"]).To(HaveSuffix("the last\n"))
	g.Expect(b.files["long.log"]).To(HavePrefix("a line of a log\n"))
	g.Expect(b.size).To(BeNumerically("<=", maxBundle))
	index := b.index("")
	g.Expect(index).To(And(ContainSubstring("long.log: its first "), ContainSubstring(": the bundle has ")))
	var packed bytes.Buffer
	g.Expect(b.write(&packed, "", time.Now())).To(Succeed())
}
