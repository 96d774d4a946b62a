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
	// Withdrawn says that the order is the mark by which it ends.
	Withdrawn bool
}

// Describe names the server; an order has credentials.
func (s Tell) Describe() string {
	switch {
	case s.Order == nil:
		return "tell " + credentials.HostName(s.Server) + " nothing of the restore any more"
	case s.Withdrawn:
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
	case d.Missing != "" && !known(d, o):
		p.Outcome = conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.Missing)
		if d.Lost {
			p.Outcome.Message += ", at which the database was to be restored: unless it is declared again, delete this " +
				"Restore and make another, which goes to the group's primary of then"
		}
		return p
	}
	told, err := o.Order.Get()
	refused := d.Refused != "" && err == nil && len(told) == 0
	if !refused && planGroup(&p, d, o, err == nil && len(told) == 0) {
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
	case len(told) == 0 && !known(d, o) && planRefuse(&p, d, o):
		return p
	case d.Refused == "" && d.Missing == "":
		planTell(&p, d, o, told)
	}
	planSays(&p, d, o)
	if locked := planKeys(&p, d, o); locked != "" {
		p.Outcome = conditions.InProgress(v1alpha1.ReasonKeyAwaited, locked)
	}
	if d.Missing != "" && p.Note == nil {
		p.Outcome.Message += "; " + d.Missing
	}
	return p
}

// known says that the agent was told, or may have been: what is missing since keeps nothing from its end.
func known(d Desired, o Observed) bool {
	told, unread := o.Order.Get()
	says, silent := o.Says.Get()
	return len(told) > 0 || says != nil ||
		d.Restore.Status.Phase == v1alpha1.RestoreRunning && (unread != nil || silent != nil)
}

// planTell gives the agent the right, and then the order.
func planTell(p *reconcile.Plan, d Desired, o Observed, told []byte) {
	order, err := d.Order.Encode()
	if err != nil {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonRestoreRefused, err.Error())
		return
	}
	if rights, err := o.Rights.Get(); d.Restore.Spec.AsksEngine() && err == nil &&
		!slices.Contains(rights, string(tsql.CreateAnyDatabase)) {
		execute(p, d, tsql.GrantServerPermission(tsql.CreateAnyDatabase, credentials.RoleAgent.Login()).
			Because("the server's agent restores a database, which is its own until it is ONLINE, or asks what files have"))
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
	case errors.Is(err, errUnread):
		// As long as there are no orders at all, too: the first ones are told now.
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, "the agent of "+host+" has not read its orders yet")
	case err != nil:
		p.Outcome = conditions.Unknown(v1alpha1.ReasonRestoreUnknown, fmt.Sprintf("the agent of %s does not answer: %v", host,
			err))
	case says == nil:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, "the agent of "+host+" has not heard of it yet; one of "+
			"an earlier release cannot restore")
	case says.Result != nil && unchecked(d, says):
		message := says.Result.Message + "; the agent of " + host + " is of an earlier release, which checks nothing"
		p.Note = end{v1alpha1.RestoreFailed, v1alpha1.ReasonCheckFailed, message}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, message)
	case says.Result != nil && says.Result.Outcome == restores.Succeeded && d.replaces():
		if d.Restore.Spec.DryRun {
			planWouldReplace(p, d, o, says.Result)
		} else {
			planReplace(p, d, o)
		}
	case says.Result != nil:
		p.Note = end{v1alpha1.RestoreOutcome(says.Result.Outcome), says.Result.Reason, says.Result.Message}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, says.Result.Message)
	default:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, progress(says))
		planCheck(p, d, o, says)
	}
	if err := o.Rights.Err(); err != nil && d.Restore.Spec.AsksEngine() && p.Note == nil {
		p.Outcome.Message += "; whether the agent has the right to cannot be read: " + err.Error()
	}
}

func progress(s *restores.Status) string {
	text := s.Step
	switch s.Step {
	case restores.Downloading:
		text = fmt.Sprintf("downloading: %d of %d bytes, %d sets", s.Downloaded, s.Bytes, s.Sets)
		if s.Sets == 0 {
			text = fmt.Sprintf("downloading the files, to look into them: %d of %d bytes", s.Downloaded, s.Bytes)
		}
	case restores.Restoring:
		text = fmt.Sprintf("restoring: %d of %d sets", s.Restored, s.Sets)
	case restores.Choosing:
		text = "looking for the backups"
	case restores.Checking:
		text = "checking the database"
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
	if given(d, o) {
		planHand(p, d, o, "the server's agent has restored the database, and owns it no more")
	}
	left := planLeave(p, d, o)
	withdrawn, err := planWithdraw(p, d, o)
	unread := []error{err, left}
	if d.Restore.Spec.AsksEngine() {
		unread = append(unread, o.Rights.Err())
	}
	if hands(d) && s.Database != "" {
		unread = append(unread, o.Owner.Err(), o.Places.Err())
	}
	if hands(d) && d.replaces() {
		unread = append(unread, o.Stands.Err())
	}
	if discards(d) {
		unread = append(unread, o.Places.Err())
	}
	if err := errors.Join(unread...); err != nil {
		if d.Gone.Why(d.server()) != "" { // nobody expects it back
			p.Note, p.Outcome = v1alpha1.RestoreCompleted, outcome(s)
			return
		}
		p.Outcome.Message += "; what it needed cannot be taken back yet: " + err.Error()
		return
	}
	if withdrawn && planDiscard(p, d, o) && len(p.Steps) == 0 {
		p.Note = v1alpha1.RestoreCompleted
		p.Outcome = outcome(s)
	}
}

// becomes is who owns the database then. What the operator owns a group, or a server that declares it, takes up as what
// it made itself.
func becomes(d Desired) credentials.Role {
	if (d.Restore.Spec.Target.AvailabilityGroup != "" || d.Kept) &&
		d.Restore.Status.Outcome == v1alpha1.RestoreSucceeded {
		return credentials.RoleOperator
	}
	return credentials.RoleSA
}

// given says that the database is to be the agent's no more. While it is RESTORING the engine gives it to nobody.
func given(d Desired, o Observed) bool {
	return d.Restore.Status.Outcome == v1alpha1.RestoreSucceeded ||
		d.Restore.Status.Outcome != v1alpha1.RestoreRefused && o.State == "ONLINE"
}

// planWithdraw ends the order by a mark, by which the agent ends what it has begun; once it says nothing of the Restore
// any more the mark goes. It says whether that is all; the error is what cannot be read.
func planWithdraw(p *reconcile.Plan, d Desired, o Observed) (all bool, err error) {
	told, err := o.Order.Get()
	if err != nil {
		return false, err
	}
	mark, err := marked(d)
	if err != nil {
		return false, err
	}
	says, silent := o.Says.Get()
	lost := silent != nil && d.Restore.Status.Phase == v1alpha1.RestoreRunning
	switch {
	case bytes.Equal(told, mark) && (silent != nil || says != nil):
		return false, silent
	case bytes.Equal(told, mark) && o.Untold && (o.UntoldSince.IsZero() || d.Now.Sub(o.UntoldSince) < untoldFor):
		return false, nil
	case bytes.Equal(told, mark):
		p.Add(Tell{Server: d.server()})
	case len(told) > 0 || says != nil || lost:
		p.Add(Tell{Server: d.server(), Order: mark, Withdrawn: true})
		return false, nil
	}
	return true, nil
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
	if d.over() && !discards(d) { // all was taken back, or left to a server that is gone
		p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "the restore is over; the database stays as it is")
		return p
	}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "the server is told that the restore is no more; the "+
		"database stays as it is")
	withdrawn, err := planWithdraw(&p, d, o)
	planRights(&p, d, o)
	if o.State == "ONLINE" {
		planHand(&p, d, o, "the Restore of the database is deleted")
	}
	err = errors.Join(err, planLeaveNamed(&p, d, o))
	err = errors.Join(err, planLeave(&p, d, o))
	if d.Restore.Spec.AsksEngine() {
		err = errors.Join(err, o.Rights.Err())
	}
	if !d.Restore.Spec.DryRun {
		err = errors.Join(err, o.Owner.Err())
	}
	if hands(d) && d.replaces() {
		err = errors.Join(err, o.Stands.Err())
	}
	if hands(d) || discards(d) {
		err = errors.Join(err, o.Places.Err())
	}
	switch why := d.Gone.Why(d.server()); {
	case err == nil:
		p.Done = withdrawn && planDiscard(&p, d, o)
	case why != "":
		p.Leave("the order of Restore %s and the rights of the agent at %s: %s", d.Restore.Name,
			credentials.HostName(d.server()), why)
	default:
		p.Done = false
		p.Outcome.Message += fmt.Sprintf("; %s does not answer: %v", credentials.HostName(d.server()), err)
	}
	return p
}
