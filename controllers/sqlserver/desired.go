// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/podshape"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/transfer"
)

// Desired is what a SQLServer asks for, with what its site and the objects around it contribute.
type Desired struct {
	// Server is the object.
	Server *v1alpha1.SQLServer
	// Site is its Site, as engaged.
	Site v1alpha1.Site
	// AgentImage is the operator's image.
	AgentImage string
	// Groups are the availability groups that name the server, sorted.
	Groups []string
	// Listeners are the listeners of those groups: clients connect under their names too.
	Listeners []string
	// Partners are the other servers of those groups, sorted.
	Partners []v1alpha1.ServerName
	// Replicates tells that the server takes part in replication: its operator login must be a sysadmin.
	Replicates bool
	// Distributors are the servers whose snapshot folders this server mirrors, sorted.
	Distributors []v1alpha1.ServerName
	// Others are the other servers of the namespace, sorted: each of them may distribute what this one publishes.
	Others []v1alpha1.ServerName
	// Alone are, by group, the objects that name the server alone for a database of that group, as "Kind name", sorted:
	// they work only while it is the group's primary.
	Alone map[string][]string
	// Links are those of its site, as the Sites declare them.
	Links []link.Link
	// Timed are the servers of other sites to which its sidecar times round trips.
	Timed []orders.Link
	// PodRefused tells that the site's API server did not let the pod in at the last look.
	PodRefused bool
	// Staging is what the sidecar's mirrors may take, as its Site declares it.
	Staging transfer.Staging
	// TempDBRefused tells that the engine did not take the last statement about the files of tempdb.
	TempDBRefused bool
	// Network is who connects to the server.
	Network Network
	// Restores are those that are to bring databases to the server alone.
	Restores []v1alpha1.Restore
	// References are all objects that name the server, as "Kind name", sorted. The server is not removed before them.
	References []string

	// shape is what the server's specification makes of its pod beside the operator's own; misshapen is what of it is not
	// taken, and then there is no shape.
	shape     podshape.Shape
	misshapen field.ErrorList

	// keptTemplate is the present template of its pod, with which it goes on while misshapen says something; nil when
	// nothing is kept.
	keptTemplate *corev1.PodTemplateSpec

	// keptEdition is the variable with edition or product key that the server's pod is made with, and keptMark what tells
	// that key from another one: both stay while no product key can be used that is declared.
	keptEdition *corev1.EnvVar
	keptMark    string
	// buffers are the sysctls of the pod that follow from the links; none where nothing was decided.
	buffers []corev1.Sysctl

	// chosen is the engine's image in the pod's template, see chooseImage; empty where nothing was observed.
	chosen engineImage

	// agentVolumeHeldBack is why the server goes on without a volume of the agent's own, nil when it has one.
	agentVolumeHeldBack error
	// agentClaim is the volume that is held back and yet claimed, of the class that is used; nil for none.
	agentClaim *volume

	// member is its site as engaged; unusable is why it can't be used, and then there may be none. groups are the
	// availability groups of the namespace.
	member   *sites.Member
	unusable error
	groups   []v1alpha1.AvailabilityGroup
	// servers are those of the namespace.
	servers []v1alpha1.SQLServer
}

// desire resolves what the server names, and what names it.
func (r *Reconciler) desire(ctx context.Context, server *v1alpha1.SQLServer) (Desired, error) {
	around, err := r.surroundings(ctx, server.Namespace)
	if err != nil {
		return Desired{}, err
	}
	var site v1alpha1.Site
	member, unusable := r.sites.Member(server.Spec.Site)
	if server.DeletionTimestamp == nil {
		if unusable == nil {
			unusable = member.CheckNamespace(server.Namespace)
		}
		if unusable == nil {
			site = member.Site
		}
	}
	d := Desire(server, site, r.agentImage, around)
	d.member, d.unusable, d.groups = member, unusable, around.Groups
	d.Network.Manager = r.namespace
	return d, nil
}

// surroundings reads the hub's objects of the namespace that may name the server.
func (r *Reconciler) surroundings(ctx context.Context, namespace string) (Surroundings, error) {
	var (
		groups        v1alpha1.AvailabilityGroupList
		distributors  v1alpha1.DistributorList
		publications  v1alpha1.PublicationList
		subscriptions v1alpha1.SubscriptionList
		moves         v1alpha1.PublisherMoveList
		logins        v1alpha1.LoginList
		servers       v1alpha1.SQLServerList
		stores        v1alpha1.BackupStoreList
		members       v1alpha1.SiteList
		restores      v1alpha1.RestoreList
	)
	for _, list := range []client.ObjectList{&groups, &distributors, &publications, &subscriptions, &moves, &logins,
		&servers, &stores, &members, &restores} {
		var within []client.ListOption
		if list != &members {
			within = append(within, client.InNamespace(namespace))
		}
		if err := r.hub.List(ctx, list, within...); err != nil {
			return Surroundings{}, fmt.Errorf(
				"list the objects of kind %s of namespace %s in the hub: %w",
				v1alpha1.ListedKind(list),
				namespace,
				err,
			)
		}
	}
	return Surroundings{Groups: groups.Items, Distributors: distributors.Items, Publications: publications.Items,
		Subscriptions: subscriptions.Items, Moves: moves.Items, Logins: logins.Items, Servers: servers.Items,
		Stores: stores.Items, Sites: members.Items, Restores: restores.Items}, nil
}

// name of the SQLServer.
func (d Desired) name() v1alpha1.ServerName { return v1alpha1.ServerName(d.Server.Name) }

// host is the instance's and the pod's name.
func (d Desired) host() string { return credentials.HostName(d.name()) }

// userSecret tells that spec.tls names the Secret.
func (d Desired) userSecret(name string) bool {
	return d.Server.Spec.TLS != nil && d.Server.Spec.TLS.SecretName == name
}

// certificateNames are the names for which clients verify the server's certificate.
func (d Desired) certificateNames() []string {
	return credentials.CertificateNames(d.Server.Namespace, d.name(), d.Listeners)
}

// adopts says whether databases that somebody else made may be kept as declared.
func (d Desired) adopts() bool { return d.Server.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// volume is one of the server's volumes as declared.
type volume struct {
	role placement.Role
	// class is empty for the cluster's default.
	class string
	spec  v1alpha1.Volume
}

// agentSize is that of the agent's volume unless it is declared: smaller ones some classes do not make, and XFS does
// not take.
const agentSize = "1Gi"

// volumes in the order data, log, tempdb, backup, agent; a volume of the engine that the spec lacks is left out, and
// the agent's while it is held back.
func (d Desired) volumes() []volume {
	storage := d.Server.Spec.Storage
	if storage == nil {
		return nil
	}
	classes := d.Site.Spec.StorageClasses
	agent := storage.Agent
	if agent == nil {
		agent = &v1alpha1.Volume{Size: resource.MustParse(agentSize)}
	}
	if d.agentVolumeHeldBack != nil {
		agent = nil
	}
	if classes.Agent == "" {
		// The pod goes where that one is already.
		classes.Agent = classes.Data
		if storage.Data != nil {
			classes.Agent = ptr.Deref(storage.Data.StorageClassName, classes.Data)
		}
	}
	var volumes []volume
	for _, v := range []struct {
		role  placement.Role
		spec  *v1alpha1.Volume
		class string
	}{
		{placement.RoleData, storage.Data, classes.Data},
		{placement.RoleLog, storage.Log, classes.Log},
		{placement.RoleTempDB, storage.TempDB, classes.TempDB},
		{placement.RoleBackup, storage.Backup, classes.Backup},
		{placement.RoleAgent, agent, classes.Agent},
	} {
		if v.spec == nil {
			continue
		}
		class := v.class
		if v.spec.StorageClassName != nil {
			class = *v.spec.StorageClassName
		}
		volumes = append(volumes, volume{role: v.role, class: class, spec: *v.spec})
	}
	return volumes
}

// engineVolumes are those that the engine's container has.
func (d Desired) engineVolumes() []volume {
	return slices.DeleteFunc(d.volumes(), isAgents)
}

// roles of all volumes.
func roles() []placement.Role {
	return []placement.Role{placement.RoleData, placement.RoleLog, placement.RoleTempDB, placement.RoleBackup,
		placement.RoleAgent}
}

// claimName is the name of the volume's claim.
func claimName(server string, role placement.Role) string { return server + "-" + string(role) }

// tempDBFiles is how many data files tempdb should have.
func (d Desired) tempDBFiles() int {
	if n := d.Server.Spec.TempDBFiles; n != nil {
		return int(*n)
	}
	return 1
}

// memoryLimitMB is MSSQL_MEMORY_LIMIT_MB: what the spec says, else 80 % of the container's limit, else 0 for the
// engine's own default (docs/linux/configure/environment-variables.md).
func (d Desired) memoryLimitMB() int64 {
	const megabyte = 1 << 20
	if m := d.Server.Spec.Memory; m != nil {
		return m.Value() / megabyte
	}
	if limit, ok := d.Server.Spec.Resources.Limits[corev1.ResourceMemory]; ok {
		return limit.Value() * 8 / 10 / megabyte
	}
	return 0
}

// scheduling of the server, never nil.
func (d Desired) scheduling() v1alpha1.ServerScheduling {
	if s := d.Server.Spec.Scheduling; s != nil {
		return *s
	}
	return v1alpha1.ServerScheduling{}
}

// Surroundings are the hub's objects around a server.
type Surroundings struct {
	Groups        []v1alpha1.AvailabilityGroup
	Distributors  []v1alpha1.Distributor
	Publications  []v1alpha1.Publication
	Subscriptions []v1alpha1.Subscription
	Moves         []v1alpha1.PublisherMove
	Logins        []v1alpha1.Login
	Servers       []v1alpha1.SQLServer
	Stores        []v1alpha1.BackupStore
	Sites         []v1alpha1.Site
	Restores      []v1alpha1.Restore
}

// Desire resolves what a server asks for. It is pure.
func Desire(server *v1alpha1.SQLServer, site v1alpha1.Site, agentImage string, around Surroundings) Desired {
	d := Desired{Server: server, Site: site, AgentImage: agentImage}
	var others []string
	for _, other := range around.Servers {
		others = append(others, other.Name)
		if other.Name != server.Name {
			d.Others = append(d.Others, v1alpha1.ServerName(other.Name))
		}
	}
	d.shape, d.misshapen = podshape.Of(field.NewPath("spec"), server.Name, &server.Spec, others)
	name := v1alpha1.ServerName(server.Name)
	for _, g := range around.Groups {
		if !slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool { return r.Server == name }) {
			continue
		}
		d.Groups = append(d.Groups, g.Name)
		d.References = append(d.References, "AvailabilityGroup "+g.Name)
		d.Listeners = append(d.Listeners, listenerName(g))
		for _, r := range g.Spec.Replicas {
			if r.Server != name {
				d.Partners = append(d.Partners, r.Server)
			}
		}
	}
	part := func(who v1alpha1.ServerOrGroup) bool {
		return who.Server == name || who.AvailabilityGroup != "" && slices.Contains(d.Groups, string(who.AvailabilityGroup))
	}
	servers := map[string]v1alpha1.ServerName{}
	for _, x := range around.Distributors {
		servers[x.Name] = x.Spec.Server
		if x.Spec.Server == name {
			d.Replicates = true
			d.References = append(d.References, "Distributor "+x.Name)
		}
	}
	distributorOf := map[string]v1alpha1.ServerName{}
	for _, p := range around.Publications {
		distributorOf[p.Name] = servers[string(p.Spec.Distributor)]
		if part(p.Spec.Publisher) {
			d.Replicates = true
			d.References = append(d.References, "Publication "+p.Name)
		}
	}
	for _, s := range around.Subscriptions {
		if !part(s.Spec.Subscriber) {
			continue
		}
		d.Replicates = true
		d.References = append(d.References, "Subscription "+s.Name)
		if from := distributorOf[string(s.Spec.Publication)]; from != "" && from != name {
			d.Distributors = append(d.Distributors, from)
		}
	}
	for _, m := range around.Moves {
		// Between the end of its Subscription and the change of the Publication, nothing else says that it replicates.
		if m.Spec.To == name && m.Spec.Approved && m.Status.Phase != v1alpha1.MoveCompleted {
			d.Replicates = true
		}
	}
	d.Restores = databases.Brings(around.Restores, d.declarer().Target())
	for _, s := range around.Stores {
		if v := s.Spec.Volume; v != nil && v.Server == name {
			d.References = append(d.References, "BackupStore "+s.Name)
		}
	}
	d.Alone = alone(name, around)
	d.Staging = stagingOf(server.Spec.Site, around.Sites)
	if c := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionTempDBArranged); c != nil {
		d.TempDBRefused = c.Reason == v1alpha1.ReasonTempDBRefused
	}
	if c := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		d.PodRefused = c.Reason == v1alpha1.ReasonPodRefused
	}
	d.Links = link.Of(server.Spec.Site, around.Sites)
	d.Timed = timed(server, around)
	for _, list := range []*[]string{&d.Groups, &d.Listeners, &d.References} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for _, list := range []*[]v1alpha1.ServerName{&d.Distributors, &d.Others, &d.Partners} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	d.servers = around.Servers
	d.Network = network(d, around)
	return d
}

func listenerName(g v1alpha1.AvailabilityGroup) string {
	if g.Spec.Listener == nil {
		return g.Name
	}
	return cmp.Or(g.Spec.Listener.Name, g.Name)
}
