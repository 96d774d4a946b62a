// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

// declaredLists are of the kinds that a manager of the stage brings about.
func declaredLists() map[string]client.ObjectList {
	return map[string]client.ObjectList{
		"AvailabilityGroup": &v1alpha1.AvailabilityGroupList{}, "Distributor": &v1alpha1.DistributorList{},
		"Publication": &v1alpha1.PublicationList{}, "Subscription": &v1alpha1.SubscriptionList{},
		"Login": &v1alpha1.LoginList{}, "Topology": &v1alpha1.TopologyList{},
	}
}

func statusOf(obj runtime.Object) v1alpha1.StatusBase {
	switch o := obj.(type) {
	case *v1alpha1.AvailabilityGroup:
		return o.Status.StatusBase
	case *v1alpha1.Distributor:
		return o.Status.StatusBase
	case *v1alpha1.Publication:
		return o.Status.StatusBase
	case *v1alpha1.Subscription:
		return o.Status.StatusBase
	case *v1alpha1.Login:
		return o.Status.StatusBase
	case *v1alpha1.Topology:
		return o.Status.StatusBase
	}
	panic(fmt.Sprintf("%T has no status", obj))
}

// catalogViews are what each server has, by the views that tell it: a database, the columns, and what follows FROM.
var catalogViews = []struct {
	servers           []v1alpha1.ServerName
	database, columns string
	from              string
}{
	{Servers, "master", "name, type_desc, is_disabled", "sys.server_principals WHERE name LIKE '%geosql%' OR type = 'S'"},
	{Servers, "master", "name, is_linked, is_publisher, is_distributor", "sys.servers"},
	{Servers, "master", "name, state_desc, recovery_model_desc, is_published, is_subscribed, is_distributor",
		"sys.databases WHERE name <> 'tempdb'"},
	{Servers, "master", "name, subject", "sys.certificates"},
	{Servers, "master", "name, state_desc, role_desc, connection_auth_desc", "sys.database_mirroring_endpoints"},
	{Servers, "master", "name, cluster_type_desc, required_synchronized_secondaries_to_commit", "sys.availability_groups"},
	{
		Servers,
		"master",
		"replica_server_name, endpoint_url, availability_mode_desc, failover_mode_desc, seeding_mode_desc, " +
			"secondary_role_allow_connections_desc",
		"sys.availability_replicas",
	},
	{Servers, "master", "role_desc, connected_state_desc", "sys.dm_hadr_availability_replica_states WHERE is_local = 1"},
	{Servers, "msdb", "name, enabled", "dbo.sysjobs"},
	{Servers, "msdb", "step_id, step_name, subsystem", "dbo.sysjobsteps"},
	{
		[]v1alpha1.ServerName{"tukpub"},
		"Content",
		"name, status, allow_pull, allow_push, immediate_sync",
		"dbo.syspublications",
	},
	{[]v1alpha1.ServerName{"tukpub"}, "Content", "name, dest_table, type, status", "dbo.sysarticles"},
	{
		[]v1alpha1.ServerName{"tukpub"},
		"Content",
		"srvname, dest_db, status, sync_type, subscription_type",
		"dbo.syssubscriptions",
	},
	{
		[]v1alpha1.ServerName{"tukpub", "dubsub"},
		"Content",
		"name, type_desc",
		"sys.database_principals WHERE name LIKE '%geosql%'",
	},
	{[]v1alpha1.ServerName{"dist"}, "distribution", "publisher_db, publication, publication_type", "dbo.MSpublications"},
	{[]v1alpha1.ServerName{"dist"}, "distribution", "publisher_db, article, source_object", "dbo.MSarticles"},
	{
		[]v1alpha1.ServerName{"dist"},
		"distribution",
		"publisher_db, subscriber_db, subscription_type, status",
		"dbo.MSsubscriptions",
	},
	{
		[]v1alpha1.ServerName{"dubsub"},
		"Content",
		"publisher, publisher_db, publication, subscription_type",
		"dbo.MSreplication_subscriptions",
	},
}

// noSuchObject is the error of a table that replication makes when it is first needed, and leaves: without it there are
// no rows.
const noSuchObject = 208

// State is what two runs are compared by: what the servers' catalogs have, the objects at the API servers, and the
// conditions.
func (b *Stage) State(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, v := range catalogViews {
		for _, server := range v.servers {
			columns := strings.Count(v.columns, ",") + 1
			rows, err := b.rows(t, server, v.database, "SELECT "+v.columns+" FROM "+v.from, columns)
			if err != nil && !mssql.HasNumber(err, noSuchObject) {
				rows = []string{err.Error()}
			}
			slices.Sort(rows)
			for _, row := range rows {
				all = append(all, fmt.Sprintf("%s %s: %s", server, strings.Fields(v.from)[0], row))
			}
		}
	}
	return append(all, b.Objects(t)...)
}

// Objects at the API servers, with the keys of Secrets and the status of conditions.
func (b *Stage) Objects(t testing.TB) []string {
	t.Helper()
	lists := []client.ObjectList{
		&coordinationv1.LeaseList{},
		&corev1.SecretList{},
		&corev1.ServiceAccountList{},
		&corev1.ServiceList{},
		&discoveryv1.EndpointSliceList{},
		&rbacv1.RoleList{},
		&rbacv1.RoleBindingList{},
	}
	kubernetes := len(lists)
	for _, list := range declaredLists() {
		lists = append(lists, list)
	}
	all := objects(t, b.Hub, lists)
	if b.Member != nil {
		for _, line := range objects(t, b.Member, lists[:kubernetes]) {
			all = append(all, Far+" "+line)
		}
	}
	return all
}

// objects of an API server, of some kinds.
func objects(t testing.TB, at *apiserver.Server, lists []client.ObjectList) (all []string) {
	t.Helper()
	for _, list := range lists {
		gomega.NewWithT(t).Expect(at.Client.List(t.Context(), list, client.InNamespace(Namespace))).To(gomega.Succeed())
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if lease, ok := item.(*coordinationv1.Lease); ok && lease.Name == confirmed.LeaseName {
				// It is written by the clock, and says nothing of what is there.
				return nil
			}
			finalizers := slices.Sorted(slices.Values(object.GetFinalizers()))
			all = append(
				all,
				fmt.Sprintf("%T %s %v %v", item, strings.TrimRight(object.GetName(), "0123456789"), object.GetLabels(), finalizers),
			)
			switch o := item.(type) {
			case *corev1.Secret:
				for key := range o.Data {
					all = append(all, fmt.Sprintf("Secret %s has %s", o.Name, key))
				}
			case *coordinationv1.Lease:
				// What follows the server is of its pod and its sidecar's process: others in another bed.
				holder := ptr.Deref(o.Spec.HolderIdentity, "nobody")
				if o.Name == sites.OwnerLease {
					holder = "a hub"
				}
				all = append(all, fmt.Sprintf("Lease %s is held by %s", o.Name, strings.Split(holder, "/")[0]))
			case *v1alpha1.AvailabilityGroup, *v1alpha1.Distributor, *v1alpha1.Publication, *v1alpha1.Subscription,
				*v1alpha1.Login, *v1alpha1.Topology:
				for _, c := range statusOf(item).Conditions {
					if c.Type == v1alpha1.ConditionCleanedUp && c.Status == metav1.ConditionTrue {
						continue // whether a distributor's job has cleaned up by now is the clock's
					}
					all = append(all, fmt.Sprintf("%T %s: %s is %s, %s", item, object.GetName(), c.Type, c.Status, c.Reason))
				}
			}
			return nil
		})
	}
	slices.Sort(all)
	return all
}
