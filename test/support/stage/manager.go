// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/availabilitygroup"
	"geosql.dev/operator/controllers/distributor"
	"geosql.dev/operator/controllers/failover"
	"geosql.dev/operator/controllers/login"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/controllers/publication"
	"geosql.dev/operator/controllers/subscription"
	"geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
)

// managerVariable names the file that tells a test's binary to be a manager.
const managerVariable = "GEOSQL_STAGE_MANAGER"

// Watch sees what a manager's process sends, and may end it there.
type Watch struct {
	// Transport wraps the requests to API servers.
	Transport func(http.RoundTripper) http.RoundTripper
	// Dial connects to an engine; servers are host names by address.
	Dial func(servers map[string]string) func(ctx context.Context, network, address string) (net.Conn, error)
	// Executing is told each statement before it is sent, and what it returns is told its end.
	Executing func(mssql.Target, tsql.Statement) func(error)
	// Workers are how many objects of a kind are reconciled at the same time; as many as usual unless given.
	Workers int
}

// Main is TestMain of a package that uses a stage. The binary is a manager when Stage.StartManager has started it, with
// the Watch that watch makes of what was given there; else it runs the tests.
func Main[T any](m *testing.M, watch func(T) (Watch, error)) {
	if file := os.Getenv(managerVariable); file != "" {
		if err := runManager(file, watch); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	log.SetLogger(logr.Discard())
	os.Exit(apiserver.Main(m))
}

// managerConfig is what a manager's process is told.
type managerConfig[T any] struct {
	Kubeconfig []byte
	// Engines and Sidecars are addresses by server.
	Engines, Sidecars map[v1alpha1.ServerName]string
	// Watch is for the maker of the Watch.
	Watch T
}

// Manager is a manager's process.
type Manager struct {
	cmd   *exec.Cmd
	ended chan bool
}

// Ended receives once, at the process's end: whether SIGKILL ended it.
func (m *Manager) Ended() <-chan bool { return m.ended }

// Kill ends the process with SIGKILL and waits for its end.
func (m *Manager) Kill() {
	_ = m.cmd.Process.Kill()
	<-m.ended
}

// State of the process, once it has ended.
func (m *Manager) State() string { return m.cmd.ProcessState.String() }

// StartManager starts a manager's process, whose Watch is made of watch. It ends at the latest with the test.
func (b *Stage) StartManager(t testing.TB, watch any) *Manager {
	t.Helper()
	g := gomega.NewWithT(t)
	engines := map[v1alpha1.ServerName]string{}
	for server, e := range b.engines {
		engines[server] = e.Address
	}
	content, err := json.Marshal(managerConfig[any]{
		Kubeconfig: apiserver.Kubeconfig(b.Hub.ManagerConfig(t)), Engines: engines,
		Sidecars: b.sidecarsOf(), Watch: watch})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	file := filepath.Join(b.dir, "manager.json")
	g.Expect(os.WriteFile(file, content, 0o600)).To(gomega.Succeed())
	output, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	binary, err := os.Executable()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), managerVariable+"="+file)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g.Expect(cmd.Start()).To(gomega.Succeed())
	m := &Manager{cmd: cmd, ended: make(chan bool, 1)}
	go func() {
		_ = cmd.Wait()
		_ = output.Close()
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		m.ended <- ok && status.Signal() == syscall.SIGKILL
		close(m.ended)
	}()
	t.Cleanup(m.Kill)
	return m
}

// runManager is the manager: the controllers of cmd/geosql except those that need pods, until the process ends.
func runManager[T any](file string, watch func(T) (Watch, error)) error {
	var c managerConfig[T]
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		return fmt.Errorf("read the manager's configuration: %w", err)
	}
	log.SetLogger(zap.New())
	x, err := watch(c.Watch)
	if err != nil {
		return err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	if x.Transport != nil {
		config.Wrap(x.Transport)
	}
	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 500 * time.Millisecond})
	options := apiserver.HubOptions()
	options.HealthProbeBindAddress = "0"
	options.Controller.MaxConcurrentReconciles = x.Workers
	mgr, err := sites.NewManager(config, provider, options)
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	local := mgr.GetLocalManager()
	if err := provider.SetupWithManager(local); err != nil {
		return err
	}
	connecting := mssql.Options{
		Access:    mssql.SecretAccess{Reader: local.GetAPIReader()},
		AccessFor: mssql.AccessFor,
		SilentFor: mssql.SilentFor,
		Check: func(ctx context.Context, namespace string, server v1alpha1.ServerName) error {
			return provider.CheckServer(ctx, local.GetClient(), namespace, server)
		},
		Address:   func(t mssql.Target) string { return c.Engines[t.Server] },
		Executing: x.Executing,
	}
	if x.Dial != nil {
		at := map[string]string{}
		for server, address := range c.Engines {
			at[address] = credentials.HostName(server)
		}
		connecting.Dial = x.Dial(at)
	}
	connector := mssql.NewConnector(connecting)
	statuses, err := confirmed.NewKeeper(local, system)
	if err != nil {
		return err
	}
	sidecar := func(_ string, server v1alpha1.ServerName) string { return c.Sidecars[server] }
	for _, add := range []func() error{
		func() error { return topology.SetupWithManager(mgr) },
		func() error { return names.SetupWithManager(mgr, provider) },
		func() error { return failover.SetupWithManager(mgr, provider, &statuses.Log) },
		func() error {
			return availabilitygroup.SetupWithManager(mgr, availabilitygroup.Options{Sites: provider,
				Connector: connector, Sidecar: sidecar, Confirmed: statuses})
		},
		func() error {
			return login.SetupWithManager(mgr, login.Options{Sites: provider, Connector: connector})
		},
		func() error { return distributor.SetupWithManager(mgr, distributor.Options{Connector: connector}) },
		func() error { return publication.SetupWithManager(mgr, publication.Options{Connector: connector}) },
		func() error {
			return subscription.SetupWithManager(mgr,
				subscription.Options{Sites: provider, Connector: connector, Sidecar: sidecar})
		},
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
