// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// Tell tells a server's sidecar to restore.
type Tell struct {
	Server v1alpha1.ServerName
	// Order is nil to tell it nothing any more.
	Order []byte
}

// Describe names the server; an order has credentials.
func (s Tell) Describe() string {
	if s.Order == nil {
		return "tell " + credentials.HostName(s.Server) + " that the restore is no more"
	}
	return "tell " + credentials.HostName(s.Server) + " to restore"
}

// end is how a Restore ended, as the plan's note.
type end struct {
	outcome         v1alpha1.RestoreOutcome
	reason, message string
}

// plan tells the server, gives its agent the right to make a database, and takes back what it gave once the outcome is
// written down. It is pure.
func plan(d Desired, o Observed) reconcile.Plan {
	var p reconcile.Plan
	s := d.Restore.Status
	switch {
	case d.over():
		p.Outcome = outcome(s)
		return p
	case s.Outcome != "":
		planFinish(&p, d, o)
		return p
	case d.Missing != "":
		p.Outcome = conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.Missing)
		return p
	}
	told, err := o.Order.Get()
	refused := d.Refused != "" && err == nil && len(told) == 0
	if !refused && planGroup(&p, d, err == nil && len(told) == 0) {
		return p
	}
	switch {
	case err != nil:
		p.Outcome = conditions.Unknown(v1alpha1.ReasonRestoreUnknown, "what the agent of "+
			credentials.HostName(d.server())+" was told cannot be read: "+err.Error())
		return p
	case refused:
		p.Note = end{v1alpha1.RestoreRefused, v1alpha1.ReasonRestoreRefused, d.Refused}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, d.Refused)
		return p
	case d.Refused == "":
		planTell(&p, d, o, told)
	}
	planSays(&p, d, o)
	return p
}

// planTell gives the agent the right, and then the order.
func planTell(p *reconcile.Plan, d Desired, o Observed, told []byte) {
	order, err := d.Order.Encode()
	if err != nil {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonRestoreRefused, err.Error())
		return
	}
	if rights, err := o.Rights.Get(); !d.Restore.Spec.DryRun && err == nil &&
		!slices.Contains(rights, string(tsql.CreateAnyDatabase)) {
		execute(p, d, tsql.GrantServerPermission(tsql.CreateAnyDatabase, credentials.RoleAgent.Login()).
			Because("the server's agent restores a database, which is its own until it is ONLINE"))
	}
	if !bytes.Equal(told, order) {
		p.Add(Tell{Server: d.server(), Order: order})
	}
}

// planSays is what the agent says.
func planSays(p *reconcile.Plan, d Desired, o Observed) {
	host := credentials.HostName(d.server())
	says, err := o.Says.Get()
	switch {
	case err != nil:
		p.Outcome = conditions.Unknown(v1alpha1.ReasonRestoreUnknown, fmt.Sprintf("the agent of %s does not answer: %v", host,
			err))
	case says == nil:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, "the agent of "+host+" has not heard of it yet; one of "+
			"an earlier release cannot restore")
	case says.Result != nil:
		p.Note = end{v1alpha1.RestoreOutcome(says.Result.Outcome), says.Result.Reason, says.Result.Message}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, says.Result.Message)
	default:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, progress(says))
	}
	if err := o.Rights.Err(); err != nil && !d.Restore.Spec.DryRun && p.Note == nil {
		p.Outcome.Message += "; whether the agent has the right to cannot be read: " + err.Error()
	}
}

func progress(s *restores.Status) string {
	text := s.Step
	switch s.Step {
	case restores.Downloading:
		text = fmt.Sprintf("downloading: %d of %d bytes, %d sets", s.Downloaded, s.Bytes, s.Sets)
	case restores.Restoring:
		text = fmt.Sprintf("restoring: %d of %d sets", s.Restored, s.Sets)
	case restores.Choosing:
		text = "looking for the backups"
	case restores.Recovering:
		text = "recovering the database"
	}
	if s.Failing != "" {
		text += "; it is tried again: " + s.Failing
	}
	return text
}

// planFinish takes back what a Restore needed that has ended: the database is the agent's no more, nor has it the right
// to make any, unless another Restore needs it; and the order goes. Then it is over.
func planFinish(p *reconcile.Plan, d Desired, o Observed) {
	s := d.Restore.Status
	p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, s.Message)
	planRights(p, d, o)
	agent, becomes := credentials.RoleAgent.Login(), credentials.RoleSA
	if d.Restore.Spec.Target.AvailabilityGroup != "" {
		// What the operator owns the group takes up, as what it made itself.
		becomes = credentials.RoleOperator
	}
	if owner, err := o.Owner.Get(); err == nil && owner == agent && s.Outcome == v1alpha1.RestoreSucceeded {
		execute(p, d, tsql.SetDatabaseOwner(s.Database, becomes.Login()).
			Because("the server's agent has restored the database, and owns it no more"))
	}
	told, err := o.Order.Get()
	if err == nil && len(told) > 0 {
		p.Add(Tell{Server: d.server()})
	}
	unread := []error{err}
	if !d.Restore.Spec.DryRun {
		unread = append(unread, o.Rights.Err())
	}
	if !d.Restore.Spec.DryRun && s.Outcome == v1alpha1.RestoreSucceeded {
		unread = append(unread, o.Owner.Err())
	}
	if err := errors.Join(unread...); err != nil {
		p.Outcome.Message += "; what it needed cannot be taken back yet: " + err.Error()
		return
	}
	if len(p.Steps) == 0 {
		p.Note = v1alpha1.RestoreCompleted
		p.Outcome = outcome(s)
	}
}

// planRights takes the agent's right back.
func planRights(p *reconcile.Plan, d Desired, o Observed) {
	rights, err := o.Rights.Get()
	if err != nil || len(d.Others) > 0 || !slices.Contains(rights, string(tsql.CreateAnyDatabase)) {
		return
	}
	agent := credentials.RoleAgent.Login()
	p.Destroy(reconcile.Seen("no other Restore to the server is under way", o.Rights.Err()),
		step(d, tsql.RevokeServerPermission(tsql.CreateAnyDatabase, agent).Because("no restore is under way")))
}

func execute(p *reconcile.Plan, d Desired, s tsql.Statement) { p.Add(step(d, s)) }

// step runs as sa: rights take more than the operator's login has.
func step(d Desired, s tsql.Statement) mssql.Execute {
	return mssql.Execute{Server: d.server(), Database: "master", Role: credentials.RoleSA, Statement: s}
}

// outcome of a Restore that has ended, as kstatus reads it: one that succeeded is Ready, one that did not is Stalled,
// since it changes no more.
func outcome(s v1alpha1.RestoreStatus) conditions.Outcome {
	if s.Outcome == v1alpha1.RestoreSucceeded {
		return conditions.Ready(s.Reason, s.Message)
	}
	return conditions.Stalled(s.Reason, s.Message)
}

// planDelete withdraws the order of a Restore that is deleted. A database that is being restored stays as it is.
func planDelete(d Desired, o Observed) reconcile.Plan {
	p := reconcile.Plan{Done: true}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "the server is told that the restore is no more; the "+
		"database stays as it is")
	told, err := o.Order.Get()
	if len(told) > 0 {
		p.Add(Tell{Server: d.server()})
	}
	planRights(&p, d, o)
	if !d.Restore.Spec.DryRun {
		err = errors.Join(err, o.Rights.Err())
	}
	switch why := d.Gone.Why(d.server()); {
	case err == nil:
	case why != "":
		p.Leave("the order of Restore %s and the rights of the agent at %s: %s", d.Restore.Name,
			credentials.HostName(d.server()), why)
	default:
		p.Done = false
		p.Outcome.Message += fmt.Sprintf("; %s does not answer: %v", credentials.HostName(d.server()), err)
	}
	return p
}
