// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/availabilitygroup"
	"geosql.dev/operator/controllers/distributor"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/controllers/publication"
	"geosql.dev/operator/controllers/subscription"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// managerConfig is what a manager's process is told.
type managerConfig struct {
	Kubeconfig []byte
	// Engines and Sidecars are addresses by server.
	Engines, Sidecars map[v1alpha1.ServerName]string
	Killing           killing
	Seed              string
	Ledger            string
}

// runManager is the manager: the controllers of cmd/geosql except those that need pods, until the process ends.
func runManager(file string) error {
	var c managerConfig
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		return fmt.Errorf("read the manager's configuration: %w", err)
	}
	log.SetLogger(zap.New())
	x, err := newKiller(c.Killing, c.Seed, c.Ledger)
	if err != nil {
		return err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	config.Wrap(x.transport)
	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 500 * time.Millisecond})
	options := apiserver.HubOptions()
	options.HealthProbeBindAddress = "0"
	mgr, err := mcmanager.New(config, provider, options)
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	local := mgr.GetLocalManager()
	if err := provider.SetupWithManager(local); err != nil {
		return err
	}
	at := map[string]string{}
	for server, address := range c.Engines {
		at[address] = credentials.HostName(server)
	}
	connector := mssql.NewConnector(mssql.Options{
		Access:    mssql.SecretAccess{Reader: local.GetAPIReader()},
		Address:   func(t mssql.Target) string { return c.Engines[t.Server] },
		Dial:      x.dial(at),
		Executing: x.executing,
	})
	sidecar := func(_ string, server v1alpha1.ServerName) string { return c.Sidecars[server] }
	for _, add := range []func() error{
		func() error { return names.SetupWithManager(mgr, provider) },
		func() error {
			return availabilitygroup.SetupWithManager(mgr, availabilitygroup.Options{Sites: provider, Connector: connector})
		},
		func() error { return distributor.SetupWithManager(mgr, distributor.Options{Connector: connector}) },
		func() error { return publication.SetupWithManager(mgr, publication.Options{Connector: connector}) },
		func() error {
			return subscription.SetupWithManager(mgr, subscription.Options{Sites: provider, Connector: connector, Sidecar: sidecar})
		},
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
