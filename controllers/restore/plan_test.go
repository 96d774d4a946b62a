// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func desired() Desired {
	return Desired{
		Restore: &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "back", UID: "u1"},
			Spec: v1alpha1.RestoreSpec{Target: v1alpha1.RestoreTarget{Server: "quisec"}}},
		Order: orders.Restore{Name: "back", UID: "u1", Folder: "web/group/content/Content",
			Stores: []orders.BackupStore{{Name: "bucket", SecretKey: "secret"}}},
	}
}

// observed is a server whose agent has the right, knows its order and restores.
func observed(t *testing.T) Observed {
	t.Helper()
	order, err := desired().Order.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return Observed{Order: reconcile.Read(order), Rights: reconcile.Read([]string{"CREATE ANY DATABASE"}),
		Places: ownPlaces(),
		Says: reconcile.Read(&restores.Status{Name: "back", UID: "u1", Step: restores.Restoring, Database: "Content",
			Store: "bucket", Sets: 3, Restored: 1, Bytes: 30, Downloaded: 30, Started: noon, ToTime: noon.Add(-time.Minute),
			Chain: []restores.SetStatus{{ID: "f", Kind: backup.Full, FirstLSN: "1", LastLSN: "2", Finished: noon, Bytes: 10}}})}
}

// toGroup makes it a Restore to a group, which is at quisec.
func toGroup(d *Desired) {
	d.Restore.Spec.Target = v1alpha1.RestoreTarget{AvailabilityGroup: "content"}
	d.Restore.Status.Server = "quisec"
}

// ended has the outcome written down.
func ended(d *Desired, as v1alpha1.RestoreOutcome) {
	d.Restore.Status.Phase, d.Restore.Status.Outcome = v1alpha1.RestoreFinishing, as
	d.Restore.Status.Reason, d.Restore.Status.Message = v1alpha1.ReasonRestored, "it is so"
	d.Restore.Status.Database = "Content"
}

// ownPlaces is where the database of the Restore is, otherPlaces where one is that another Restore made.
func ownPlaces() reconcile.Reading[*mssql.DatabasePlaces] {
	return reconcile.Read(placesOf("/data/Content-u1.mdf"))
}

func otherPlaces() reconcile.Reading[*mssql.DatabasePlaces] {
	return reconcile.Read(placesOf("/data/Content-u2.mdf"))
}

func placesOf(files ...string) *mssql.DatabasePlaces {
	return &mssql.DatabasePlaces{State: "ONLINE", Files: files}
}

// discarding is a Restore that has ended, as has its agent, and whose database is to be dropped.
func discarding(d *Desired, o *Observed, files ...string) {
	ended(d, v1alpha1.RestoreSucceeded)
	d.Restore.Spec.Discard, d.Restore.Spec.Check = true, true
	o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
	o.Owner, o.State, o.Rights = reconcile.Read("sa"), "ONLINE", reconcile.Read[[]string](nil)
	o.Places = reconcile.Read(placesOf(files...))
}

// taking is a Restore that has ended, as has its agent, which owns the database and has the role in it.
func taking(d *Desired, o *Observed) {
	ended(d, v1alpha1.RestoreSucceeded)
	d.Restore.Spec.Check = true
	o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
	o.Rights, o.Owner, o.State = reconcile.Read[[]string](nil), reconcile.Read("geosql_agent"), "ONLINE"
	o.User = reconcile.Read(&mssql.UserState{Login: "geosql_agent", Roles: []string{"db_owner"}})
}

func TestPlan(t *testing.T) {
	away := errors.New("nobody answers")
	for _, row := range []struct {
		why     string
		edit    func(*Desired, *Observed)
		steps   []string
		reason  string
		says    string
		phase   v1alpha1.RestorePhase
		outcome v1alpha1.RestoreOutcome
		at      v1alpha1.ServerName
	}{
		{why: "something is missing", edit: func(d *Desired, o *Observed) {
			d.Missing = "there is no BackupStore bucket"
			*o = Observed{}
		}, reason: v1alpha1.ReasonReferenceMissing, phase: v1alpha1.RestorePending},
		{why: "the server is gone at which it was to be restored", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Missing, d.Lost = "there is no SQLServer quisec", true
			*o = Observed{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*restores.Status](away)}
		}, reason: v1alpha1.ReasonReferenceMissing, says: "delete this Restore and make another",
			phase: v1alpha1.RestorePending, at: "quisec"},
		{why: "something is missing of one that was told", edit: func(d *Desired, _ *Observed) {
			d.Missing = "there is no BackupPolicy content"
		}, reason: v1alpha1.ReasonRestoring, says: "1 of 3 sets; there is no BackupPolicy content",
			phase: v1alpha1.RestoreRunning},
		{why: "something is missing of one that has ended", edit: func(d *Desired, o *Observed) {
			d.Missing = "there is no BackupPolicy content"
			says, _ := o.Says.Get()
			says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is so",
				Finished: noon}
		}, reason: v1alpha1.ReasonRestoreFinishing, phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "something is missing of one that nobody answers for", edit: func(d *Desired, o *Observed) {
			d.Missing, d.Restore.Status.Phase = "there is no BackupPolicy content", v1alpha1.RestoreRunning
			*o = Observed{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*restores.Status](away)}
		}, reason: v1alpha1.ReasonRestoreUnknown, phase: v1alpha1.RestoreRunning},
		{why: "it is begun with the right, and then the order", edit: func(_ *Desired, o *Observed) {
			*o = Observed{Order: reconcile.Read[[]byte](nil), Says: reconcile.Read[*restores.Status](nil),
				Rights: reconcile.Read[[]string](nil)}
		}, steps: []string{"GRANT CREATE ANY DATABASE TO [geosql_agent]", "tell quisec-0 to restore"},
			reason: v1alpha1.ReasonRestoring, says: "has not heard of it", phase: v1alpha1.RestorePending},
		{why: "a dry run needs no right", edit: func(d *Desired, o *Observed) {
			d.Restore.Spec.DryRun = true
			*o = Observed{Order: reconcile.Read[[]byte](nil), Says: reconcile.Read[*restores.Status](nil)}
		}, steps: []string{"tell quisec-0 to restore"}, reason: v1alpha1.ReasonRestoring,
			phase: v1alpha1.RestorePending},
		{why: "a group has the database", edit: func(d *Desired, o *Observed) {
			d.Refused = "AvailabilityGroup content has it"
			*o = Observed{Order: reconcile.Read[[]byte](nil)}
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "content has it", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreRefused},
		{why: "a group that came later changes nothing", edit: func(d *Desired, _ *Observed) { d.Refused = "it has it" },
			reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestoreRunning},
		{why: "a group's primary is chosen, and written down first", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Restore.Status.Server, d.Pin = "", "quisec"
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil)}
		}, reason: v1alpha1.ReasonRestoring, says: "it is restored at quisec-0", phase: v1alpha1.RestorePending,
			at: "quisec"},
		{why: "the group has the database", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Restore.Status.Server, d.Pin, d.Refused = "", "quisec", "AvailabilityGroup content has it"
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil)}
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "content has it", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreRefused},
		{why: "a refusal that no server heard of is over", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			ended(d, v1alpha1.RestoreRefused)
			d.Restore.Status.Server = ""
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil)}
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreRefused},
		{why: "then the primary's agent is told", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
		}, steps: []string{"tell quisec-0 to restore"}, reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestorePending,
			at: "quisec"},
		{why: "another has become primary before anybody was told", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Moved = "tukpub"
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil),
				Says: reconcile.Read[*restores.Status](nil)}
		}, reason: v1alpha1.ReasonRestoring, says: "tukpub-0 has become primary", phase: v1alpha1.RestorePending,
			at: "tukpub"},
		{why: "what its agent was given is taken back first", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Moved = "tukpub"
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read([]string{"CREATE ANY DATABASE"}),
				Says: reconcile.Read[*restores.Status](nil)}
		}, steps: []string{"REVOKE CREATE ANY DATABASE FROM [geosql_agent]"}, reason: v1alpha1.ReasonRestoring,
			says: "quisec-0 is left first", phase: v1alpha1.RestorePending, at: "quisec"},
		{why: "unless another restore needs it", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Moved, d.Others = "tukpub", []string{"other"}
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read([]string{"CREATE ANY DATABASE"}),
				Says: reconcile.Read[*restores.Status](nil)}
		}, reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestorePending, at: "tukpub"},
		{why: "or the former one does not say what it may", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Moved = "tukpub"
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.NotRead[[]string](away),
				Says: reconcile.NotRead[*restores.Status](away)}
		}, reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestorePending, at: "tukpub"},
		{why: "another has become primary meanwhile", edit: func(d *Desired, _ *Observed) {
			toGroup(d)
			d.Moved = "tukpub"
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "is in no group, and stays", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreFailed, at: "quisec"},
		{why: "another has become primary, and the former one does not answer", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			d.Moved = "tukpub"
			*o = Observed{Order: reconcile.NotRead[[]byte](away), Rights: reconcile.NotRead[[]string](away),
				Says: reconcile.NotRead[*restores.Status](away)}
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "tukpub-0 has become primary", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreFailed, at: "quisec"},
		{why: "what is restored for a group becomes the operator's", edit: func(d *Desired, o *Observed) {
			toGroup(d)
			ended(d, v1alpha1.RestoreSucceeded)
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil),
				Owner: reconcile.Read("geosql_agent"), Places: ownPlaces()}
		}, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content] TO [geosql_operator]"},
			reason: v1alpha1.ReasonRestoreFinishing, phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded,
			at: "quisec"},
		{why: "what is restored for a server that declares it becomes the operator's", edit: func(d *Desired, o *Observed) {
			d.Kept = true
			ended(d, v1alpha1.RestoreSucceeded)
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil),
				Owner: reconcile.Read("geosql_agent"), Places: ownPlaces()}
		}, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content] TO [geosql_operator]"},
			reason: v1alpha1.ReasonRestoreFinishing, phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "a part of it alone does not", edit: func(d *Desired, o *Observed) {
			d.Kept = true
			ended(d, v1alpha1.RestoreFailed)
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil),
				Owner: reconcile.Read("geosql_agent"), State: "ONLINE", Places: ownPlaces()}
		}, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content] TO [sa]"},
			reason: v1alpha1.ReasonRestoreFinishing, phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreFailed},
		{why: "nobody knows what was told", edit: func(_ *Desired, o *Observed) {
			o.Order = reconcile.NotRead[[]byte](away)
		}, reason: v1alpha1.ReasonRestoreUnknown, phase: v1alpha1.RestoreRunning},
		{why: "it is restored", reason: v1alpha1.ReasonRestoring, says: "restoring: 1 of 3 sets",
			phase: v1alpha1.RestoreRunning},
		{why: "a step fails", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step, says.Failing = restores.Downloading, "access denied"
		}, reason: v1alpha1.ReasonRestoring, says: "downloading: 30 of 30 bytes, 3 sets; it is tried again: access denied",
			phase: v1alpha1.RestoreRunning},
		{why: "it is checked", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step = restores.Checking
		}, reason: v1alpha1.ReasonRestoring, says: "checking the database", phase: v1alpha1.RestoreRunning},
		{why: "the agent is a user of what it restored", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step, says.Denied = restores.Checking, true
			o.User = reconcile.Read(&mssql.UserState{Login: "geosql_agent", Roles: []string{"db_backupoperator"}})
		}, steps: []string{"ALTER ROLE [db_owner] ADD MEMBER [geosql_agent]"}, reason: v1alpha1.ReasonRestoring,
			phase: v1alpha1.RestoreRunning},
		{why: "the agent's user in what it restored has another login", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step, says.Denied = restores.Checking, true
			o.User = reconcile.Read(&mssql.UserState{Roles: []string{"db_owner"}})
		}, steps: []string{"ALTER USER [geosql_agent] WITH LOGIN = [geosql_agent]"}, reason: v1alpha1.ReasonRestoring,
			phase: v1alpha1.RestoreRunning},
		{why: "nobody knows whether the agent is a user of what it restored", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step, says.Denied = restores.Checking, true
			o.User = reconcile.NotRead[*mssql.UserState](away)
		}, reason: v1alpha1.ReasonRestoring, says: "cannot be read: nobody answers", phase: v1alpha1.RestoreRunning},
		{why: "the agent leaves the role once it has checked", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Spec.Check, o.Owner, o.State = true, reconcile.Read("sa"), "ONLINE"
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			o.Rights = reconcile.Read[[]string](nil)
			o.User = reconcile.Read(&mssql.UserState{Login: "geosql_agent", Roles: []string{"db_owner"}})
		}, steps: []string{"ALTER ROLE [db_owner] DROP MEMBER [geosql_agent]"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "nobody knows whether the agent has the role still", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Spec.Check, o.Owner, o.State = true, reconcile.Read("sa"), "ONLINE"
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			o.Rights, o.User = reconcile.Read[[]string](nil), reconcile.NotRead[*mssql.UserState](away)
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "cannot be taken back yet", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreSucceeded},
		{why: "the agent is not the owner of what it restored", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Step, says.Denied, o.User = restores.Checking, true, reconcile.Read[*mssql.UserState](nil)
		}, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content] TO [geosql_agent]"},
			reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestoreRunning},
		{why: "the check found something", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			d.Restore.Status.Reason, o.Owner = v1alpha1.ReasonCheckFailed, reconcile.Read("geosql_agent")
			o.State = "ONLINE"
		}, steps: []string{"REVOKE CREATE ANY DATABASE FROM [geosql_agent]", "ALTER AUTHORIZATION ON DATABASE::[Content]",
			"tell quisec-0 that the restore is no more"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreFailed},
		{why: "an agent of an earlier release has checked nothing", edit: func(d *Desired, o *Observed) {
			d.Restore.Spec.Check = true
			says, _ := o.Says.Get()
			says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is so",
				Finished: noon}
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "which checks nothing", phase: v1alpha1.RestoreFinishing,
			outcome: v1alpha1.RestoreFailed},
		{why: "what is to be discarded is not before its agent has ended", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Spec.Discard, d.Restore.Spec.Check = true, true
			o.Owner, o.State, o.Rights = reconcile.Read("sa"), "ONLINE", reconcile.Read[[]string](nil)
			o.Places = reconcile.Read(placesOf("/data/Content-u1.mdf"))
		}, steps: []string{"tell quisec-0 that the restore is no more"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "what is to be discarded is dropped", edit: func(d *Desired, o *Observed) {
			discarding(d, o, "/data/Content-u1.mdf", `C:\log\Content-u1.ldf`)
		}, steps: []string{"DROP DATABASE IF EXISTS [Content]"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "what is to be discarded is no more", edit: func(d *Desired, o *Observed) {
			discarding(d, o)
			o.Places = reconcile.Read[*mssql.DatabasePlaces](nil)
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "what is not the Restore's is not dropped", edit: func(d *Desired, o *Observed) {
			discarding(d, o, "/data/Content-u1.mdf", "/data/u1/Content.ldf")
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "nobody knows whose it is", edit: func(d *Desired, o *Observed) { discarding(d, o) },
			reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "nothing is dropped that was not looked at", edit: func(d *Desired, o *Observed) {
			discarding(d, o)
			o.Places = reconcile.NotRead[*mssql.DatabasePlaces](away)
		}, reason: v1alpha1.ReasonRestoreFinishing,
			says: "cannot be taken back yet", phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "another Restore's database of the name is not handed over, nor is the agent's role there taken",
			edit: func(d *Desired, o *Observed) {
				taking(d, o)
				o.Places = otherPlaces()
			}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "nobody knows whose the database is that would be handed over", edit: func(d *Desired, o *Observed) {
			taking(d, o)
			o.Places = reconcile.NotRead[*mssql.DatabasePlaces](away)
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "cannot be taken back yet: nobody answers",
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "a secondary's copy is written to by nobody, nor read", edit: func(d *Desired, o *Observed) {
			taking(d, o)
			o.Secondary, o.User = true, reconcile.NotRead[*mssql.UserState](errors.New("976"))
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "of one that replaces it is known first under which name the database stands",
			edit: func(d *Desired, o *Observed) {
				taking(d, o)
				d.Restore.Spec.Replace, o.Owner, o.State = "Content", reconcile.Read(""), ""
				o.Stands = reconcile.NotRead[standing](away)
			}, reason: v1alpha1.ReasonRestoreFinishing, says: "cannot be taken back yet: nobody answers",
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "other credentials", edit: func(d *Desired, _ *Observed) { d.Order.Stores[0].SecretKey = "secret of today" },
			steps: []string{"tell quisec-0 to restore"}, reason: v1alpha1.ReasonRestoring, phase: v1alpha1.RestoreRunning},
		{why: "the agent is silent", edit: func(_ *Desired, o *Observed) {
			o.Says = reconcile.NotRead[*restores.Status](away)
		}, reason: v1alpha1.ReasonRestoreUnknown, says: "nobody answers", phase: v1alpha1.RestoreRunning},
		{why: "the outcome is written down before anything is taken back", edit: func(_ *Desired, o *Observed) {
			says, _ := o.Says.Get()
			says.Result = &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is so",
				Finished: noon}
		}, reason: v1alpha1.ReasonRestoreFinishing, phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "then everything is taken back, the order last", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			o.Owner = reconcile.Read("geosql_agent")
		}, steps: []string{"REVOKE CREATE ANY DATABASE FROM [geosql_agent]", "ALTER AUTHORIZATION ON DATABASE::[Content]",
			"tell quisec-0 that the restore is no more"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreSucceeded},
		{why: "a database of which a part was restored is the agent's no more", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			o.Rights, o.Owner = reconcile.Read[[]string](nil), reconcile.Read("geosql_agent")
			o.State = "ONLINE"
		}, steps: []string{"ALTER AUTHORIZATION ON DATABASE::[Content]"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreFailed},
		{why: "nobody else can own one that is RESTORING", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			o.Rights, o.Owner, o.State = reconcile.Read[[]string](nil), reconcile.Read("geosql_agent"), "RESTORING"
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreFailed},
		{why: "another restore needs the right", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			d.Others = []string{"other"}
		}, steps: []string{"tell quisec-0 that the restore is no more"}, reason: v1alpha1.ReasonRestoreFinishing,
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreFailed},
		{why: "the server does not say what the agent may", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			o.Order, o.Says = reconcile.Read[[]byte](nil), reconcile.Read[*restores.Status](nil)
			o.Rights = reconcile.NotRead[[]string](away)
		}, reason: v1alpha1.ReasonRestoreFinishing, says: "cannot be taken back yet: nobody answers",
			phase: v1alpha1.RestoreFinishing, outcome: v1alpha1.RestoreFailed},
		{why: "all is taken back", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			*o = Observed{Order: reconcile.Read[[]byte](nil), Rights: reconcile.Read[[]string](nil), Owner: reconcile.Read("sa"),
				Places: ownPlaces()}
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "after a dry run nothing is but the order", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreSucceeded)
			d.Restore.Spec.DryRun = true
			*o = Observed{Order: reconcile.Read[[]byte](nil)}
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreSucceeded},
		{why: "a record", edit: func(d *Desired, o *Observed) {
			ended(d, v1alpha1.RestoreFailed)
			d.Restore.Status.Phase = v1alpha1.RestoreCompleted
			*o = Observed{}
		}, reason: v1alpha1.ReasonRestored, phase: v1alpha1.RestoreCompleted, outcome: v1alpha1.RestoreFailed},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d, o := desired(), observed(t)
			if row.edit != nil {
				row.edit(&d, &o)
			}
			p := plan(d, o)
			g.Expect(p.Outcome.Reason).To(Equal(row.reason), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring(row.says))
			g.Expect(p.Steps).To(HaveLen(len(row.steps)))
			for i, s := range p.Steps {
				g.Expect(s.Describe()).To(And(ContainSubstring(row.steps[i]), Not(ContainSubstring("secret"))))
			}
			s := reported(d, o, p, metav1.NewTime(noon))
			g.Expect(s.Phase).To(Equal(row.phase))
			g.Expect(s.Outcome).To(Equal(row.outcome))
			if row.at != "" {
				g.Expect(s.Server).To(Equal(row.at))
			}
		})
	}
}

func TestReported(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t)
	says, _ := o.Says.Get()
	says.Result = &restores.Result{Outcome: restores.Failed, Reason: v1alpha1.ReasonEngineRefused,
		Message: strings.Repeat("ä", 3000), Finished: noon.Add(time.Hour)}
	s := reported(d, o, plan(d, o), metav1.NewTime(noon))
	g.Expect(s.Chain).To(HaveLen(1))
	g.Expect(s.Chain[0]).To(And(HaveField("Type", "Full"), HaveField("LastLSN", "2"), HaveField("Bytes", int64(10))))
	g.Expect(s.RestoredTo.Time.Time).To(Equal(noon.Add(-time.Minute)))
	g.Expect(s.Finished.Time).To(Equal(noon.Add(time.Hour)))
	g.Expect(len(s.Message)).To(Equal(4096))
	g.Expect(s).To(And(HaveField("Sets", int32(3)), HaveField("RestoredSets", int32(1)), HaveField("Bytes", int64(30)),
		HaveField("DownloadedBytes", int64(30)), HaveField("Outcome", v1alpha1.RestoreFailed),
		HaveField("Reason", v1alpha1.ReasonEngineRefused), HaveField("Database", "Content")))
}

func TestPlanDelete(t *testing.T) {
	g := NewWithT(t)
	d, o := desired(), observed(t)
	d.Restore.DeletionTimestamp = &metav1.Time{Time: noon}
	o.Owner = reconcile.Read("sa")
	p := planDelete(d, o)
	g.Expect(p.Done).To(BeFalse(), "the agent hears of it first")
	g.Expect(p.Steps).To(HaveLen(2))
	mark := p.Steps[0].(Tell)
	g.Expect(mark.Withdrawn).To(BeTrue())
	g.Expect(mark.Order).NotTo(ContainSubstring("secret"))
	g.Expect(p.Steps[1].Describe()).To(ContainSubstring("REVOKE CREATE ANY DATABASE"))
	o.Order, o.Rights = reconcile.Read(mark.Order), reconcile.Read[[]string](nil)
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeFalse(), "it has not ended it yet")
	g.Expect(p.Steps).To(BeEmpty())
	o.Says = reconcile.NotRead[*restores.Status](errors.New("nobody answers"))
	g.Expect(planDelete(d, o).Done).To(BeFalse())
	o.Says = reconcile.Read[*restores.Status](nil)
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Steps).To(HaveExactElements(Tell{Server: "quisec"}))
	o.Owner, o.State = reconcile.Read("geosql_agent"), "ONLINE"
	d.Restore.Status.Database = "Content"
	g.Expect(planDelete(d, o).Steps).To(HaveLen(2), "it was recovered when it was deleted")
	lost := observed(t)
	lost.Order = reconcile.Read[[]byte](nil)
	g.Expect(planDelete(d, lost).Steps[0]).To(Equal(mark), "somebody deleted the Secret")
	o = observed(t)
	d.Others = []string{"other"}
	g.Expect(planDelete(d, o).Steps).To(HaveLen(1))
	o = Observed{Order: reconcile.NotRead[[]byte](errors.New("nobody answers"))}
	p = planDelete(d, o)
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("quisec-0 does not answer"))
}

// What a Restore that has ended needed at a server that nobody expects back is not waited for.
func TestWhatHasEndedDoesNotWaitForAServerThatIsGone(t *testing.T) {
	away := errors.New("nobody answers")
	for _, row := range []struct {
		why  string
		gone sites.Gone
		edit func(*Observed)
		over bool
	}{
		{why: "it is declared lost", over: true,
			gone: sites.GoneFor(map[v1alpha1.ServerName]string{"quisec": "Site quincy is declared lost"})},
		{why: "it is not declared any more", over: true, gone: sites.GoneFor(map[v1alpha1.ServerName]string{"tukpub": ""})},
		{why: "it is expected back", gone: sites.GoneFor(map[v1alpha1.ServerName]string{"quisec": ""})},
		{why: "nobody looked"},
		{why: "it answers all the same", gone: sites.GoneFor(map[v1alpha1.ServerName]string{"tukpub": ""}),
			edit: func(o *Observed) { *o = observed(t); o.Owner = reconcile.Read("sa") }},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d := desired()
			ended(&d, v1alpha1.RestoreSucceeded)
			d.Gone = row.gone
			o := Observed{Order: reconcile.NotRead[[]byte](away), Says: reconcile.NotRead[*restores.Status](away),
				Rights: reconcile.NotRead[[]string](away), Owner: reconcile.NotRead[string](away)}
			if row.edit != nil {
				row.edit(&o)
			}
			p := plan(d, o)
			s := reported(d, o, p, metav1.NewTime(noon))
			g.Expect(s.Phase == v1alpha1.RestoreCompleted).To(Equal(row.over), p.Outcome.Message)
			if row.over {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRestored))
				return
			}
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRestoreFinishing))
		})
	}
}
