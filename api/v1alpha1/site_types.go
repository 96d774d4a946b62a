// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExposureType says how the pods of a site are reached from other sites.
// +kubebuilder:validation:Enum=FlatNetwork;NodePort;LoadBalancer
type ExposureType string

const (
	// ExposureFlatNetwork means that pod addresses are routable from every site.
	ExposureFlatNetwork ExposureType = "FlatNetwork"
	// ExposureNodePort publishes each server on a port of the site's nodes.
	ExposureNodePort ExposureType = "NodePort"
	// ExposureLoadBalancer gives each server a Service of type LoadBalancer, whose addresses the other sites use.
	ExposureLoadBalancer ExposureType = "LoadBalancer"
)

// Exposures are all that there are.
func Exposures() []ExposureType {
	return []ExposureType{ExposureFlatNetwork, ExposureNodePort, ExposureLoadBalancer}
}

// SiteLifecycle is a person's word about a site.
// +kubebuilder:validation:Enum=Active;Lost
type SiteLifecycle string

const (
	// SiteActive is a site that is expected to answer.
	SiteActive SiteLifecycle = "Active"
	// SiteLost is a site that a person says is gone: finalizers no longer wait for it, and its pods are fenced should
	// it return.
	SiteLost SiteLifecycle = "Lost"
)

// VolumeClasses names a storage class for each role of a volume. An empty one is the cluster's default class.
type VolumeClasses struct {
	// data is for database files.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Data string `json:"data,omitempty"`
	// log is for transaction logs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Log string `json:"log,omitempty"`
	// tempdb is for tempdb.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TempDB string `json:"tempdb,omitempty"`
	// backup is for backups and replication snapshots.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`
	// agent is for the agents' promises, 1Gi unless a server says otherwise; the class of the server's data volume unless
	// given.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Agent string `json:"agent,omitempty"`
}

// Exposure says how the pods of a site are reached from other sites.
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancer) || self.type == 'LoadBalancer'",message="loadBalancer is for type LoadBalancer; leave it out, or set type: LoadBalancer"
type Exposure struct {
	// type is FlatNetwork, NodePort or LoadBalancer; MultiClusterService is not supported yet.
	// +kubebuilder:default=FlatNetwork
	Type ExposureType `json:"type,omitempty"`
	// loadBalancer shapes the Services of type LoadBalancer of the site's servers; with type LoadBalancer alone.
	// +optional
	LoadBalancer *LoadBalancerExposure `json:"loadBalancer,omitempty"`
}

// LoadBalancerExposure shapes the Service of type LoadBalancer of each server of a site. What is left out is as the
// cluster gives it.
type LoadBalancerExposure struct {
	// annotations of the Services, by which a cloud or MetalLB is told what load balancer to make: an internal one, say,
	// or one out of a pool. geosql.dev/* are the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]string `json:"annotations,omitempty"`
	// class is the loadBalancerClass of the Services. Kubernetes changes that of no Service: with another class the
	// Services are made anew once all sites answer, and so are their addresses; the servers cannot be reached from other
	// sites meanwhile. Left out, Services keep the class that they have, and the cluster chooses that of new ones.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="class is a label-style name with an optional prefix, such as service.k8s.aws/nlb"
	Class string `json:"class,omitempty"`
	// sourceRanges are the ranges, in CIDR notation, from which the load balancers take connections: the Services'
	// loadBalancerSourceRanges. They must hold the other sites' sourceRanges, or what translates those. Left out, they
	// take connections from everywhere.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(r, isCIDR(r) && cidr(r) == cidr(r).masked())",message="a range is written in CIDR notation with no bits beyond its prefix, such as 10.101.0.0/16"
	SourceRanges []string `json:"sourceRanges,omitempty"`
}

// SiteLink is the network to another site, as its owner knows it.
type SiteLink struct {
	// to is the other site.
	To SiteName `json:"to"`
	// roundTrip is the round-trip time, such as 150ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$')",message="roundTrip is a duration, written like 500ms, 90s or 1h30m"
	RoundTrip *metav1.Duration `json:"roundTrip,omitempty"`
	// bandwidth in bits per second, such as 1Gbit, 100Mbit or 512kbit.
	// +optional
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)?(bit|kbit|Mbit|Gbit|Tbit)$')",message="bandwidth is a number with bit, kbit, Mbit, Gbit or Tbit, such as 1Gbit"
	Bandwidth string `json:"bandwidth,omitempty"`
}

// TransferCompression says when files are compressed on their way.
// +kubebuilder:validation:Enum=Auto;Always;Never
type TransferCompression string

const (
	// CompressAuto compresses while that brings files sooner.
	CompressAuto TransferCompression = "Auto"
	// CompressAlways compresses whatever shrinks.
	CompressAlways TransferCompression = "Always"
	// CompressNever compresses nothing.
	CompressNever TransferCompression = "Never"
)

// SiteTransfers bound what the sidecars of a site's servers fetch of each other: replication snapshots. Each bound
// holds for a sidecar, over all that it fetches.
// +kubebuilder:validation:XValidation:rule="has(self.stagingQuota) || !has(self.stagingHighWatermark) && !has(self.stagingLowWatermark)",message="stagingHighWatermark and stagingLowWatermark are parts of stagingQuota, which is not given",fieldPath=".stagingQuota"
// +kubebuilder:validation:XValidation:rule="(has(self.stagingLowWatermark) ? self.stagingLowWatermark : 60) < (has(self.stagingHighWatermark) ? self.stagingHighWatermark : 90)",message="stagingLowWatermark (60 unless given) must be below stagingHighWatermark (90 unless given)",fieldPath=".stagingLowWatermark"
type SiteTransfers struct {
	// workers are how much a sidecar does at the same time, 1 to 8, 4 unless given: so many streams in which it
	// fetches, and so many chunks that it reads and packs for others. On a long link several bring more than one.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 8",message="workers is 1 to 8: each may take 10 MiB of a sidecar's 256 MiB, at either end"
	Workers int32 `json:"workers,omitempty"`
	// maxRate is what a sidecar fetches at most, in bits per second as they come over the link, such as 200Mbit. Left out,
	// there is no bound. It leaves room for what replicas and agents send.
	// +optional
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,5}([.][0-9]{1,3})?(Mbit|Gbit)$')",message="maxRate is a number with Mbit or Gbit, 1Mbit at least, such as 200Mbit: at less a stream would be taken for one that stalls"
	MaxRate string `json:"maxRate,omitempty"`
	// compression of what a sidecar fetches, by zstd: Auto compresses while that brings files sooner, which what does not
	// shrink does not, nor anything where the link outruns the processor; Always whatever shrinks; Never nothing.
	// +optional
	// +kubebuilder:default=Auto
	Compression TransferCompression `json:"compression,omitempty"`
	// stagingQuota is how many bytes a sidecar keeps at most of what it has fetched, on its server's backup volume: of
	// each publication two snapshots and the one that comes. What does not fit waits until there is room or the quota is
	// raised. Left out, the volume alone bounds it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="stagingQuota must be at least 1Gi: three times the largest snapshot or backup that is fetched, over all that are fetched together"
	StagingQuota *resource.Quantity `json:"stagingQuota,omitempty"`
	// stagingHighWatermark is the part of stagingQuota, in percent, above which what no order needs is removed, the oldest
	// first; 90 unless given.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 2 && self <= 100",message="stagingHighWatermark is 2 to 100, in percent of stagingQuota"
	StagingHighWatermark *int32 `json:"stagingHighWatermark,omitempty"`
	// stagingLowWatermark is the part down to which it is removed; 60 unless given.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 99",message="stagingLowWatermark is 1 to 99, in percent of stagingQuota"
	StagingLowWatermark *int32 `json:"stagingLowWatermark,omitempty"`
}

// SiteSpec declares a member cluster.
type SiteSpec struct {
	// kubeconfigSecretRef names the Secret, in the operator's namespace, whose key "kubeconfig" reaches the cluster;
	// `kubectl geosql site join` makes it. Left out, the site is the hub itself.
	// +optional
	KubeconfigSecretRef *SecretReference `json:"kubeconfigSecretRef,omitempty"`
	// clusterUID is the UID of namespace kube-system of the cluster that the site is: `kubectl geosql site join` writes it.
	// Nothing is done at another cluster. Left out, it is the cluster that answered first.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ClusterUID string `json:"clusterUID,omitempty"`
	// hubEpoch is the epoch with which this hub writes at the site: `kubectl geosql site join --take-over` raises it above
	// that of every hub before. Left out it is 1. A hub that finds a higher one at the site, or another hub with the same,
	// writes nothing there.
	// +optional
	// +kubebuilder:validation:Minimum=1
	HubEpoch int32 `json:"hubEpoch,omitempty"`
	// apiServer is the URL at which the other sites reach this cluster's API server. The kubeconfig's is taken unless
	// given; the hub's own site has none, so a group whose voter it is needs it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://')",message="apiServer is a URL that begins with https://, such as https://tukwila.example.com:6443"
	APIServer string `json:"apiServer,omitempty"`
	// region, as people name it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`
	// zone within the region.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`
	// allowedNamespaces are the namespaces whose objects may be placed here; the credentials reach no others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=63
	AllowedNamespaces []string `json:"allowedNamespaces"`
	// storageClasses for the volume roles of servers that name none.
	// +optional
	StorageClasses VolumeClasses `json:"storageClasses,omitempty"`
	// exposure says how pods are reached from other sites.
	// +optional
	// +kubebuilder:default={type: FlatNetwork}
	Exposure Exposure `json:"exposure,omitempty"`
	// sourceRanges are the ranges, in CIDR notation, of the addresses by which the other sites see connections from pods
	// of this one: those of its pods where nothing translates them, else of its nodes or of what translates. The
	// NetworkPolicies of the servers at other sites let these in. While they are not known, what this site's servers, or
	// the manager in it, need stays open there.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(r, isCIDR(r) && cidr(r) == cidr(r).masked())",message="a range is written in CIDR notation with no bits beyond its prefix, such as 10.101.0.0/16"
	SourceRanges []string `json:"sourceRanges,omitempty"`
	// links to other sites.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=to
	Links []SiteLink `json:"links,omitempty"`
	// transfers bound what the sidecars of the site's servers fetch of others, and how much they pack at the same time.
	// +optional
	Transfers *SiteTransfers `json:"transfers,omitempty"`
	// lifecycle is Active, or Lost when a person declares the site gone for good.
	// +optional
	// +kubebuilder:default=Active
	Lifecycle SiteLifecycle `json:"lifecycle,omitempty"`
}

// StorageClassStatus is what the operator sees of a storage class at the site.
type StorageClassStatus struct {
	// name of the class.
	Name string `json:"name"`
	// provisioner of the class.
	// +optional
	Provisioner string `json:"provisioner,omitempty"`
	// nodes on which its volumes can live, by allowedTopologies and where its CSI driver runs; the first 256 by name.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Nodes []string `json:"nodes,omitempty"`
	// capacity published by the driver, if any.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}

// DeclaredLink is the network to another site as spec.links of either Site has it.
type DeclaredLink struct {
	// roundTrip as declared.
	// +optional
	RoundTrip *metav1.Duration `json:"roundTrip,omitempty"`
	// bandwidth as declared.
	// +optional
	// +kubebuilder:validation:MaxLength=24
	Bandwidth string `json:"bandwidth,omitempty"`
}

// LinkStream is what one connection to the other site carries at most, of one that nothing makes wait.
type LinkStream struct {
	// boundBy is Bandwidth, Window, or Unknown while the round trip is neither measured nor declared, or the bandwidth is
	// not declared.
	BoundBy ForecastBound `json:"boundBy"`
	// bitsPerSecond at most, to two digits; absent while boundBy is Unknown.
	// +optional
	BitsPerSecond *int64 `json:"bitsPerSecond,omitempty"`
}

// SiteLinkStatus is the network between the site and another one, as it is declared and as it was measured.
type SiteLinkStatus struct {
	// to is the other site.
	To SiteName `json:"to"`
	// declared is what either Site says of the link.
	// +optional
	Declared *DeclaredLink `json:"declared,omitempty"`
	// roundTrip between two servers' agents, the median of a minute and a half, or, on the link to the hub's site where no
	// agents measure it, of a request of the manager's to the site's API server; on a connection that was open. Absent
	// while nobody answers there: that is unknown, not slow.
	// +optional
	RoundTrip *metav1.Duration `json:"roundTrip,omitempty"`
	// measured is when, 5 minutes ago at most while agents measure it. 10 minutes later roundTrip counts no more, and is
	// taken away.
	// +optional
	Measured *metav1.Time `json:"measured,omitempty"`
	// server is the one whose agent measures the round trip, as namespace/name; empty where none does.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Server string `json:"server,omitempty"`
	// peer is the server at the other site to which it is measured, in the same namespace.
	// +optional
	Peer ServerName `json:"peer,omitempty"`
	// window is how many bytes may be on their way on one connection from server to peer: half of the smaller of the
	// buffers that their agents read in their pods, or that pods get by what is declared.
	// +optional
	Window *int64 `json:"window,omitempty"`
	// congestionControl of connections that server's pod begins, as its agent reads it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CongestionControl string `json:"congestionControl,omitempty"`
	// stream is what one connection from server to peer carries at most.
	// +optional
	Stream *LinkStream `json:"stream,omitempty"`
	// slower says that the measured round trip is clearly over the declared one: from a quarter and 10 ms over it on,
	// until it is an eighth, or 5 ms, over it.
	// +optional
	Slower bool `json:"slower,omitempty"`
	// windowTooSmall says that one connection does not fill the link: window is less than three quarters of what is on its
	// way then, until it is nine tenths. Of a link that no buffer of 64 MiB fills, it is what that fills.
	// +optional
	WindowTooSmall bool `json:"windowTooSmall,omitempty"`
}

// SiteStatus is the observed state of a Site.
type SiteStatus struct {
	StatusBase `json:",inline"`
	// clusterUID is the UID of namespace kube-system of the cluster that answered first or that the spec names: two sites
	// may not be one cluster, and a site does not become another one unnoticed.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// kubernetesVersion of the API server.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// lastHeartbeat is when the API server last answered before this status was written, which is done when more than that
	// time changes. Up to when it is so still stands in the Lease geosql-confirmed of the operator's namespace.
	// +optional
	LastHeartbeat *metav1.Time `json:"lastHeartbeat,omitempty"`
	// roundTrip of the last heartbeat.
	// +optional
	RoundTrip *metav1.Duration `json:"roundTrip,omitempty"`
	// links to other sites that are declared or measured.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=to
	Links []SiteLinkStatus `json:"links,omitempty"`
	// credentialsExpire is when the kubeconfig's token or certificate ends, when that can be told.
	// +optional
	CredentialsExpire *metav1.Time `json:"credentialsExpire,omitempty"`
	// storageClasses at the site.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	StorageClasses []StorageClassStatus `json:"storageClasses,omitempty"`
}

// Site is a member cluster.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=gsite,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="RTT",type=string,JSONPath=`.status.roundTrip`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

// Cluster is the cluster that the site is, as UID of its namespace kube-system; empty until one has answered.
func (s *Site) Cluster() string {
	if s.Spec.ClusterUID != "" {
		return s.Spec.ClusterUID
	}
	return s.Status.ClusterUID
}

// SiteList is a list of Sites.
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

func init() { SchemeBuilder.Register(&Site{}, &SiteList{}) }
