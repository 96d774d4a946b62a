// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DistributorSpec declares a distributor: a server, its distribution database, and who may publish through it.
type DistributorSpec struct {
	// server is the SQLServer that distributes; it may host no replica of a group that publishes through it.
	Server ServerName `json:"server"`
	// database is the distribution database, "distribution" unless given.
	// +optional
	// +kubebuilder:default=distribution
	Database DatabaseName `json:"database,omitempty"`
	// retention is how long delivered transactions are kept (max_distretention), in whole hours; 72h unless given.
	// +optional
	// +kubebuilder:default="72h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1h') && duration(self) <= duration('8760h')",message="retention must be between 1h and 8760h; a duration is written like 90s, 12h or 1h30m"
	Retention *metav1.Duration `json:"retention,omitempty"`
	// historyRetention is how long agent history is kept (history_retention), in whole hours; 48h unless given.
	// +optional
	// +kubebuilder:default="48h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('1h') && duration(self) <= duration('8760h')",message="historyRetention must be between 1h and 8760h; a duration is written like 90s, 12h or 1h30m"
	HistoryRetention *metav1.Duration `json:"historyRetention,omitempty"`
	// snapshotFolder on the distributor; a folder "ReplData" on its backup volume unless given, which the server's sidecar
	// makes. One that is given must be there, and user 10001 must be able to write below it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^/[^\\x27\\x22\\x00-\\x1f]*$')",message="snapshotFolder is an absolute path without quotation marks, such as /var/opt/mssql/repldata"
	SnapshotFolder string `json:"snapshotFolder,omitempty"`
	// publishers that may use it; every publisher of the namespace unless given.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Publishers []ServerOrGroup `json:"publishers,omitempty"`
	// reclaimPolicy says whether the distribution database is dropped with this object (Delete) or left (Retain, the
	// default).
	// +optional
	// +kubebuilder:default=Retain
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on. Replication goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DatabaseRoom is how much a database has of its volume.
type DatabaseRoom struct {
	// used by the database's files, in bytes. With free it is written when either has changed by a fiftieth of both, so
	// that it is as exact as that.
	Used int64 `json:"used"`
	// free of the server's volume data, in bytes, as the server's status says; absent where that does not.
	// +optional
	Free *int64 `json:"free,omitempty"`
}

// DistributorStatus is the observed state of a Distributor.
type DistributorStatus struct {
	StatusBase `json:",inline"`
	// serverName of the distributor's instance.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// publishers that are configured.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Publishers []string `json:"publishers,omitempty"`
	// database is how large the distribution database is.
	// +optional
	Database *DatabaseRoom `json:"database,omitempty"`
}

// Distributor is a server that keeps and delivers the transactions of publications.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gdist,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.server`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.spec.server == oldSelf.spec.server",message="spec.server is immutable: declare another distributor and move the publications",fieldPath=".spec.server"
type Distributor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DistributorSpec   `json:"spec"`
	Status DistributorStatus `json:"status,omitempty"`
}

// DistributorList is a list of Distributors.
// +kubebuilder:object:root=true
type DistributorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Distributor `json:"items"`
}

func init() { SchemeBuilder.Register(&Distributor{}, &DistributorList{}) }
