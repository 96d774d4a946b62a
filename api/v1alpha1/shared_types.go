// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types that every kind has. They follow kstatus, so that Flux and Argo CD understand them without plugins.
const (
	// ConditionReady is True when what the spec declares is so, False when it is known not to be, Unknown when it
	// cannot be told (a site that does not answer).
	ConditionReady = "Ready"
	// ConditionReconciling is True while steps remain that the operator carries out by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing will change until a person acts; its message says how.
	ConditionStalled = "Stalled"
)

// ReclaimPolicy says what happens to data when the object that declares it is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type ReclaimPolicy string

const (
	// ReclaimRetain keeps databases, volumes, publications and subscriptions; the default.
	ReclaimRetain ReclaimPolicy = "Retain"
	// ReclaimDelete removes them.
	ReclaimDelete ReclaimPolicy = "Delete"
)

// Reinitialization says when subscribers get a new copy of tables that they have.
// +kubebuilder:validation:Enum=OnRequest;Automatic
type Reinitialization string

const (
	// ReinitializeOnRequest waits until a person asks for each copy; the default.
	ReinitializeOnRequest Reinitialization = "OnRequest"
	// ReinitializeAutomatic replaces the subscribers' tables whenever something that changed needs it.
	ReinitializeAutomatic Reinitialization = "Automatic"
)

// MayDestroy says whether the deletion of an object may destroy data: its policy is Delete, and a person or the
// Topology deleted it. An object with an owner reference may have been deleted by the garbage collector, because an
// owner of that UID is no more: so it is after a restore. That is nobody's consent.
func MayDestroy(obj metav1.Object, policy ReclaimPolicy) bool {
	return policy == ReclaimDelete && len(obj.GetOwnerReferences()) == 0
}

// ListedKind is the kind of a list's objects, such as SQLServer of a *SQLServerList, for messages.
func ListedKind(list any) string {
	return strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
}

// AdoptAnnotation, set to "true" on an object, lets it take over what somebody else made under the same name on the
// server (a database, a publication, a distributor). Without it such a thing is a conflict and left alone.
const AdoptAnnotation = "geosql.dev/adopt"

// RestartAnnotation on a SQLServer asks for a restart of its pod: each other value for one, when its turn comes among
// the servers of its groups. Any value will do, a time say; taking it away asks for nothing.
const RestartAnnotation = "geosql.dev/restart"

// DrillsLabel, set to "allowed", permits drills to break an object.
const DrillsLabel = "geosql.dev/drills"

// Labels on the objects that the operator makes at a site. They name their owner by namespace, kind and name, never by
// UID: a hub that was rebuilt finds them again.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "geosql-operator"
	LabelServer    = "geosql.dev/server"
	LabelGroup     = "geosql.dev/availability-group"
	LabelTopology  = "geosql.dev/topology"
	LabelSite      = "geosql.dev/site"
	LabelLogin     = "geosql.dev/login"
	LabelNamespace = "geosql.dev/hub-namespace"
)

// Labels by which tools that know nothing of the operator sort objects
// (kubernetes.io/docs/concepts/overview/working-with-objects/common-labels).
const (
	LabelApp          = "app.kubernetes.io/name"
	LabelAppInstance  = "app.kubernetes.io/instance"
	LabelAppComponent = "app.kubernetes.io/component"
	LabelAppPartOf    = "app.kubernetes.io/part-of"
	// App is the value of LabelApp, ComponentServer that of LabelAppComponent of what belongs to a server.
	App             = "sql-server"
	ComponentServer = "database"
)

// Finalizer is on every hub object whose deletion has work at a site or on a server.
const Finalizer = "geosql.dev/finalizer"

// ServerName is the name of a SQLServer object: SQL Server's limit of 15 characters less "-0".
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=13
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a server's name has lower-case letters, digits and hyphens alone, begins with a letter and ends with no hyphen, such as tukpub1"
type ServerName string

// SiteName is the name of a Site object.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a site's name has lower-case letters, digits and hyphens alone, and begins and ends with no hyphen, such as tukwila"
type SiteName string

// ObjectName is the name of another object of the same namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="an object's name has lower-case letters, digits, hyphens and dots alone, and begins and ends with a letter or a digit, such as content"
type ObjectName string

// DatabaseName is the name of a user database; master, model, msdb and tempdb are refused.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=123
// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['master','model','msdb','tempdb'])",message="a user database is needed, not one of master, model, msdb, tempdb"
// +kubebuilder:validation:XValidation:rule="self.matches(r'^[^\\x5b\\x5d\\x22\\x27\\x5c/:;]+$')",message="a database's name has no brackets, quotation marks, slashes, backslashes, colons and semicolons, such as Content"
type DatabaseName string

// ServerOrGroup names one SQLServer or one AvailabilityGroup of the same namespace.
// +kubebuilder:validation:XValidation:rule="has(self.server) != has(self.availabilityGroup)",message="name exactly one of server and availabilityGroup"
type ServerOrGroup struct {
	// server is the name of a SQLServer.
	// +optional
	Server ServerName `json:"server,omitempty"`
	// availabilityGroup is the name of an AvailabilityGroup; its listener is used.
	// +optional
	AvailabilityGroup ObjectName `json:"availabilityGroup,omitempty"`
}

// SealedKeys says by which Secret the private keys of certificates are sealed that are kept with backups.
type SealedKeys struct {
	// sealSecretRef names the Secret, in the object's namespace of the hub, that seals them: at least 16 bytes, key
	// password unless given. Whoever has it and the store has the keys; without it the kept ones open no more.
	SealSecretRef SecretReference `json:"sealSecretRef"`
}

// KeySeal is that of sealSecretRef unless another one is given.
const KeySeal = "password"

// SecretReference names a Secret. For a Site it is in the operator's namespace, else in the object's own.
type SecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the Secret's data; the default depends on the use.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// StatusBase is what every kind's status begins with.
type StatusBase struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions Ready, Reconciling and Stalled, and those of the kind.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
