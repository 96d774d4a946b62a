// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package apiserver starts real API servers for tests: one hub with the CRDs, and member clusters whose network can be
// cut. Nothing is downloaded: the binaries are those of the bed, found in KUBEBUILDER_ASSETS or in the bed's cache.
package apiserver

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/ports"
)

// Scheme with Kubernetes' kinds and the operator's.
var Scheme = func() *kruntime.Scheme {
	s := kruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

// Server is one cluster: etcd and kube-apiserver, no nodes and no controllers. Pods do not run; a test that needs
// one with an address creates it and writes its status.
type Server struct {
	// Config of an administrator, through the wire.
	Config *rest.Config
	// Client of the administrator, uncached, that does not pass through the wire: a test can look at a cluster that it
	// has cut off.
	Client client.Client
	// Wire through which everybody else reaches the server.
	Wire *Wire
}

// StartHub starts an API server with the CRDs of config/crd/bases and the chart's admission policies. It stops when the
// test ends, unless Main keeps it.
func StartHub(t testing.TB) *Server {
	t.Helper()
	return start(t, true)
}

// StartMember starts an API server without CRDs. It stops when the test ends, unless Main keeps it.
func StartMember(t testing.TB) *Server {
	t.Helper()
	return start(t, false)
}

// StartNarrow starts an API server like StartMember that serves so many requests at once, half of them changes. It is
// soon busy.
func StartNarrow(t testing.TB, requests int) *Server {
	t.Helper()
	env := &envtest.Environment{}
	env.ControlPlane.GetAPIServer().Configure().
		Set("max-requests-inflight", strconv.Itoa(requests-requests/2)).
		Set("max-mutating-requests-inflight", strconv.Itoa(requests/2))
	r := launch(t, env)
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r.server(t)
}

// start gives the test a server that an earlier one has left, or a new one.
func start(t testing.TB, hub bool) *Server {
	t.Helper()
	r := again(t, hub)
	isNew := r == nil
	if isNew {
		env := &envtest.Environment{}
		if hub {
			env.CRDDirectoryPaths = []string{filepath.Join(checkout.Root(), "config", "crd", "bases")}
			env.ErrorIfCRDPathMissing = true
		}
		r = launch(t, env)
		r.hub = hub
	}
	t.Cleanup(func() {
		if r.before != nil && !t.Failed() {
			r.keep()
		} else if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	a := r.server(t)
	if isNew && hub {
		a.addPolicies(t)
	}
	if isNew && kept.on {
		if err := r.remember(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// launch starts a server.
func launch(t testing.TB, env *envtest.Environment) *running {
	t.Helper()
	env.BinaryAssetsDirectory = assets(t)
	env.Scheme = Scheme
	folder, err := place()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{env: env, folder: folder}
	r.givePorts(t)
	if err := r.giveFolders(); err != nil {
		t.Fatal(err)
	}
	// On a busy machine etcd alone takes longer than the default of 20 s.
	env.ControlPlaneStartTimeout, env.ControlPlaneStopTimeout = 2*time.Minute, time.Minute
	cfg, err := env.Start()
	if err != nil {
		// Both may run, and CRDs be refused: they would outlive the test, with the locks that it was given.
		_ = r.stop()
		t.Fatalf("starting etcd and kube-apiserver from %s: %v", env.BinaryAssetsDirectory, err)
	}
	cfg.QPS, cfg.Burst = -1, -1
	r.config = cfg
	r.client, err = client.New(cfg, client.Options{Scheme: Scheme})
	if err != nil {
		_ = r.stop()
		t.Fatalf("making a client: %v", err)
	}
	r.store = &store{url: env.ControlPlane.Etcd.URL.String()}
	return r
}

// server is it with a new wire, for a test.
func (r *running) server(t testing.TB) *Server {
	t.Helper()
	a := &Server{Client: r.client, Wire: newWire(t, r.config.Host), Config: rest.CopyConfig(r.config)}
	a.Config.Host = "https://" + a.Wire.Address()
	return a
}

// givePorts chooses where both listen: they begin to seconds later, and the system would give a port that it has chosen
// to others meanwhile.
func (r *running) givePorts(t testing.TB) {
	t.Helper()
	var chosen [3]string
	for i := range chosen {
		port, release, err := ports.Reserve()
		if err != nil {
			t.Fatalf("choosing the ports of an API server: %v", err)
		}
		r.release = append(r.release, release)
		chosen[i] = strconv.Itoa(port)
	}
	etcd := &envtest.Etcd{URL: &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", chosen[0])}}
	etcd.Configure().Set("listen-peer-urls", "http://"+net.JoinHostPort("127.0.0.1", chosen[1]))
	r.env.ControlPlane.Etcd = etcd
	serving := &r.env.ControlPlane.GetAPIServer().SecureServing
	serving.Address, serving.Port = "127.0.0.1", chosen[2]
}

// giveFolders chooses where both have their files.
func (r *running) giveFolders() error {
	r.env.ControlPlane.Etcd.DataDir = filepath.Join(r.folder, "etcd")
	r.env.ControlPlane.GetAPIServer().CertDir = filepath.Join(r.folder, "certificates")
	for _, folder := range []string{r.env.ControlPlane.Etcd.DataDir, r.env.ControlPlane.GetAPIServer().CertDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("make a folder for an API server: %w", err)
		}
	}
	return nil
}

// requireVariable names an environment variable that, when it is 1, has a test without kube-apiserver and etcd fail.
const requireVariable = "GEOSQL_REQUIRE_APISERVER"

// assets is the folder with kube-apiserver and etcd. Where they are missing the test is skipped, unless the environment
// requires them.
func assets(t testing.TB) string {
	t.Helper()
	candidates := []string{os.Getenv("KUBEBUILDER_ASSETS")}
	if cache := os.Getenv("GEOSQL_BED_CACHE"); cache != "" {
		candidates = append(candidates, filepath.Join(cache, "bin"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		candidates = append(candidates, filepath.Join(home, ".cache", "geosql-bed", "bin"))
	}
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "kube-apiserver")); err == nil {
			return dir
		}
	}
	const missing = "needs kube-apiserver and etcd: run hack/bed/envtest-assets, or set KUBEBUILDER_ASSETS (looked in %q)"
	if os.Getenv(requireVariable) == "1" {
		t.Fatalf(missing, candidates)
	}
	t.Skipf(missing, candidates)
	return ""
}

// Namespace makes a namespace unless it exists.
func (a *Server) Namespace(t testing.TB, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := a.Client.Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
		t.Fatalf("creating namespace %s: %v", name, err)
	}
}

// Kubeconfig of the administrator, through the wire, as `site join` would put it into a Secret.
func (a *Server) Kubeconfig() []byte { return Kubeconfig(a.Config) }

// KubeconfigFile writes Kubeconfig into a file of the test and returns its path.
func (a *Server) KubeconfigFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, a.Kubeconfig(), 0o600); err != nil {
		t.Fatalf("write a kubeconfig of %s: %v", a, err)
	}
	return file
}

// Join makes a Secret and a Site for the member in the hub, with allowed namespaces, which are made at the member.
func (a *Server) Join(t testing.TB, hub *Server, operatorNamespace, site string, namespaces ...string) *v1alpha1.Site {
	t.Helper()
	for _, ns := range namespaces {
		a.Namespace(t, ns)
	}
	hub.Namespace(t, operatorNamespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: site},
		Data: map[string][]byte{"kubeconfig": a.Kubeconfig()}}
	if err := hub.Client.Create(t.Context(), secret); err != nil {
		t.Fatalf("creating Secret %s: %v", site, err)
	}
	s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: site}, Spec: v1alpha1.SiteSpec{
		KubeconfigSecretRef: &v1alpha1.SecretReference{Name: site}, AllowedNamespaces: namespaces}}
	if err := hub.Client.Create(t.Context(), s); err != nil {
		t.Fatalf("creating Site %s: %v", site, err)
	}
	return s
}

// JoinHub makes a Site for the hub itself.
func (a *Server) JoinHub(t testing.TB, site string, namespaces ...string) *v1alpha1.Site {
	t.Helper()
	for _, ns := range namespaces {
		a.Namespace(t, ns)
	}
	s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: site}, Spec: v1alpha1.SiteSpec{AllowedNamespaces: namespaces}}
	if err := a.Client.Create(t.Context(), s); err != nil {
		t.Fatalf("creating Site %s: %v", site, err)
	}
	return s
}

// String names the server by its address.
func (a *Server) String() string { return fmt.Sprintf("API server behind %s", a.Wire.Address()) }
