// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// copiesPatience is how long the end of a Restore waits for servers of the group that do not answer, or have not heard
// yet that the former database left: without the group, what takes the place has no copy.
const copiesPatience = 2 * time.Minute

// Notes of the plan: the name of what makes way, which is written down before anything is renamed; and that the
// restored database was seen to have its place.
type (
	makesWay struct{ database string }
	swapped  struct{}
)

// planReplace lets the restored database take the place of the former one: that leaves its group, is renamed, and the
// restored one gets its name. Before each of these the restored one was seen ONLINE beside it. Each step is told by
// what stands there, so that it goes on wherever a manager ended.
func planReplace(p *reconcile.Plan, d Desired, o Observed) {
	s, err := o.Stands.Get()
	if err != nil {
		p.Outcome = conditions.Unknown(v1alpha1.ReasonRestoreUnknown, fmt.Sprintf("the database is restored; what stands on "+
			"%s cannot be read: %v", credentials.HostName(d.server()), err))
		return
	}
	why := holds(d, s)
	switch {
	case s.swapped():
		planTaken(p, d, o, s)
	case !s.restored() && s.Named == nil && s.Aside != nil:
		if err := planBack(p, d, o, s); err != nil {
			replacing(p, d, err.Error())
			return
		}
		replacing(p, d, "somebody dropped or renamed what was restored, and the former one gets its name back")
	case !s.restored():
		fails(p, d, o, v1alpha1.ReasonRestoreDisturbed, "somebody dropped or renamed what was restored")
	case s.Named != nil && s.Aside != nil:
		fails(p, d, o, v1alpha1.ReasonRestoreDisturbed, "somebody made another database of the name meanwhile")
	case !d.HeldKnown:
		replacing(p, d, "whether something replicates the former one is not known yet")
	case why != "":
		fails(p, d, o, v1alpha1.ReasonReplaceRefused, why)
	case s.Restored.State != "ONLINE":
		replacing(p, d, "what was restored is "+s.Restored.State)
	case offline(s) != "":
		replacing(p, d, offline(s))
	case away(d, s) != "":
		replacing(p, d, away(d, s))
	case s.Named != nil && d.Restore.Status.Replaced == nil:
		p.Note = makesWay{d.Restore.ReplacedName(d.Now)}
		replacing(p, d, "the former one is to be renamed")
	default:
		planSwap(p, d, o, s)
	}
}

// planSwap gives the names. What makes way is taken out of its group first, which renames nothing of its own (1468).
func planSwap(p *reconcile.Plan, d Desired, o Observed, s standing) {
	name, message := string(d.Restore.Spec.Replace), "it gets its name"
	online := reconcile.Seen("what takes its place is ONLINE beside it, in files of this Restore alone", o.Stands.Err())
	if s.Restored.Owner == credentials.RoleAgent.Login() {
		execute(p, d, tsql.SetDatabaseOwner(s.Restored.Name, ownerOf(d, s).Login()).
			Because("the server's agent has restored the database, and owns it no more"))
	}
	if s.Named != nil {
		aside := d.Restore.Status.Replaced.Database
		if s.Named.InGroup {
			p.Destroy(online, step(d, tsql.RemoveGroupDatabase(string(d.Restore.Spec.Target.AvailabilityGroup), name).
				Because("what a Restore has brought takes its place")))
		}
		p.Destroy(online, step(d, tsql.RenameDatabase(name, aside).Because("what a Restore has brought takes its place")))
		message = "the former one is renamed to " + aside
	}
	execute(p, d, tsql.RenameDatabase(s.Restored.Name, name).Because("a Restore asks for it"))
	replacing(p, d, message)
}

// planTaken is of a restored database that has its place. The group's other servers have copies of the former one
// still, over which nothing is seeded: those that certainly are such copies go.
func planTaken(p *reconcile.Plan, d Desired, o Observed, s standing) {
	r := d.Restore.Status.Replaced
	if r != nil && r.At == nil {
		p.Note = swapped{}
		replacing(p, d, "it has its name")
		return
	}
	planAccess(p, d, s)
	var waits, left []string
	if r != nil && s.Aside != nil {
		waits, left = planCopies(p, d, o, s)
	}
	late := r == nil || d.Now.Sub(r.At.Time) >= copiesPatience
	if len(p.Steps) > 0 || len(waits) > 0 && !late {
		replacing(p, d, strings.Join(append([]string{"it has its name, and copies of the former one go"}, waits...), "; "))
		return
	}
	message := fmt.Sprintf("database %s is restored", d.Restore.Spec.Replace)
	if s.Aside != nil {
		message += fmt.Sprintf(". What was there before is %s on %s now, in no group, until somebody drops it", s.Aside.Name,
			credentials.HostName(d.server()))
	}
	if left = append(left, waits...); len(left) > 0 {
		message += ". Left alone, and in the way of a seeding: " + strings.Join(left, "; ")
	}
	p.Note = end{v1alpha1.RestoreSucceeded, v1alpha1.ReasonRestored, message}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, message)
}

// planAccess lets everybody connect again to what a name was to be given, where the server ended within. What somebody
// else had set so, and makes no way yet, stays.
func planAccess(p *reconcile.Plan, d Desired, s standing) {
	for _, x := range []*mssql.Standing{s.Named, s.Restored, s.Aside} {
		if x != nil && x.Access == "SINGLE_USER" && x.State == "ONLINE" && (x.Own || d.Restore.Status.Replaced != nil) {
			execute(p, d, tsql.SetMultiUser(x.Name).Because("the server ended while it was renamed"))
		}
	}
}

// planOpens does so before a Restore ends without the names; it says whether there is anything to do.
func planOpens(p *reconcile.Plan, d Desired, o Observed) bool {
	s, err := o.Stands.Get()
	if err != nil || !d.replaces() || d.Restore.Spec.DryRun {
		return false
	}
	before := len(p.Steps)
	planAccess(p, d, s)
	if len(p.Steps) == before {
		return false
	}
	replacing(p, d, "the server ended within a name, and everybody may connect again first")
	return true
}

// planCopies drops copies of the former database that wait for its log: RESTORING, in no group, and on the recovery
// fork on which it is, so that it has all that they have. It says which servers it waits for, and what it leaves alone.
func planCopies(p *reconcile.Plan, d Desired, o Observed, s standing) (waits, left []string) {
	name := string(d.Restore.Spec.Replace)
	for _, server := range d.Copies {
		host := credentials.HostName(server)
		reading := o.Copies[server]
		have, err := reading.Get()
		switch {
		case err != nil:
			waits = append(waits, fmt.Sprintf("what %s has of it cannot be read: %v", host, err))
		case have == nil:
		case have.InGroup:
			waits = append(waits, host+" has not heard yet that it left the group")
		case have.State == "RESTORING" && have.Fork != "" && have.Fork == s.Aside.Fork:
			p.Destroy(reconcile.Seen(fmt.Sprintf("it waits for the log of %s, which has all that it has", s.Aside.Name),
				o.Stands.Err(), reading.Err()), mssql.Execute{Server: server, Database: "master", Role: credentials.RoleSA,
				Statement: tsql.DropRestoringCopy(name, have.Fork).Because("it is a copy of " + s.Aside.Name)})
		default:
			left = append(left, fmt.Sprintf("%s on %s is %s, and nothing shows that it is a copy of %s", name, host, have.State,
				s.Aside.Name))
		}
	}
	return waits, left
}

// holds says why a database cannot make way; empty for nothing. One that has made way already holds nothing.
func holds(d Desired, s standing) string {
	group := string(d.Restore.Spec.Target.AvailabilityGroup)
	name := d.Restore.Spec.Replace
	switch n := s.Named; {
	case n == nil || n.Own:
		return ""
	case d.Held != "":
		return d.Held
	case n.Published:
		return fmt.Sprintf("database %s is published, or distributes: it cannot be renamed. Drop the publication first", name)
	case n.InGroup && group == "":
		return fmt.Sprintf("database %s is in availability group %s: restore into that one (spec.target.availabilityGroup)",
			name, n.Group)
	case n.InGroup && n.Group != "" && !strings.EqualFold(n.Group, group):
		return fmt.Sprintf("database %s is in availability group %s, not in %s", name, n.Group, group)
	}
	return ""
}

// offline says that what is to make way cannot be renamed in its state; empty where it can.
func offline(s standing) string {
	if n := s.Named; n != nil && !n.Own && n.State != "ONLINE" {
		return fmt.Sprintf("database %s is %s, and only one that is ONLINE can be renamed: bring it ONLINE, or drop it if "+
			"nothing of it is needed", n.Name, n.State)
	}
	return ""
}

// away says why nothing is renamed in a group's place at this server; empty where nothing keeps it.
func away(d Desired, s standing) string {
	group := d.Restore.Spec.Target.AvailabilityGroup
	switch {
	case group == "" || s.Role == "PRIMARY" || s.Role == "" && d.Order.Unmade:
		return ""
	case s.Role == "":
		return fmt.Sprintf("%s has no availability group %s", credentials.HostName(d.server()), group)
	}
	return fmt.Sprintf("%s is %s in availability group %s, and not its primary", credentials.HostName(d.server()), s.Role,
		group)
}

// ownerOf is who owns the restored database: the operator what a group takes up, what a server declares that had none,
// and where it owned the former one.
func ownerOf(d Desired, s standing) credentials.Role {
	former := s.Named
	if former == nil {
		former = s.Aside
	}
	if former == nil && d.Kept {
		return credentials.RoleOperator
	}
	operators := append([]string{credentials.RoleOperator.Login()}, d.Owners...)
	if d.Restore.Spec.Target.AvailabilityGroup != "" || former != nil && slices.Contains(operators, former.Owner) {
		return credentials.RoleOperator
	}
	return credentials.RoleSA
}

func replacing(p *reconcile.Plan, d Desired, how string) {
	p.Outcome = conditions.InProgress(v1alpha1.ReasonReplacing, fmt.Sprintf("the database is restored, and takes the "+
		"place of %s: %s", d.Restore.Spec.Replace, how))
}

// fails ends a Restore whose database does not take the place.
func fails(p *reconcile.Plan, d Desired, o Observed, reason, why string) {
	if planOpens(p, d, o) {
		return
	}
	message := why + ". " + standsWhat(d, o)
	p.Note = end{v1alpha1.RestoreFailed, reason, message}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, message)
}

// standsWhat says for people what stands where; nothing of it is taken away by itself.
func standsWhat(d Desired, o Observed) string {
	host := credentials.HostName(d.server())
	s, err := o.Stands.Get()
	if err != nil {
		return fmt.Sprintf("What stands on %s cannot be read (%v). Look there for %s: none of them is dropped", host, err,
			strings.Join(namesOf(d), ", "))
	}
	var parts []string
	tell := func(what string, x *mssql.Standing) {
		if x == nil {
			return
		}
		part := fmt.Sprintf("%s is %s, %s", x.Name, what, x.State)
		if x.InGroup {
			part += ", in availability group " + x.Group
		}
		parts = append(parts, part)
	}
	named := "the former database"
	if s.swapped() {
		named = "what was restored"
	}
	tell(named, s.Named)
	tell("what was restored", s.Restored)
	tell("the former database", s.Aside)
	if len(parts) == 0 {
		return "On " + host + " is no database of these names"
	}
	return "On " + host + " " + strings.Join(parts, "; ") + ". Nothing was dropped: drop what is not needed, and rename " +
		"the other to " + string(d.Restore.Spec.Replace)
}

// namesOf are the names of a Restore that replaces.
func namesOf(d Desired) []string {
	names := []string{string(d.Restore.Spec.Replace), d.Restore.RestoredName()}
	if r := d.Restore.Status.Replaced; r != nil {
		names = append(names, r.Database)
	}
	return names
}

// planWouldReplace ends a dry run with what would make way.
func planWouldReplace(p *reconcile.Plan, d Desired, o Observed, result *restores.Result) {
	s, err := o.Stands.Get()
	if err != nil {
		p.Outcome = conditions.Unknown(v1alpha1.ReasonRestoreUnknown, fmt.Sprintf("the backups are found; what stands on %s "+
			"cannot be read: %v", credentials.HostName(d.server()), err))
		return
	}
	name, host := d.Restore.Spec.Replace, credentials.HostName(d.server())
	message := result.Message
	switch n := s.Named; {
	case n == nil:
		message += fmt.Sprintf("; %s has no database %s, which would make way", host, name)
	case cannot(d, s) != "":
		message += "; without dryRun it would be refused: " + cannot(d, s)
	default:
		where := "in no group"
		if n.InGroup {
			where = "which would leave availability group " + n.Group
		}
		message += fmt.Sprintf("; it would be restored as %s, and take the place of database %s on %s, %s, which would be "+
			"renamed to one such as %s and stay", d.Restore.RestoredName(), n.Name, host, where, d.Restore.ReplacedName(d.Now))
	}
	p.Note = end{v1alpha1.RestoreOutcome(result.Outcome), result.Reason, message}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, message)
}

// planRefuse ends a Restore of which no agent was told while what is to make way cannot. It says whether it does.
func planRefuse(p *reconcile.Plan, d Desired, o Observed) bool {
	s, err := o.Stands.Get()
	if !d.replaces() || d.Restore.Spec.DryRun || err != nil || cannot(d, s) == "" {
		return false
	}
	p.Note = end{v1alpha1.RestoreRefused, v1alpha1.ReasonRestoreRefused, cannot(d, s)}
	p.Outcome = conditions.InProgress(v1alpha1.ReasonRestoreFinishing, cannot(d, s))
	return true
}

// cannot says why there is no use in beginning. A database that is RECOVERING may be ONLINE by then.
func cannot(d Desired, s standing) string {
	if why := holds(d, s); why != "" || s.Named != nil && s.Named.State == "RECOVERING" {
		return why
	}
	return offline(s)
}

// planBack gives the former database its name back, which nobody has. The error says why it cannot be yet.
func planBack(p *reconcile.Plan, d Desired, o Observed, s standing) error {
	if s.Aside.State != "ONLINE" {
		return fmt.Errorf("what was restored is lost, and %s is %s: only one that is ONLINE can be renamed to %s again",
			s.Aside.Name, s.Aside.State, d.Restore.Spec.Replace)
	}
	p.Destroy(reconcile.Seen("no database has its name, and none that was restored could take it", o.Stands.Err()),
		step(d, tsql.RenameDatabase(s.Aside.Name, string(d.Restore.Spec.Replace)).
			Because("what was to take its place is lost")))
	return nil
}

// planLeaveNamed gives the restored database the name when the Restore is deleted between the two names, or, where that
// one is lost, the former: nobody is left with none, in whose place an empty one could be made.
func planLeaveNamed(p *reconcile.Plan, d Desired, o Observed) error {
	if !d.replaces() || d.Restore.Spec.DryRun || d.server() == "" || d.Restore.Status.Outcome != "" {
		return nil
	}
	s, err := o.Stands.Get()
	if err != nil {
		return err
	}
	planAccess(p, d, s)
	switch {
	case s.Named != nil || s.Aside == nil:
	case !s.restored():
		return planBack(p, d, o, s)
	case s.Restored.State != "ONLINE":
		return fmt.Errorf("no database is named %s, and %s, which is to be, is %s", d.Restore.Spec.Replace, s.Restored.Name,
			s.Restored.State)
	default:
		execute(p, d, tsql.RenameDatabase(s.Restored.Name, string(d.Restore.Spec.Replace)).
			Because("the Restore is deleted after the former database was renamed"))
	}
	return nil
}

// made is the name under which what was restored stands, or would: the former database has the other one, until it was
// seen that the restored one does.
func made(d Desired, o Observed) string {
	if s, err := o.Stands.Get(); d.replaces() && (err != nil || !s.swapped()) {
		return d.Restore.RestoredName()
	}
	return d.database()
}

// reportReplaced writes down what makes way, and when it had.
func reportReplaced(s *v1alpha1.RestoreStatus, note any, now metav1.Time) {
	switch note := note.(type) {
	case makesWay:
		s.Replaced = &v1alpha1.ReplacedDatabase{Database: note.database}
	case swapped:
		s.Replaced.At = &now
	}
}
