// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/controllers/availabilitygroup"
	"geosql.dev/operator/controllers/backup"
	"geosql.dev/operator/controllers/backuppolicy"
	"geosql.dev/operator/controllers/backupstore"
	"geosql.dev/operator/controllers/distributor"
	"geosql.dev/operator/controllers/drill"
	"geosql.dev/operator/controllers/drillschedule"
	"geosql.dev/operator/controllers/failover"
	"geosql.dev/operator/controllers/login"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/controllers/publication"
	"geosql.dev/operator/controllers/publishermove"
	"geosql.dev/operator/controllers/restore"
	"geosql.dev/operator/controllers/site"
	"geosql.dev/operator/controllers/sqlserver"
	"geosql.dev/operator/controllers/subscription"
	"geosql.dev/operator/controllers/topology"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
)

// environment is what controllers are made of.
type environment struct {
	// Manager of the hub and the sites.
	Manager mcmanager.Manager
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Confirmed are the statuses of groups and Sites that are so still.
	Confirmed *confirmed.Keeper
	// Namespace of the operator.
	Namespace string
	// Image of the operator, for the agent.
	Image string
	// HubClock compares the manager's clock with the hub's.
	HubClock *sites.Clock
	// Heard is what agents measure of the links between sites.
	Heard *link.Heard
}

// controllers in the order in which they are added; each adds itself to the manager.
var controllers = []struct {
	name string
	add  func(environment) error
}{
	{"site", func(e environment) error { return site.SetupWithManager(e.Manager, e.Sites, e.Confirmed, e.Heard) }},
	{"names", func(e environment) error { return names.SetupWithManager(e.Manager, e.Sites) }},
	{"sqlserver", func(e environment) error {
		return sqlserver.SetupWithManager(e.Manager, sqlserver.Options{
			Sites: e.Sites, Connector: e.Connector, Namespace: e.Namespace, AgentImage: e.Image,
			HubClock: e.HubClock, Heard: e.Heard})
	}},
	{"availabilitygroup", func(e environment) error {
		return availabilitygroup.SetupWithManager(
			e.Manager,
			availabilitygroup.Options{Sites: e.Sites, Connector: e.Connector, Confirmed: e.Confirmed},
		)
	}},
	{"login", func(e environment) error {
		return login.SetupWithManager(e.Manager, login.Options{Sites: e.Sites, Connector: e.Connector})
	}},
	{"backupstore", func(e environment) error {
		return backupstore.SetupWithManager(e.Manager, backupstore.Options{Sites: e.Sites, Connector: e.Connector})
	}},
	{"backuppolicy", func(e environment) error {
		return backuppolicy.SetupWithManager(e.Manager, backuppolicy.Options{Sites: e.Sites, Connector: e.Connector})
	}},
	{"restore", func(e environment) error {
		return restore.SetupWithManager(e.Manager, restore.Options{Sites: e.Sites, Connector: e.Connector})
	}},
	{"backup", func(e environment) error { return backup.SetupWithManager(e.Manager) }},
	{"failover", func(e environment) error { return failover.SetupWithManager(e.Manager, e.Sites, &e.Confirmed.Log) }},
	{"distributor", func(e environment) error {
		return distributor.SetupWithManager(e.Manager, distributor.Options{Connector: e.Connector})
	}},
	{"publication", func(e environment) error {
		return publication.SetupWithManager(e.Manager, publication.Options{Connector: e.Connector})
	}},
	{"subscription", func(e environment) error {
		return subscription.SetupWithManager(e.Manager, subscription.Options{Sites: e.Sites, Connector: e.Connector})
	}},
	{"publishermove", func(e environment) error {
		return publishermove.SetupWithManager(e.Manager, publishermove.Options{Connector: e.Connector})
	}},
	{"drill", func(e environment) error {
		return drill.SetupWithManager(e.Manager, drill.Options{Sites: e.Sites, Connector: e.Connector, Image: e.Image})
	}},
	{"drillschedule", func(e environment) error { return drillschedule.SetupWithManager(e.Manager) }},
	{"topology", func(e environment) error { return topology.SetupWithManager(e.Manager) }},
}

func addControllers(e environment) error {
	for _, c := range controllers {
		if err := c.add(e); err != nil {
			return fmt.Errorf("adding the controller %s: %w", c.name, err)
		}
	}
	return nil
}
