// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
)

// Answer names a question about SQL Server that is open, or that another engine answers otherwise: named in mssql.conf
// (section standin, key answers) the stand-in answers it the other way. docs/answers.md has all of them.
type Answer string

// The answers. Each says what the engine does when it is named, and from where that is known.
const (
	// OfflineIsSilent: a replica that OFFLINE has taken out of its role answers no other replica, neither one that was
	// asked for FAILOVER (41104 there, where it is needed for the majority) nor a primary, until SET (ROLE = SECONDARY),
	// FAILOVER or a restart. Microsoft's agent (mssql-server-ha, ag-helper) sends FAILOVER while bystanders are SECONDARY.
	OfflineIsSilent Answer = "hadr.offline-is-silent"
	// ResolvingFollows: a replica that is RESOLVING becomes SECONDARY by itself when a primary reaches it. Seen of
	// replicas that had been restarted, and expected after JOIN (field reports); whether after OFFLINE nobody says.
	ResolvingFollows Answer = "hadr.resolving-follows"
	// UnreadyWhenDisconnected: is_failover_ready is 0 on a replica that has no primary. Microsoft's agent says that no
	// view tells what FAILOVER would.
	UnreadyWhenDisconnected Answer = "hadr.unready-when-disconnected"
	// RoleBlocksFailover: FAILOVER waits until the recovery is over that SET (ROLE = SECONDARY) has begun, which takes 4
	// s. Microsoft's agent says that it blocks, and takes a former primary OFFLINE for that reason.
	RoleBlocksFailover Answer = "hadr.role-blocks-failover"
	// HelpJobHasMore: the result set of sp_help_job has a column before the documented ones. Its page has 32; nobody has
	// looked at every version.
	HelpJobHasMore Answer = "sqlagent.help-job-has-more"
	// JobAtSubscription: sp_addsubscription makes a job for the agent of a push subscription, which connects with
	// Windows authentication. The 2022 text of sp_MSadd_subscription makes the agent's row as a local job.
	JobAtSubscription Answer = "repl.job-at-subscription"
	// FolderUnmapped: sp_adddistpublisher looks for the working directory without the map of UNC names (21037). Nothing
	// says that its check follows the map.
	FolderUnmapped Answer = "repl.folder-unmapped"
	// FolderTurned: a publisher's working_directory comes back with backslashes, and one at its end. No page says that
	// it stays as it was given.
	FolderTurned Answer = "repl.folder-turned"
	// MasterKeyWanted: what keeps a SQL login's password needs a master key in the database that keeps it (15581): the
	// distribution database, or that of a pull subscription. A field report makes one before.
	MasterKeyWanted Answer = "repl.master-key-wanted"
	// RefreshServesPull: sp_refreshsubscriptions leaves push subscriptions out, as older versions of its page say.
	RefreshServesPull Answer = "repl.refresh-serves-pull"
	// NamesInCapitals: the names of a publisher that is the distributor itself, and of the publisher in a subscription
	// database, are kept in capitals. The 2022 texts of the procedures turn some names and compare all in capitals.
	NamesInCapitals Answer = "repl.names-in-capitals"
	// SubscriberWantsLogin: a subscriber that is the distributor itself is refused with 21038 unless sp_addsubscriber
	// made it known with a SQL login. The 2022 text of sp_MSadd_subscriber_info has that for platforms other than NT.
	SubscriberWantsLogin Answer = "repl.subscriber-wants-login"
	// AttachStartsJob: sp_addlogreader_agent starts the job that it is given (22022 where it runs). It starts one that
	// it makes.
	AttachStartsJob Answer = "repl.attach-starts-job"
	// CleanupFails: sp_MSdistribution_cleanup ends with 20015 before it removes anything, as where a snapshot folder
	// cannot be removed. Its published text does so; whether that meets paths with slashes nobody says.
	CleanupFails Answer = "repl.cleanup-fails"
	// SnapshotsForMarked: a snapshot of a snapshot publication is for the subscriptions that wait for one: new ones, and
	// those that are marked for reinitialization. The page on snapshot replication says so, older ones that every run of
	// the agent brings it to all.
	SnapshotsForMarked Answer = "repl.snapshots-for-marked"
	// FirstConnectionCounts: a primary whose first connection to a replica has failed, because its name did not resolve
	// yet, say, has no connection to it until the mirroring endpoint of either is restarted (field report of SQL Server in
	// pods, whose operator restarts endpoints).
	FirstConnectionCounts Answer = "hadr.first-connection-counts"
	// ListenerTakesASubnet: a listener's IPv4 address with a mask of one host is refused (19456). Field set-ups of groups
	// under Pacemaker show the mask of a subnet.
	ListenerTakesASubnet Answer = "hadr.listener-takes-a-subnet"
	// ListenerTakesNoAddress: a listener's IPv4 address is refused (19456) unless it is 0.0.0.0 with the mask 0.0.0.0,
	// the form that is documented for groups without a cluster.
	ListenerTakesNoAddress Answer = "hadr.listener-takes-no-address"
	// KeyIsOwn: network.tlskey is refused, and the instance does not start, where the file is not the engine's own or
	// others may read it. The page on encrypted connections on Linux shows it so, owned by mssql with mode 400 or 600.
	KeyIsOwn Answer = "network.key-is-own"
	// OfflineTakesTime: OFFLINE takes 6 s where the replica is not RESOLVING, and one that is cancelled meanwhile has done
	// nothing. Microsoft's agent waits for the role without a bound of its own.
	OfflineTakesTime Answer = "hadr.offline-takes-time"
	// FormerPrimaryLatched: SET (ROLE = SECONDARY) answers 41104 on a replica that was primary, until it was taken OFFLINE
	// and the endpoints there and at the new primary were restarted (field report, SQL Server 2025).
	FormerPrimaryLatched Answer = "hadr.former-primary-latched"
	// SlowToSynchronize: a replica that has become a secondary takes no log for 45 s. Field reports have 44 to 151 s.
	SlowToSynchronize Answer = "hadr.slow-to-synchronize"
	// NoPrimaryName: primary_replica is NULL on secondaries, as its page says where there is no cluster.
	NoPrimaryName Answer = "hadr.no-primary-name"
	// LeaseOverrun: an expired write lease is acted on 1 to 5 s late; Microsoft's agent waits for 5 s more.
	LeaseOverrun Answer = "hadr.lease-overrun"
	// HardenedUnknown: last_hardened_lsn is NULL while RESOLVING. Nobody has shown a row of a replica that is.
	HardenedUnknown Answer = "hadr.hardened-unknown"
	// PrimaryAfterRestart: a restarted primary of a group with CLUSTER_TYPE = EXTERNAL is shown as PRIMARY for 5 s, though
	// it serves nobody (field reports of pods).
	PrimaryAfterRestart Answer = "hadr.primary-after-restart"
	// HalfKnownReplicas: sys.availability_replicas has nothing but the names of other replicas on one that was started and
	// has not heard of its group yet. The view joins metadata with the configuration.
	HalfKnownReplicas Answer = "hadr.half-known-replicas"
)

// answers are all that there are.
var answers = []Answer{
	OfflineIsSilent, ResolvingFollows, UnreadyWhenDisconnected, RoleBlocksFailover, HelpJobHasMore,
	JobAtSubscription, FolderUnmapped, FolderTurned, MasterKeyWanted, RefreshServesPull, NamesInCapitals,
	SubscriberWantsLogin, AttachStartsJob, CleanupFails, SnapshotsForMarked, FirstConnectionCounts, ListenerTakesASubnet,
	ListenerTakesNoAddress, KeyIsOwn, OfflineTakesTime, FormerPrimaryLatched, SlowToSynchronize, NoPrimaryName,
	LeaseOverrun, HardenedUnknown, PrimaryAfterRestart, HalfKnownReplicas,
}

// Answers are those that an instance was given.
type Answers map[Answer]bool

// Has tells whether the engine answers a question the other way.
func (a Answers) Has(name Answer) bool { return a[name] }

// String lists them in order, as in mssql.conf.
func (a Answers) String() string {
	names := make([]string, 0, len(a))
	for name := range a {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// ParseAnswers reads a list of names with commas between them; all stands for every one. A name that it does not know
// is an error.
func ParseAnswers(list string) (Answers, error) {
	found := Answers{}
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case name == "all":
			for _, a := range answers {
				found[a] = true
			}
		case slices.Contains(answers, Answer(name)):
			found[Answer(name)] = true
		default:
			return nil, fmt.Errorf("%q is no answer of the stand-in; there are all, %s", name, join(answers))
		}
	}
	return found, nil
}

func join(names []Answer) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}
