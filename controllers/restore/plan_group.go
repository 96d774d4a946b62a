// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// pin is the plan's note that a Restore to a group is carried out at this server. It is written down before the server
// hears of it: two servers of a group must never be told.
type pin struct{ server v1alpha1.ServerName }

// planGroup chooses the server of a Restore to a group, and ends one whose server is the group's primary no more: what
// is there of the database is in no group, and stays. It is not begun anew by itself, since nobody but a person can
// tell whether the first copy is wanted. One that is known to be told to no agent yet (untold) goes to the new
// primary. The answer says whether that is all for now.
func planGroup(p *reconcile.Plan, d Desired, o Observed, untold bool) bool {
	switch {
	case d.Pin != "":
		p.Note = pin{d.Pin}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, fmt.Sprintf("it is restored at %s, primary of "+
			"AvailabilityGroup %s", credentials.HostName(d.Pin), d.Restore.Spec.Target.AvailabilityGroup))
		return true
	case d.Moved != "" && untold && planLeaving(p, d, o):
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, fmt.Sprintf("%s has become primary before anything was "+
			"begun: %s is left first", credentials.HostName(d.Moved), credentials.HostName(d.server())))
		return true
	case d.Moved != "" && untold:
		p.Note = pin{d.Moved}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoring, fmt.Sprintf("%s has become primary before anything was "+
			"begun: it is restored there", credentials.HostName(d.Moved)))
		return true
	case d.Moved != "" && planOpens(p, d, o):
		return true
	case d.Moved != "":
		message := fmt.Sprintf("%s has become primary of AvailabilityGroup %s while %s restored database %s. What is there "+
			"of it is in no group, and stays: see that nobody needs it, and drop it there (the names of its files have the UID "+
			"%s). Then another Restore brings it to the new primary", credentials.HostName(d.Moved),
			d.Restore.Spec.Target.AvailabilityGroup, credentials.HostName(d.server()), d.Restore.Spec.DatabaseName(),
			d.Restore.UID)
		if d.replaces() {
			message += ". " + standsWhat(d, o)
		}
		p.Note = end{v1alpha1.RestoreFailed, v1alpha1.ReasonPrimaryMoved, message}
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, message)
		return true
	}
	return false
}

// planLeaving takes back what the agent of a server was given that was never told, and says whether it does: nothing
// remembers that server once another is written down. One that does not answer holds up no restore.
func planLeaving(p *reconcile.Plan, d Desired, o Observed) bool {
	planRights(p, d, o)
	return len(p.Steps) > 0
}
