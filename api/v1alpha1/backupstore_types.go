// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keys of a BackupStore's Secrets, unless others are named.
const (
	// KeyAccessKeyID and KeySecretAccessKey are those of credentialsSecretRef.
	KeyAccessKeyID     = "accessKeyID"
	KeySecretAccessKey = "secretAccessKey"
	// KeyStoreCA is that of caSecretRef.
	KeyStoreCA = "ca.crt"
	// KeyStoreEncryption is that of encryption.keySecretRef.
	KeyStoreEncryption = "age.key"
)

// S3Bucket is a bucket of a store that speaks S3. What says which one it is does not change: backups would be looked
// for where they are not.
// +kubebuilder:validation:XValidation:rule="self.endpoint == oldSelf.endpoint && self.bucket == oldSelf.bucket && (has(self.prefix) && has(oldSelf.prefix) ? self.prefix == oldSelf.prefix : (!has(self.prefix) || self.prefix.size() == 0) && (!has(oldSelf.prefix) || oldSelf.prefix.size() == 0))",message="endpoint, bucket and prefix are immutable: declare another BackupStore, and copy what is there"
type S3Bucket struct {
	// endpoint is the URL at which the store answers, such as https://s3.eu-west-1.amazonaws.com.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^/@?# ]+/?$')",message="an endpoint is https://host or https://host:port; credentials belong in credentialsSecretRef, the bucket in bucket"
	Endpoint string `json:"endpoint"`
	// bucket that exists.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][-a-z0-9.]*[a-z0-9]$')",message="a bucket's name has lower-case letters, digits, hyphens and dots alone, and begins and ends with a letter or a digit"
	Bucket string `json:"bucket"`
	// prefix of all keys in the bucket, none unless given. Two BackupStores may share a bucket with prefixes of their own.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-A-Za-z0-9_.]+(/[-A-Za-z0-9_.]+)*)?$') && !self.split('/').exists(p, p in ['.', '..'])",message="a prefix is parts of letters, digits, hyphens, underscores and dots with slashes between them, such as sql/production"
	Prefix string `json:"prefix,omitempty"`
	// region to sign requests for, us-east-1 unless given.
	// +optional
	// +kubebuilder:default=us-east-1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`
	// addressing says where the bucket's name is: in the Path, which every store understands, or in the host's name
	// (VirtualHost), which some ask for. Path unless given.
	// +optional
	// +kubebuilder:default=Path
	Addressing S3Addressing `json:"addressing,omitempty"`
	// credentialsSecretRef names the Secret with the keys accessKeyID and secretAccessKey. They need GetObject, PutObject,
	// DeleteObject, ListMultipartUploadParts and AbortMultipartUpload for the prefix, and ListBucket and
	// ListBucketMultipartUploads for the bucket. A changed Secret is taken over at every site.
	CredentialsSecretRef SecretName `json:"credentialsSecretRef"`
	// caSecretRef names the Secret with the CA that signed the store's certificate, key ca.crt unless given; those that
	// the image trusts otherwise.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
}

// S3Addressing says where a bucket's name is in a request.
// +kubebuilder:validation:Enum=Path;VirtualHost
type S3Addressing string

// AddressVirtualHost puts the bucket's name into the host's; the default, Path, into the path.
const AddressVirtualHost S3Addressing = "VirtualHost"

// SecretName names a Secret of the object's namespace whose keys are given.
type SecretName struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BackupEncryption says to which key the files of backups are encrypted before they are sent.
type BackupEncryption struct {
	// keySecretRef names the Secret with the keys as age-keygen writes them, key age.key unless given: one a line, of
	// which the first encrypts new backups, and all decrypt. To rotate, put the new key on the first line and keep the
	// former ones below for as long as there are backups of theirs. The first may be the public key alone (age1...):
	// backups are taken with it, and nothing is restored before the private one is there. Servers that take backups get
	// the public key alone. Keep the private key outside of the cluster, too: without it nothing in the bucket can be
	// restored.
	KeySecretRef SecretReference `json:"keySecretRef"`
}

// ServerVolume is the backup volume of a SQLServer, whose sidecar keeps there what those of other servers send it.
// Which server it is does not change: backups would be looked for where they are not.
// +kubebuilder:validation:XValidation:rule="self.server == oldSelf.server",message="server is immutable: declare another BackupStore, and have backups taken anew"
type ServerVolume struct {
	// server is the SQLServer of the namespace whose backup volume it is, at another site than the servers whose backups
	// are to survive theirs.
	Server ServerName `json:"server"`
	// quota is how many bytes the store takes at most. Without it, and besides it, twice what the server's own backups
	// leave free for backups of logs stays free of the volume.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="quota must be at least 1Gi"
	Quota *resource.Quantity `json:"quota,omitempty"`
}

// BackupStoreSpec declares where backups are kept besides the servers' own backup volumes: in a bucket, or on the
// volume of another server.
// +kubebuilder:validation:XValidation:rule="has(self.s3) != has(self.volume)",message="exactly one of s3 and volume says where the store is"
// +kubebuilder:validation:XValidation:rule="has(self.s3) == has(oldSelf.s3)",message="a store stays the bucket or the volume that it is: declare another BackupStore"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.encryption) || has(self.encryption)",message="encryption stays once it is declared, or later backups would lie beside it as they are: declare another BackupStore for those",fieldPath=".encryption"
type BackupStoreSpec struct {
	// s3 is a bucket of a store that speaks S3.
	// +optional
	S3 *S3Bucket `json:"s3,omitempty"`
	// volume is the backup volume of another server, where there is no bucket.
	// +optional
	Volume *ServerVolume `json:"volume,omitempty"`
	// encryption has every file of a backup encrypted by the server's agent before it is sent; without it the store alone
	// encrypts, if it does. Backups that are there already stay as they are.
	// +optional
	Encryption *BackupEncryption `json:"encryption,omitempty"`
	// uploadRate is how many bytes a second each server sends to it at most, such as 20Mi; no bound unless given. It keeps
	// backups from starving the log that goes to the secondaries.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="uploadRate must be at least 64Ki, in bytes a second"
	UploadRate *resource.Quantity `json:"uploadRate,omitempty"`
	// suspend has the operator do nothing with the object until it is false again: it is looked at and reported on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ServerVolumeStatus is what is known of a store on a server's volume.
type ServerVolumeStatus struct {
	// bytes that it has.
	Bytes int64 `json:"bytes"`
	// roomBytes that can be stored yet.
	RoomBytes int64 `json:"roomBytes"`
}

// BackupStoreStatus is the observed state of a BackupStore.
type BackupStoreStatus struct {
	StatusBase `json:",inline"`
	// tested is when an object was last written, read back and removed there: by the manager, or on a server's volume by
	// its sidecar.
	// +optional
	Tested *metav1.Time `json:"tested,omitempty"`
	// recipient is the public key to which new backups are encrypted; empty without spec.encryption.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Recipient string `json:"recipient,omitempty"`
	// volume is what the sidecar of the server says of a store on its volume.
	// +optional
	Volume *ServerVolumeStatus `json:"volume,omitempty"`
	// policies that keep backups in it.
	// +optional
	Policies int32 `json:"policies,omitempty"`
}

// BackupStore is where backups are kept besides the servers' own backup volumes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbstore,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.s3.endpoint`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.s3.bucket`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.volume.server`
// +kubebuilder:printcolumn:name="Tested",type=date,JSONPath=`.status.tested`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackupStoreSpec   `json:"spec"`
	Status BackupStoreStatus `json:"status,omitempty"`
}

// BackupStoreList is a list of BackupStores.
// +kubebuilder:object:root=true
type BackupStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackupStore `json:"items"`
}

func init() { SchemeBuilder.Register(&BackupStore{}, &BackupStoreList{}) }
