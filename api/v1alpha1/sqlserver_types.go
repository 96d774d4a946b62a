// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Edition is a value of MSSQL_PID (docs/linux/configure/environment-variables.md) that is no product key.
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z0-9]{5}(-[A-Za-z0-9]{5}){4}$')",message="a product key is a secret: put it into a Secret and name that in productKeySecretRef"
// +kubebuilder:validation:XValidation:rule="self.matches('^(Evaluation|Developer|Express|Web|Standard|Enterprise|EnterpriseCore|StandardDeveloper|EnterpriseDeveloper)$') || self.matches('^[A-Za-z0-9]{5}(-[A-Za-z0-9]{5}){4}$')",message="edition is Evaluation, Developer, Express, Web, Standard, Enterprise, EnterpriseCore, StandardDeveloper or EnterpriseDeveloper; for a product key say productKeySecretRef"
type Edition string

// Editions that take part in groups in their own way.
const (
	EditionExpress           Edition = "Express"
	EditionWeb               Edition = "Web"
	EditionStandard          Edition = "Standard"
	EditionStandardDeveloper Edition = "StandardDeveloper"
)

// WitnessOnly tells of an edition that takes part in groups as a configuration-only replica, and as nothing else: its
// mirroring endpoint has no other role than WITNESS.
func (e Edition) WitnessOnly() bool { return e == EditionExpress || e == EditionWeb }

// SubscribesOnly tells of an edition that takes part in replication as a subscriber, and neither publishes nor
// distributes.
func (e Edition) SubscribesOnly() bool { return e == EditionExpress || e == EditionWeb }

// BasicOnly tells of an edition that takes part in basic groups alone.
func (e Edition) BasicOnly() bool { return e == EditionStandard || e == EditionStandardDeveloper }

// Volume is one volume of a server.
// +kubebuilder:validation:XValidation:rule="!has(self.size) || type(self.size) == int || self.size.size() > 0 && self.size.charAt(self.size.size() - 1) in ['0','1','2','3','4','5','6','7','8','9','.','i','n','u','m','k','M','G','T','P','E']",message="a quantity is a number, alone or with Ki, Mi, Gi, Ti, Pi or Ei (powers of 1024), or with k, M, G, T, P or E (powers of 1000): 5Gi, not 5GB",fieldPath=".size"
type Volume struct {
	// size of the volume; it may grow, never shrink. One that its class does not let it have can be set back.
	Size resource.Quantity `json:"size"`
	// storageClassName; the site's class for this role unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// ServerStorage has a volume for each role.
type ServerStorage struct {
	// data is for database files.
	// +optional
	Data *Volume `json:"data,omitempty"`
	// log is for transaction logs.
	// +optional
	Log *Volume `json:"log,omitempty"`
	// tempdb is for tempdb.
	// +optional
	TempDB *Volume `json:"tempdb,omitempty"`
	// backup is for backups and replication snapshots.
	// +optional
	Backup *Volume `json:"backup,omitempty"`
	// agent is for what the server's agent has promised in elections, in its own container alone; 1Gi, of the class that
	// the site gives, unless given.
	// +optional
	Agent *Volume `json:"agent,omitempty"`
}

// StartupOptions are arguments of sqlservr
// (docs/database-engine/configure-windows/database-engine-service-startup-options.md).
type StartupOptions struct {
	// checkpointThrottleMBps limits checkpoint I/O (-k), in MB per second.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	CheckpointThrottleMBps *int32 `json:"checkpointThrottleMBps,omitempty"`
	// traceFlags to set at start (-T).
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=99999
	TraceFlags []int32 `json:"traceFlags,omitempty"`
}

// IssuerReference names an issuer of cert-manager's at the server's site.
// +kubebuilder:validation:XValidation:rule="has(self.group) && self.group != 'cert-manager.io' || !has(self.kind) || self.kind in ['Issuer', 'ClusterIssuer']",message="kind is Issuer or ClusterIssuer; for an issuer of another kind name its group, too",fieldPath=".kind"
type IssuerReference struct {
	// name of the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// kind is Issuer, in the server's namespace at its site, or ClusterIssuer; with a group, that group's kind. Issuer
	// unless given.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// group of the issuer's kind; cert-manager.io unless given.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// ServerTLS says which certificate the server shows to clients.
// +kubebuilder:validation:XValidation:rule="!has(self.secretName) || !has(self.issuerRef)",message="a server has one certificate: say secretName or issuerRef",fieldPath=".issuerRef"
type ServerTLS struct {
	// secretName names a kubernetes.io/tls Secret with a ca.crt in the object's namespace. Without it the operator issues
	// a certificate from a CA of its own and renews it. It must be for the name "<object name>-0", have an RSA key of 2048
	// bits or more, and be valid, its CA too. In a group the sidecars show it to each other: then it must be for that name
	// followed by ".<namespace>" and ".<namespace>.svc" too, and have client auth in its extended key usage. The CAs of a
	// group's servers may differ: each trusts those of all. One of another CA than before is shown once all of them trust
	// that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// issuerRef names an issuer of cert-manager's at the server's site, in place of a Secret: the operator makes a
	// Certificate there, <object name>-certificate, and gives the server what it is issued and renewed. The issuer must
	// say its CA (ca.crt) and sign for the names of the server's Services and of its groups' listeners. In a Topology what
	// a server says, a Secret or an issuer, takes the place of what the defaults say.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`
}

// ServerScheduling narrows the nodes beyond what the storage classes ask for.
type ServerScheduling struct {
	// nodeSelector must match the node's labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the pod.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// priorityClassName of the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// affinity of the pod, as a pod's spec.affinity, beside what follows from the server's volumes and its groups.
	// +optional
	Affinity *PodPart `json:"affinity,omitempty"`
	// topologySpreadConstraints of the pod.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// replicaAntiAffinity says whether the pod needs another node than the other replicas of its groups at its site
	// (Required), or has one where there is one (Preferred, the default).
	// +optional
	ReplicaAntiAffinity AntiAffinity `json:"replicaAntiAffinity,omitempty"`
}

// SQLServerSpec declares one instance at one site. Every field is optional in the schema because Topology merges these
// specs; a SQLServer object itself must have site, acceptEULA, edition, image and the four volumes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || type(self.memory) == int || self.memory.size() > 0 && self.memory.charAt(self.memory.size() - 1) in ['0','1','2','3','4','5','6','7','8','9','.','i','n','u','m','k','M','G','T','P','E']",message="a quantity is a number, alone or with Ki, Mi, Gi, Ti, Pi or Ei (powers of 1024), or with k, M, G, T, P or E (powers of 1000): 5Gi, not 5GB",fieldPath=".memory"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || type(self.resources.limits['memory']) == int || self.resources.limits['memory'].size() > 0 && self.resources.limits['memory'].charAt(self.resources.limits['memory'].size() - 1) in ['0','1','2','3','4','5','6','7','8','9','.','i','n','u','m','k','M','G','T','P','E']",message="a quantity is a number, alone or with Ki, Mi, Gi, Ti, Pi or Ei (powers of 1024), or with k, M, G, T, P or E (powers of 1000): 5Gi, not 5GB",fieldPath=".resources.limits"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.requests) || !('memory' in self.resources.requests) || type(self.resources.requests['memory']) == int || self.resources.requests['memory'].size() > 0 && self.resources.requests['memory'].charAt(self.resources.requests['memory'].size() - 1) in ['0','1','2','3','4','5','6','7','8','9','.','i','n','u','m','k','M','G','T','P','E']",message="a quantity is a number, alone or with Ki, Mi, Gi, Ti, Pi or Ei (powers of 1024), or with k, M, G, T, P or E (powers of 1000): 5Gi, not 5GB",fieldPath=".resources.requests"
type SQLServerSpec struct {
	// site where the server runs; immutable.
	// +optional
	Site SiteName `json:"site,omitempty"`
	// acceptEULA must be true: the operator accepts no licence on anybody's behalf.
	// +optional
	AcceptEULA bool `json:"acceptEULA,omitempty"`
	// edition is the MSSQL_PID. It is not looked at where productKeySecretRef is given: the engine says then which one it
	// is.
	// +optional
	Edition Edition `json:"edition,omitempty"`
	// productKeySecretRef names the Secret, in the object's namespace of the hub, with the product key; key productKey
	// unless given. A changed key restarts the engine.
	// +optional
	ProductKeySecretRef *SecretReference `json:"productKeySecretRef,omitempty"`
	// saPasswordSecretRef names the Secret, in the object's namespace of the hub, with the password of sa; key password
	// unless given. Unless named, the operator makes one. A changed password is given to the engine, which serves on.
	// +optional
	SAPasswordSecretRef *SecretReference `json:"saPasswordSecretRef,omitempty"`
	// image of the engine, by tag or by digest (NAME@sha256:...). Of a tag the server keeps the digest with which it has
	// first started, until another image is declared or an update is asked for (annotation geosql.dev/update), unless
	// imagePullPolicy is Never; status.imageID has the digest of what runs. One that is known to be of a lower major
	// version than the engine that wrote the data is refused.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// updatePolicy says when another image is taken: Automatic (the default), or OnRequest, which waits for the annotation
	// geosql.dev/update. A group goes by its strictest server. An engine that cannot run gives no consent by that.
	// +optional
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`
	// maintenanceWindows are when another image is taken without being asked for; at any time unless given. In a group the
	// windows of all its servers must be open.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	MaintenanceWindows []MaintenanceWindow `json:"maintenanceWindows,omitempty"`
	// imagePullPolicy of the engine's container.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// imagePullSecrets of the pod.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// storage has a volume per role.
	// +optional
	Storage *ServerStorage `json:"storage,omitempty"`
	// resources of the engine's container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// memory is what the engine may use (MSSQL_MEMORY_LIMIT_MB); 80 % of the container's limit unless given.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// startup options of the engine.
	// +optional
	Startup *StartupOptions `json:"startup,omitempty"`
	// tempdbFiles is the number of equally large tempdb data files.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	TempDBFiles *int32 `json:"tempdbFiles,omitempty"`
	// mssqlConf has settings of mssql.conf as "section.key": "value". Settings that the operator manages are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	MSSQLConf map[string]string `json:"mssqlConf,omitempty"`
	// scheduling narrows the nodes.
	// +optional
	Scheduling *ServerScheduling `json:"scheduling,omitempty"`
	// inheritedMetadata is what every object of the server at its site gets, the pod too.
	// +optional
	InheritedMetadata *ExtraMetadata `json:"inheritedMetadata,omitempty"`
	// pod shapes the pod.
	// +optional
	Pod *ServerPod `json:"pod,omitempty"`
	// agent shapes the agent's container.
	// +optional
	Agent *ServerAgent `json:"agent,omitempty"`
	// serviceAccount shapes the pod's ServiceAccount.
	// +optional
	ServiceAccount *ServerServiceAccount `json:"serviceAccount,omitempty"`
	// tls of the server.
	// +optional
	TLS *ServerTLS `json:"tls,omitempty"`
	// network says who may connect to the server, and which buffers its connections have.
	// +optional
	Network *ServerNetwork `json:"network,omitempty"`
	// collation of the server, with which its engine makes the system databases at its first start (MSSQL_COLLATION), and
	// those that name none; SQL_Latin1_General_CP1_CI_AS unless given. Immutable.
	// +optional
	Collation Collation `json:"collation,omitempty"`
	// timeZone of the engine by its name in the tz database, such as Europe/Dublin (TZ); UTC unless given. It is what
	// GETDATE() goes by, and schedules of SQL Server Agent. The servers of a group, and those that replicate with each
	// other, need the same one: latencies are differences of local times. Another one takes effect with the next start.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$')",message="a time zone is named as in the tz database, such as Europe/Dublin or Etc/UTC"
	TimeZone string `json:"timeZone,omitempty"`
	// databases of the server alone; those that do not exist are created, or restored where they have a source. A group's
	// stand at the group. One that is taken out of the list stays as it is.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Databases []Database `json:"databases,omitempty"`
	// reclaimPolicy says whether the volumes outlive this object: Retain (default) or Delete.
	// +optional
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on. The engine and its agent run on, and its name follows its pod.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DeclaredEdition is the edition that the engine runs by what is declared; empty where a product key says it.
func (s *SQLServerSpec) DeclaredEdition() Edition {
	if s.ProductKeySecretRef != nil {
		return ""
	}
	return s.Edition
}

// PlacementStatus says where a server's pod may run and why.
type PlacementStatus struct {
	// node on which the pod runs.
	// +optional
	Node string `json:"node,omitempty"`
	// candidates are the nodes on which all volumes can live.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Candidates []string `json:"candidates,omitempty"`
	// reason in words: which class allows or excludes which nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
}

// ClaimCondition is a condition of a volume's claim that is True.
type ClaimCondition struct {
	// type such as Resizing, FileSystemResizePending, ControllerResizeError or NodeResizeError.
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// message is the storage's own.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// VolumeStatus is the state of one volume.
type VolumeStatus struct {
	// role of the volume: data, log, tempdb, backup or agent.
	// +kubebuilder:validation:MaxLength=16
	Role string `json:"role"`
	// capacity that the claim has, once its file system has it.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
	// used of the file system, in bytes. With free it is written when either has changed by a fiftieth of the whole, so
	// that it is as exact as that; metrics have it as it is.
	// +optional
	Used *int64 `json:"used,omitempty"`
	// free of the file system, in bytes.
	// +optional
	Free *int64 `json:"free,omitempty"`
	// conditions of the claim that are True.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []ClaimCondition `json:"conditions,omitempty"`
}

// SQLServerStatus is the observed state of a SQLServer.
type SQLServerStatus struct {
	StatusBase `json:",inline"`
	// serverName is the instance's name at every site, "<object name>-0".
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// version is SERVERPROPERTY('ProductVersion').
	// +optional
	Version string `json:"version,omitempty"`
	// engine is the first line of @@VERSION: it says honestly which engine answers.
	// +optional
	Engine string `json:"engine,omitempty"`
	// image of the engine that answered last, as it was declared: it wrote the data.
	// +optional
	Image string `json:"image,omitempty"`
	// imageID is the image that the engine's container runs, by its digest, as the site's kubelet tells it.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// podIP is the address at which other sites reach the pod.
	// +optional
	PodIP string `json:"podIP,omitempty"`
	// placement of the pod.
	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`
	// volumes of the server that are claimed.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=role
	Volumes []VolumeStatus `json:"volumes,omitempty"`
	// tuning of the buffers of the pod's connections.
	// +optional
	Tuning *TuningStatus `json:"tuning,omitempty"`
	// startTime of the engine (sys.dm_os_sys_info.sqlserver_start_time).
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// certificateExpires is when the server's TLS certificate ends.
	// +optional
	CertificateExpires *metav1.Time `json:"certificateExpires,omitempty"`
	// announced are the switchovers that the server's restart or drain waits for, and what the condition RestartPending
	// says that each breaks: none is asked for before that is so.
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Announced []AnnouncedSwitchover `json:"announced,omitempty"`
	// databases of spec.databases that are the operator's to keep, with their owners.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Databases []ServerDatabaseStatus `json:"databases,omitempty"`
}

// ServerDatabaseStatus is what is remembered of a database that a server declares for itself.
type ServerDatabaseStatus struct {
	// name of the database.
	Name DatabaseName `json:"name"`
	// owners are the logins one of which owns the database, unless somebody else changed that: the owner that it was seen
	// with, and while another one is declared those that the operator has begun to make its owner.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=128
	// +optional
	Owners []string `json:"owners,omitempty"`
}

// AnnouncedSwitchover is what a switchover breaks that is about to be asked for.
type AnnouncedSwitchover struct {
	// group is the AvailabilityGroup.
	Group ObjectName `json:"group"`
	// breaks are the objects, as "Kind name", that name this server alone for a database of the group, in order.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=320
	// +optional
	Breaks []string `json:"breaks,omitempty"`
}

// SQLServer is one SQL Server instance at one site. Its instance name is "<metadata.name>-0".
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gsql,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Site",type=string,JSONPath=`.spec.site`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.placement.node`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 13",message="metadata.name may have at most 13 characters: SQL Server's limit for a server name is 15, and the instance is called <name>-0",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must begin with a letter and have only lower-case letters, digits and hyphens",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="has(self.spec.site)",message="spec.site is required",fieldPath=".spec.site"
// +kubebuilder:validation:XValidation:rule="has(self.spec.acceptEULA) && self.spec.acceptEULA",message="spec.acceptEULA must be true: read the licence of the image and accept it yourself",fieldPath=".spec.acceptEULA"
// +kubebuilder:validation:XValidation:rule="has(self.spec.edition) || has(self.spec.productKeySecretRef)",message="spec.edition is required: Evaluation, Developer, Express, Web, Standard, Enterprise, EnterpriseCore, StandardDeveloper or EnterpriseDeveloper; or spec.productKeySecretRef",fieldPath=".spec.edition"
// +kubebuilder:validation:XValidation:rule="has(self.spec.image)",message="spec.image is required",fieldPath=".spec.image"
// +kubebuilder:validation:XValidation:rule="has(self.spec.storage) && has(self.spec.storage.data) && has(self.spec.storage.log) && has(self.spec.storage.tempdb) && has(self.spec.storage.backup)",message="spec.storage needs the volumes data, log, tempdb and backup",fieldPath=".spec.storage"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.site) || self.spec.site == oldSelf.spec.site",message="spec.site is immutable: declare another server at the other site and add it to the group",fieldPath=".spec.site"
// +kubebuilder:validation:XValidation:rule="has(self.spec.collation) == has(oldSelf.spec.collation) && (!has(self.spec.collation) || self.spec.collation == oldSelf.spec.collation)",message="spec.collation is immutable: the engine takes it at its first start alone; declare another server",fieldPath=".spec.collation"
type SQLServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SQLServerSpec   `json:"spec"`
	Status SQLServerStatus `json:"status,omitempty"`
}

// SQLServerList is a list of SQLServers.
// +kubebuilder:object:root=true
type SQLServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SQLServer `json:"items"`
}

func init() { SchemeBuilder.Register(&SQLServer{}, &SQLServerList{}) }
