// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InitializationMethod is how subscribers get their first copy.
// +kubebuilder:validation:Enum=Snapshot;CompressedSnapshot;Compare;Manual;Backup;ReplicationSupportOnly
type InitializationMethod string

const (
	// InitializeSnapshot applies a snapshot that the subscriber's site mirrors first.
	InitializeSnapshot InitializationMethod = "Snapshot"
	// InitializeCompare keeps a copy that is equal to the publisher's, row by row; otherwise, and when a new copy is asked
	// for, a snapshot replaces it. It is a value of InitializationAnnotation, too.
	InitializeCompare = "Compare"
	// InitializeReplicationSupportOnly expects that the subscriber has the data already.
	InitializeReplicationSupportOnly InitializationMethod = "ReplicationSupportOnly"
	// InitializeCompressedSnapshot applies a snapshot that is packed once, at the distributor, and mirrored packed.
	InitializeCompressedSnapshot InitializationMethod = "CompressedSnapshot"
	// InitializeManual applies a snapshot whose files a person brings to the subscriber's site.
	InitializeManual InitializationMethod = "Manual"
	// InitializeBackup restores a backup of the published database at the subscriber, which gets what was committed after
	// it.
	InitializeBackup InitializationMethod = "Backup"
)

// Initialization says how subscribers get their first copy.
// +kubebuilder:validation:XValidation:rule="(has(self.method) && self.method == 'Manual') == has(self.manual)",message="method Manual takes manual, which says where the files are brought, and no other method does",fieldPath=".manual"
type Initialization struct {
	// method is Snapshot (default), a copy that the subscriber's site mirrors first; CompressedSnapshot, one that is
	// packed once at the distributor, which keeps it so, and sent packed to all who ask for that; Compare, which keeps
	// tables that are equal to the publisher's, row by row, and lets a snapshot replace them otherwise, also those that
	// somebody else made; Manual, a snapshot whose files a person brings to the subscriber's site, on a disk or another
	// way, each time that there is to be a copy: over the link goes the list of them alone; Backup, which restores a
	// backup of the whole published database in place of one that is empty, or that a person lets make way, and streams
	// what was committed since; or ReplicationSupportOnly, which copies nothing: a person brings the data. Of a
	// subscription that is registered another method copies nothing by itself, and ReplicationSupportOnly and Backup are
	// refused where it gets copies. What a person brought, and tables of somebody else for which the Subscription stands
	// still already, Compare replaces where the Subscription itself says it, not where its Publication does.
	// +kubebuilder:default=Snapshot
	Method InitializationMethod `json:"method,omitempty"`
	// manual says where a person brings the files; of method Manual alone, which needs it.
	// +optional
	Manual *ManualInitialization `json:"manual,omitempty"`
}

// ManualInitialization is where a person brings the files of snapshots.
type ManualInitialization struct {
	// folder below /var/opt/mssql-backup/brought of the subscriber's pod, which is on its backup volume. The sidecar makes
	// it, reads what is in it and in folders below, and changes nothing there. Another one may be named at any time.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$')",message="folder is relative, such as articles or disks/articles: names of letters, digits, dots, dashes and underscores, each of which begins with a letter or a digit"
	Folder string `json:"folder"`
}

// DataCompression of a table at the subscriber (docs/relational-databases/data-compression/data-compression.md).
// +kubebuilder:validation:Enum=None;Row;Page
type DataCompression string

const (
	// CompressionNone leaves the table uncompressed.
	CompressionNone DataCompression = "None"
	// CompressionRow compresses rows.
	CompressionRow DataCompression = "Row"
	// CompressionPage compresses pages.
	CompressionPage DataCompression = "Page"
)

// ArticleObject names an object of the published database as schema.name, such as dbo.Article.
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=257
type ArticleObject string

// Article is one published object: a table. The other kinds are refused until they are published.
// +kubebuilder:validation:XValidation:rule="!has(self.procedure)",message="a procedure is not published yet: name a table",fieldPath=".procedure"
// +kubebuilder:validation:XValidation:rule="!has(self.view)",message="a view is not published yet: name a table",fieldPath=".view"
// +kubebuilder:validation:XValidation:rule="!has(self.function)",message="a function is not published yet: name a table",fieldPath=".function"
// +kubebuilder:validation:XValidation:rule="[has(self.table), has(self.procedure), has(self.view), has(self.function)].exists_one(x, x)",message="an article is exactly one of table, procedure, view and function"
type Article struct {
	// table as schema.name, such as dbo.Article. It needs a primary key, unless the Publication's type is Snapshot.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=257
	// +kubebuilder:validation:XValidation:rule="self.matches(r'^[^.\\x27\\x22\\[\\]]{1,128}[.][^.\\x27\\x22\\[\\]]{1,128}$')",message="table is schema.name, such as dbo.Article, without brackets and quotation marks"
	Table string `json:"table,omitempty"`
	// procedure as schema.name: not accepted yet.
	// +optional
	Procedure ArticleObject `json:"procedure,omitempty"`
	// view as schema.name: not accepted yet.
	// +optional
	View ArticleObject `json:"view,omitempty"`
	// function as schema.name: not accepted yet.
	// +optional
	Function ArticleObject `json:"function,omitempty"`
	// columns of the table that are published; all unless given. The primary key must be among them.
	// +optional
	// +kubebuilder:validation:MaxItems=246
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	Columns []string `json:"columns,omitempty"`
	// filter of the table is a WHERE clause without the word WHERE: one condition, without comments, semicolons, variables
	// and words that begin a statement; a column of such a name stands in brackets.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Filter string `json:"filter,omitempty"`
	// dataCompression of the table at publisher and subscriber.
	// +optional
	DataCompression DataCompression `json:"dataCompression,omitempty"`
}

// SchemaOptions is what a snapshot makes of a table beside its rows and keys
// (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md, @schema_option).
// +kubebuilder:validation:Enum=Default;Publishable
type SchemaOptions string

const (
	// SchemaDefault brings rows, primary and unique keys.
	SchemaDefault SchemaOptions = "Default"
	// SchemaPublishable brings identity columns, defaults and CHECK constraints too.
	SchemaPublishable SchemaOptions = "Publishable"
)

// PublicationSpec declares a publication.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'Transactional') == (has(oldSelf.type) ? oldSelf.type : 'Transactional')",message="type is immutable: declare another publication"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'Snapshot') == has(self.schedule)",message="type Snapshot takes a schedule, and type Transactional none",fieldPath=".schedule"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message="timeZone goes with schedule",fieldPath=".timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Snapshot' || !has(self.logReaderProfile)",message="nothing reads the log for type Snapshot: leave logReaderProfile out",fieldPath=".logReaderProfile"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Snapshot' || !has(self.initialization) || !has(self.initialization.method) || self.initialization.method in ['Snapshot', 'CompressedSnapshot']",message="type Snapshot brings nothing but snapshots: initialization.method is Snapshot or CompressedSnapshot, or left out",fieldPath=".initialization"
// +kubebuilder:validation:XValidation:rule="self.publisher == oldSelf.publisher || has(self.movedBy) && (!has(oldSelf.movedBy) || self.movedBy != oldSelf.movedBy)",message="publisher is immutable: declare another publication; a PublisherMove changes it, and writes movedBy along with it"
// +kubebuilder:validation:XValidation:rule="self.database == oldSelf.database || has(self.movedBy) && (!has(oldSelf.movedBy) || self.movedBy != oldSelf.movedBy)",message="database is immutable: declare another publication; a PublisherMove changes it, and writes movedBy along with it"
// +kubebuilder:validation:XValidation:rule="self.distributor == oldSelf.distributor || has(self.movedBy) && (!has(oldSelf.movedBy) || self.movedBy != oldSelf.movedBy)",message="distributor is immutable: declare another publication; a PublisherMove changes it, and writes movedBy along with it"
// +kubebuilder:validation:XValidation:rule="(has(self.schemaOptions) ? self.schemaOptions : 'Default') == (has(oldSelf.schemaOptions) ? oldSelf.schemaOptions : 'Default')",message="schemaOptions is immutable, since every subscriber would get a new copy: declare another publication"
type PublicationSpec struct {
	// publisher is a server or a group.
	Publisher ServerOrGroup `json:"publisher"`
	// database that is published; it is created when it does not exist.
	Database DatabaseName `json:"database"`
	// distributor is the name of a Distributor.
	Distributor ObjectName `json:"distributor"`
	// type is Transactional (default), whose changes are streamed, or Snapshot, whose tables are copied whole by the
	// schedule: nothing arrives between. It is immutable. While a snapshot of type Snapshot is made, whoever writes its
	// tables waits.
	// +optional
	// +kubebuilder:default=Transactional
	Type PublicationType `json:"type,omitempty"`
	// schedule of type Snapshot, in cron's five fields, such as "0 3 * * *": when a new snapshot is made for those who
	// subscribe. Each replaces the subscribers' tables, which this schedule agrees to; what is missed while the operator
	// or a server is away is made up for once. A first copy is made at once, and so is one that is asked for by
	// `kubectl geosql reinitialize`; other changes of what is published wait for the schedule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule,omitempty"`
	// timeZone of the schedule by its name in the tz database, such as Europe/Dublin. Without one it is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// initialization of subscribers, by a snapshot unless it says otherwise. A Subscription may say otherwise. A snapshot
	// is made where one subscriber needs it.
	// +optional
	Initialization *Initialization `json:"initialization,omitempty"`
	// reinitialization says when subscribers get a new copy of tables that they have, such as after a change of an
	// article's columns or filter: OnRequest (default), by `kubectl geosql reinitialize`, or Automatic. A Subscription may
	// say otherwise.
	// +optional
	// +kubebuilder:default=OnRequest
	Reinitialization Reinitialization `json:"reinitialization,omitempty"`
	// schemaOptions says what subscribers' tables get beside rows and keys: Default, nothing; Publishable, also identity
	// columns, defaults and CHECK constraints, so that a copy can take over from a lost publisher. The publisher's
	// identity columns become NOT FOR REPLICATION then.
	// +optional
	// +kubebuilder:default=Default
	SchemaOptions SchemaOptions `json:"schemaOptions,omitempty"`
	// articles of the publication, each named once.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Articles []Article `json:"articles"`
	// logReaderProfile is the name of an AgentProfile for the log reader.
	// +optional
	LogReaderProfile ObjectName `json:"logReaderProfile,omitempty"`
	// snapshotProfile is the name of an AgentProfile for the snapshot agent.
	// +optional
	SnapshotProfile ObjectName `json:"snapshotProfile,omitempty"`
	// reclaimPolicy says whether the publication is dropped with this object (Delete) or left (Retain, the default).
	// Tables are never dropped.
	// +optional
	// +kubebuilder:default=Retain
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// movedBy is the name of the PublisherMove that brought the publication to its publisher, written by it. Manifests
	// keep it: publisher, database and distributor change only along with it.
	// +optional
	MovedBy ObjectName `json:"movedBy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on. Replication goes on, but no snapshot of type Snapshot is made.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ReplicatedTransaction is a transaction as replication numbers it.
type ReplicatedTransaction struct {
	// transaction is its sequence number (xact_seqno, varbinary(16)) in hexadecimal. Later ones are greater.
	// +kubebuilder:validation:MaxLength=34
	Transaction string `json:"transaction"`
	// time when it was written into the distribution database, or applied at the subscriber, by that server's clock.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// seen is when the operator read it.
	// +optional
	Seen *metav1.Time `json:"seen,omitempty"`
}

// RebuildAnnotation on a Publication lets it be made anew when its distributor, or its database, knows nothing of it
// any more. With RebuildCompare subscribers whose tables are equal to the publisher's keep them; with "true" all get a
// snapshot.
const RebuildAnnotation = "geosql.dev/rebuild"

// RebuildCompare is a value of RebuildAnnotation.
const RebuildCompare = "compare"

// AgentStatus is one replication agent as the distributor's history tells it.
type AgentStatus struct {
	// name of the agent's job.
	// +optional
	Name string `json:"name,omitempty"`
	// state is Started, Stopped, InProgress, Idle, Retrying, Failed (runstatus 1 to 6) or Unknown.
	State string `json:"state"`
	// message of the newest history row, or of the one that says why the agent does not go on.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// time of the newest history row; while nothing else changes, of one that is up to a minute older.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// lastErrorCode of the newest error in the distributor's MSrepl_errors that the history tells of, such as 20598. It
	// stays when the agent has gone on, until the history is cleaned up.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastErrorCode string `json:"lastErrorCode,omitempty"`
	// lastErrorTime is when that was.
	// +optional
	LastErrorTime *metav1.Time `json:"lastErrorTime,omitempty"`
}

// ArticleStatus is the state of one article.
type ArticleStatus struct {
	// name of the published object, as the article declares it. A database has one object of a name, of whatever kind.
	Name string `json:"name"`
	// state is Published, Pending, WaitingForTable, NoPrimaryKey, ColumnsNotPublishable or Unknown.
	State string `json:"state"`
}

// CopySize is what a subscriber's copy of all articles has, as the publisher measured it.
type CopySize struct {
	// rows of all tables.
	Rows int64 `json:"rows"`
	// bytes of all tables with their indexes.
	Bytes int64 `json:"bytes"`
	// measured is when.
	// +optional
	Measured *metav1.Time `json:"measured,omitempty"`
}

// NeededCopy is a table of which subscribers need a new copy, so that it is as declared.
type NeededCopy struct {
	// table of the article.
	Table string `json:"table"`
	// reason in words.
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// rows of the table at the publisher.
	// +optional
	Rows int64 `json:"rows,omitempty"`
	// bytes of the table with its indexes, at the publisher.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
}

// NeededReinitialization is what waits until it is asked for.
type NeededReinitialization struct {
	// tables of which subscribers need a new copy.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=table
	Tables []NeededCopy `json:"tables"`
	// waitingFor are the subscribers for which nobody has asked for it yet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	WaitingFor []string `json:"waitingFor,omitempty"`
}

// PublicationReinitialization is the newest change of articles that gives subscribers a new copy. It is written before
// the change is made, so that no request is taken for open after it.
type PublicationReinitialization struct {
	// time when it was begun.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// copies that are still to be made.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Copies []RequestedCopy `json:"copies,omitempty"`
	// requests that asked for it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Requests []string `json:"requests,omitempty"`
}

// RequestedCopy is a new copy of a table that a request, or the schedule, has agreed to.
type RequestedCopy struct {
	// table, as the publication declares it.
	// +kubebuilder:validation:MaxLength=257
	Table string `json:"table"`
	// request for it, as annotated at the Subscription; empty where the schedule has agreed.
	// +kubebuilder:validation:MaxLength=256
	Request string `json:"request"`
	// subscribers whose copies the schedule replaces, such as dubsub-0/Content: their article is dropped and added again.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=257
	Subscribers []string `json:"subscribers,omitempty"`
	// declared is a digest of what the Publication declared of the article then: a later declaration is another change, to
	// which the request has not agreed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Declared string `json:"declared,omitempty"`
}

// Undeclared is what runs on in a published database although no object declares it any more.
type Undeclared struct {
	// publication of the database.
	Publication string `json:"publication"`
	// subscriber is the server that receives it; empty of a publication to which nobody subscribes.
	// +optional
	Subscriber string `json:"subscriber,omitempty"`
	// database at the subscriber.
	// +optional
	Database string `json:"database,omitempty"`
}

// InitializationMethod is how subscribers get their first copy: by a snapshot unless the spec says otherwise.
func (s *PublicationSpec) InitializationMethod() InitializationMethod {
	if s.Initialization == nil || s.Initialization.Method == "" {
		return InitializeSnapshot
	}
	return s.Initialization.Method
}

// PublicationStatus is the observed state of a Publication.
type PublicationStatus struct {
	StatusBase `json:",inline"`
	// articles of the publication.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=name
	Articles []ArticleStatus `json:"articles,omitempty"`
	// logReader agent; absent of type Snapshot, which has none.
	// +optional
	LogReader *AgentStatus `json:"logReader,omitempty"`
	// snapshot agent.
	// +optional
	Snapshot *AgentStatus `json:"snapshot,omitempty"`
	// schedule says when the tables are copied; absent of type Transactional.
	// +optional
	Schedule *PublicationSchedule `json:"schedule,omitempty"`
	// snapshotFolder of the newest snapshot, on the distributor.
	// +optional
	SnapshotFolder string `json:"snapshotFolder,omitempty"`
	// size of a subscriber's copy.
	// +optional
	Size *CopySize `json:"size,omitempty"`
	// neededReinitialization is what waits until it is asked for by `kubectl geosql reinitialize`; absent when nothing
	// does.
	// +optional
	NeededReinitialization *NeededReinitialization `json:"neededReinitialization,omitempty"`
	// reinitialized is the newest change of articles that gives subscribers a new copy.
	// +optional
	Reinitialized *PublicationReinitialization `json:"reinitialized,omitempty"`
	// undeclared is what runs on in the database although no Publication, or no Subscription to this one, declares it: an
	// object that was deleted or renamed keeps what it made unless its reclaimPolicy is Delete.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Undeclared []Undeclared `json:"undeclared,omitempty"`
	// newest transaction that the distributor had when it was last asked, a minute ago at most while it answers: what a
	// PublisherMove compares with when publisher and distributor are gone.
	// +optional
	Newest *ReplicatedTransaction `json:"newest,omitempty"`
	// behind is when the published database was found restored from a backup, older than what the distributor has of it.
	// Its log is not read until a person has the publication made anew; then it is taken away.
	// +optional
	Behind *metav1.Time `json:"behind,omitempty"`
	// recoveryFork of the published database on a server alone, with that server's name: RESTORE begins another one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	RecoveryFork string `json:"recoveryFork,omitempty"`
	// distributionFork is the same of the distribution database, with its server's name.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DistributionFork string `json:"distributionFork,omitempty"`
	// logReaderRight is for how long the log reader has the right to set up subscribers that begin without a snapshot, by
	// a login in sysadmin at the distributor. It is recorded before that is given; absent when nobody needs it and the log
	// reader runs without.
	// +optional
	LogReaderRight *LogReaderRight `json:"logReaderRight,omitempty"`
}

// LogReaderRight is the time of a log reader's right to set subscribers up.
type LogReaderRight struct {
	// since is when somebody of the publication began to need it, or some minutes before the log reader was given it: an
	// hour later it is taken back, whatever is left to set up. Absent when nobody needs it any more.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// ended is when it was taken back. Whoever still needs it then does not get it again until the Publication was
	// suspended and goes on.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`
	// left is how much was left to set up when it ended, in rows of the distributor's MSnosyncsubsetup, or the least
	// since. When the log reader fails for want of the right and more than this is to be set up, it is given again.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Left int64 `json:"left,omitempty"`
}

// Held tells that the log reader is to have the right.
func (r *LogReaderRight) Held() bool { return r != nil && r.Since != nil && r.Ended == nil }

// Publication is a set of tables whose changes subscribers receive.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gpub,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.spec.database`
// +kubebuilder:printcolumn:name="LogReader",type=string,JSONPath=`.status.logReader.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Publication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PublicationSpec   `json:"spec"`
	Status PublicationStatus `json:"status,omitempty"`
}

// PublicationList is a list of Publications.
// +kubebuilder:object:root=true
type PublicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Publication `json:"items"`
}

func init() { SchemeBuilder.Register(&Publication{}, &PublicationList{}) }
