// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TopologyServer is a server of a topology.
type TopologyServer struct {
	// name of the SQLServer.
	Name          ServerName `json:"name"`
	SQLServerSpec `json:",inline"`
}

// TopologyAvailabilityGroup is a group of a topology.
// +kubebuilder:validation:XValidation:rule="self.name.size() <= 60",message="name may have at most 60 characters: it is the group's name and its listener's",fieldPath=".name"
type TopologyAvailabilityGroup struct {
	// name of the AvailabilityGroup.
	Name                  ObjectName `json:"name"`
	AvailabilityGroupSpec `json:",inline"`
}

// TopologyDistributor is a distributor of a topology.
type TopologyDistributor struct {
	// name of the Distributor.
	Name            ObjectName `json:"name"`
	DistributorSpec `json:",inline"`
}

// TopologyPublication is a publication of a topology.
type TopologyPublication struct {
	// name of the Publication.
	Name            ObjectName `json:"name"`
	PublicationSpec `json:",inline"`
}

// TopologySubscription is a subscription of a topology.
type TopologySubscription struct {
	// name of the Subscription.
	Name             ObjectName `json:"name"`
	SubscriptionSpec `json:",inline"`
}

// TopologyAgentProfile is an agent profile of a topology.
type TopologyAgentProfile struct {
	// name of the AgentProfile.
	Name             ObjectName `json:"name"`
	AgentProfileSpec `json:",inline"`
}

// TopologyBackupStore is a store of a topology's backups.
type TopologyBackupStore struct {
	// name of the BackupStore.
	Name            ObjectName `json:"name"`
	BackupStoreSpec `json:",inline"`
}

// TopologyBackupPolicy is a policy of a topology's backups. Without a target there is one BackupPolicy, called
// NAME-TARGET, for each group of the topology and each server of it that declares databases or publishes one, but for
// those that another entry names.
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(oldSelf.target) || self.target == oldSelf.target",message="target is immutable: declare another entry"
// +kubebuilder:validation:XValidation:rule="has(self.target) || !has(self.databases) || self.databases.size() == 0",message="databases goes with target: without one all databases of the topology are backed up",fieldPath=".databases"
type TopologyBackupPolicy struct {
	// name of the BackupPolicy; without a target what the names of the BackupPolicies begin with.
	Name             ObjectName `json:"name"`
	BackupPolicySpec `json:",inline"`
}

// TopologySpec declares a whole system; the sites are named by reference.
type TopologySpec struct {
	// serverDefaults apply to every server that does not say otherwise, field by field.
	// +optional
	ServerDefaults *SQLServerSpec `json:"serverDefaults,omitempty"`
	// servers of the system.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Servers []TopologyServer `json:"servers"`
	// availabilityGroups over those servers.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	AvailabilityGroups []TopologyAvailabilityGroup `json:"availabilityGroups,omitempty"`
	// distributors among those servers.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Distributors []TopologyDistributor `json:"distributors,omitempty"`
	// agentProfiles for the publications and subscriptions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	AgentProfiles []TopologyAgentProfile `json:"agentProfiles,omitempty"`
	// publications of servers or groups.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Publications []TopologyPublication `json:"publications,omitempty"`
	// subscriptions to those publications.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Subscriptions []TopologySubscription `json:"subscriptions,omitempty"`
	// backupStores are where backups are kept besides the servers' own backup volumes. What they have stays when an entry
	// or the topology goes.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	BackupStores []TopologyBackupStore `json:"backupStores,omitempty"`
	// backupPolicies say which backups are taken. One entry may be without a target: it is for every group, and every
	// server that declares databases or publishes one, that no other entry names, those that come later too.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	BackupPolicies []TopologyBackupPolicy `json:"backupPolicies,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on, and so is every object of it.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// MemberStatus is the state of one object of a topology.
type MemberStatus struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
	// ready is True, False or Unknown.
	Ready string `json:"ready"`
	// reason of that condition.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message of that condition.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// TopologyStatus sums up the objects of a topology.
type TopologyStatus struct {
	StatusBase `json:",inline"`
	// members of the topology.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Members []MemberStatus `json:"members,omitempty"`
	// summary such as "11 of 12 ready".
	// +optional
	Summary string `json:"summary,omitempty"`
}

// Topology declares servers, groups, distributors, publications, subscriptions and backups of one system in one
// manifest.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gtopo,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Members",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",optionalOldSelf=true,message="metadata.name may have at most 63 characters: it is a label of the objects that are made of the Topology",fieldPath=".metadata"
type Topology struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TopologySpec   `json:"spec"`
	Status TopologyStatus `json:"status,omitempty"`
}

// TopologyList is a list of Topologies.
// +kubebuilder:object:root=true
type TopologyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Topology `json:"items"`
}

func init() { SchemeBuilder.Register(&Topology{}, &TopologyList{}) }
