// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and
// the next observation goes on from there; so any step can be the last.
func plan(d Desired, o Observed) reconcile.Plan {
	return reconcile.Stages(d, o, planSetUp, planLogin, planDistributor, planDatabase, planPublishers, planLinks,
		planLargeValues, planHealth).Plan
}

func (o Observed) distributor(d Desired) *mssql.ReplicationServer {
	return o.Servers[d.System.Server].State
}

// planLogin makes the agents' login first: it is also the mark by which the operator knows again, after a crash, the
// distributor that it had begun to make.
func planLogin(d Desired, o Observed, p *replication.Plan) bool {
	if outcome, ok := replication.MaySend(d.SubscribeOnly); !ok {
		return p.Settle(outcome)
	}
	server := d.System.Server
	if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
		return p.Settle(outcome)
	}
	have := o.distributor(d)
	host := d.System.Host()
	if have.Distributor != "" && !strings.EqualFold(have.Distributor, host) {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorConflict, fmt.Sprintf(
			"server %s has %s for its distributor: an instance that distributes for others has itself; take it away there, "+
				"or declare the distributor on another server",
			host, have.Distributor,
		)))
	}
	if have.LoginSID == nil && (have.HasDistributor || len(have.Distribution) > 0) && !d.adopts() {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorConflict, fmt.Sprintf(
			"server %s is a distributor already and not the operator's: annotate the Distributor with %s=true to take it over",
			host, v1alpha1.AdoptAnnotation)))
	}
	if have.HasDistributor && have.LoginSID != nil && !have.PasswordRight {
		// Both passwords come from the same secret: the link's has changed too.
		p.Execute(server, replication.Master, tsql.ChangeDistributorPassword(d.System.LinkPassword))
		for _, publisher := range have.Publishers {
			p.Execute(server, replication.Master, tsql.SetPublisherPassword(publisher.Name, d.System.AgentPassword))
		}
	}
	// The login last: while its password is the old one the steps before it are planned again.
	if !p.Login(d.System, server, have) {
		return false
	}
	return p.Proceed("the agents' login is being made on %s", host)
}

// broken are builds on which sp_adddistributor ends its session with a fatal assertion (3624) and a dump, each time
// (mssql-docker, issue 969), by what they begin with; 2022 CU26 is one.
var broken = []string{"16.0.4265."}

// breaks says what to do about a server that cannot be given a distributor; false when it can.
func breaks(d Desired, server v1alpha1.ServerName, have *mssql.ReplicationServer) (conditions.Outcome, bool) {
	if have.HasDistributor || !slices.ContainsFunc(broken, func(build string) bool {
		return strings.HasPrefix(have.ProductVersion, build)
	}) {
		return conditions.Outcome{}, false
	}
	return conditions.Stalled(v1alpha1.ReasonNotSupported, fmt.Sprintf(
		"server %s is of build %s, on which sp_adddistributor ends with a fatal assertion (3624): give SQLServer %s an "+
			"image of another build, such as 2022-CU25-ubuntu-22.04, and Distributor %s goes on",
		credentials.HostName(server), have.ProductVersion, server, d.Distributor.Name)), true
}

func planDistributor(d Desired, o Observed, p *replication.Plan) bool {
	if outcome, breaks := breaks(d, d.System.Server, o.distributor(d)); breaks {
		return p.Settle(outcome)
	}
	if !o.distributor(d).HasDistributor {
		p.Execute(d.System.Server, replication.Master, tsql.AddDistributor(d.System.Host(), d.System.LinkPassword))
	}
	return p.Proceed("%s is being made a distributor", d.System.Host())
}

func planDatabase(d Desired, o Observed, p *replication.Plan) bool {
	s := d.System
	var have *mssql.DistributionDatabase
	for _, database := range o.distributor(d).Distribution {
		if strings.EqualFold(database.Name, s.Database) {
			have = &database
		}
	}
	if have == nil && o.distributor(d).Database(s.Database) != nil {
		switch {
		case o.OwnerErr != nil:
			return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, o.OwnerErr.Error()))
		case o.Owner.User != "":
			// The agents' user comes after the entry in msdb: it was there.
			return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorConflict, unlisted(d)))
		}
	}
	if have == nil {
		p.Execute(s.Server, replication.Master, tsql.AddDistributionDatabase(s.Database, s.Retention, s.HistoryRetention))
		return p.Proceed("distribution database %s is being created on %s", s.Database, s.Host())
	}
	if have.Retention != s.Retention {
		p.Execute(s.Server, replication.Master, tsql.ChangeRetention(s.Database, s.Retention))
	}
	if have.HistoryRetention != s.HistoryRetention {
		p.Execute(s.Server, replication.Master, tsql.ChangeHistoryRetention(s.Database, s.HistoryRetention))
	}
	if o.OwnerErr != nil {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, o.OwnerErr.Error()))
	}
	if o.Owner.User != "" {
		// The agents' user comes after the engine's procedure, which makes both itself: until then it may be at it.
		p.Maintain(s.Server, tsql.DistributionCleanup(s.Database), o.Cleanup)
		p.Maintain(s.Server, tsql.HistoryCleanup(s.Database), o.History)
	}
	p.Owner(s, s.Server, s.Database, o.Owner)
	return p.Proceed("distribution database %s is being prepared", s.Database)
}

// unlisted says what to do about a distribution database that msdb does not list any more.
func unlisted(d Desired) string {
	return fmt.Sprintf(
		"distribution database %[1]s is there on %[2]s and was prepared by the operator, and msdb does not list it any "+
			"more: msdb was restored from before, or made anew. Restore an msdb that is younger than the database. Or "+
			"give up what "+
			"%[1]s has for subscribers and drop it there: it is made anew, and every Publication says how it goes on "+
			"(docs/runbooks/lost-distributor.md)", d.System.Database, d.System.Host())
}

// planPublishers lets every server publish that is declared to. Those that are no longer are left: taking one away
// takes its publications away.
func planPublishers(d Desired, o Observed, p *replication.Plan) bool {
	s := d.System
	for _, publisher := range d.Publishers {
		name := credentials.HostName(publisher)
		have := o.distributor(d).Publisher(name)
		switch {
		case have == nil:
			p.Add(admit(s, name, s.WorkingDirectory))
			continue
		case !strings.EqualFold(have.Database, s.Database):
			return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorConflict, fmt.Sprintf(
				"%s publishes through distribution database %s, not %s: drop its publications there first, or name that "+
					"database in spec.database",
				name, have.Database, s.Database,
			)))
		}
		if !s.Uses(have.WorkingDirectory) {
			p.Execute(s.Server, replication.Master, tsql.SetPublisherWorkingDirectory(name, s.WorkingDirectory))
		}
		if have.SecurityMode == 0 && have.Login != s.Login {
			p.Execute(s.Server, replication.Master, tsql.SetPublisherLogin(name, s.Login))
			p.Execute(s.Server, replication.Master, tsql.SetPublisherPassword(name, s.AgentPassword))
		}
	}
	return p.Proceed("publishers are being admitted")
}

// admit lets a server publish. An engine may look for the snapshot folder without the map of UNC names: where it finds
// none (21037), the path is given under which the folder is on its own volume, and on those of subscribers.
func admit(s replication.System, publisher, directory string) replication.Execute {
	step := s.Keyed(replication.Execute{Server: s.Server, Database: replication.Master,
		Statement: tsql.AddDistributionPublisher(tsql.DistributionPublisher{
			Publisher: publisher, Database: s.Database, Login: s.Login, Password: s.AgentPassword,
			WorkingDirectory: directory,
		})}, replication.Execute{Server: s.Server, Database: s.Database})
	if local := s.LocalDirectory(); s.Mirrored() && directory != local {
		step.Instead = append(step.Instead, mssql.Instead{On: tsql.NoWorkingDirectory,
			Steps: []replication.Execute{admit(s, publisher, local)}})
	}
	return step
}

// planLinks makes the distributor known on every publisher, with the agents' login there. One that does not answer
// holds up no other.
func planLinks(d Desired, o Observed, p *replication.Plan) bool {
	for _, publisher := range d.others() {
		server := o.Servers[publisher]
		if _, ok := replication.Usable(publisher, server); !ok {
			continue
		}
		have := server.State
		if have.Distributor != "" && !strings.EqualFold(have.Distributor, d.System.Host()) {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorConflict, fmt.Sprintf(
				"publisher %s has %s for its distributor, not %s: drop its publications and take that distributor away there first",
				credentials.HostName(publisher), have.Distributor, d.System.Host())))
		}
		changed := have.LoginSID != nil && !have.PasswordRight
		if _, breaks := breaks(d, publisher, have); breaks {
			continue // planHealth says so; it holds up no other
		}
		if !have.HasDistributor {
			p.Execute(publisher, replication.Master, tsql.AddDistributor(d.System.Host(), d.System.LinkPassword))
		} else if changed {
			p.Execute(publisher, replication.Master, tsql.ChangeDistributorPassword(d.System.LinkPassword))
		}
		// The login last: while its password is the old one the steps before it are planned again.
		if !p.Login(d.System, publisher, have) {
			return false
		}
	}
	return p.Proceed("publishers are being linked to %s", d.System.Host())
}

// planLargeValues lets publishers replicate values of any length. By default SQL Server refuses (7139) whatever is
// longer than 64 KB and is written into a replicated column: the application's INSERT fails from the moment at which
// its table is published. The option is the instance's and does not fail over, so every server that may publish gets
// it, also for columns that are added later. A bound that somebody has set stays.
func planLargeValues(d Desired, o Observed, p *replication.Plan) bool {
	for _, publisher := range d.Publishers {
		server := o.Servers[publisher]
		if _, ok := replication.Usable(publisher, server); !ok {
			continue
		}
		if server.State.LargestReplicated == tsql.MaxTextRepl {
			p.Execute(publisher, replication.Master, tsql.LiftLargestReplicated())
			p.Execute(publisher, replication.Master, tsql.Reconfigure())
		}
	}
	return p.Proceed("publishers are being told to replicate values of any length")
}

func planHealth(d Desired, o Observed, p *replication.Plan) bool {
	if len(d.Missing) > 0 {
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonReferenceMissing, "these publishers are not declared yet: "+strings.Join(d.Missing, ", "),
		))
	}
	for _, publisher := range d.others() {
		if outcome, ok := replication.Usable(publisher, o.Servers[publisher]); !ok {
			outcome.Message = "publisher " + credentials.HostName(publisher) + " is not configured: " + outcome.Message
			return p.Settle(outcome)
		}
		if outcome, breaks := breaks(d, publisher, o.Servers[publisher].State); breaks {
			return p.Settle(outcome)
		}
	}
	p.Outcome = conditions.Ready(
		v1alpha1.ReasonConfigured,
		fmt.Sprintf("%s distributes for %d servers%s", d.System.Host(), len(d.Publishers), local(d, o)),
	)
	return true
}

// local says of which publishers the engine has the snapshots by a path instead of the UNC name that is declared.
func local(d Desired, o Observed) string {
	var names []string
	for _, publisher := range d.Publishers {
		have := o.distributor(d).Publisher(credentials.HostName(publisher))
		if have != nil && !replication.SamePath(have.WorkingDirectory, d.System.WorkingDirectory) {
			names = append(names, have.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; the engine did not find the snapshot folder as %s and has it as %s for %s",
		d.System.WorkingDirectory, d.System.LocalDirectory(), strings.Join(names, ", "))
}

// configured are the publishers whose link is complete at both ends.
func configured(d Desired, o Observed) []string {
	var names []string
	at := o.distributor(d)
	if at == nil {
		return nil
	}
	for _, publisher := range d.Publishers {
		name := credentials.HostName(publisher)
		s := o.Servers[publisher]
		if s.State != nil && at.Publisher(name) != nil && strings.EqualFold(s.State.Distributor, d.System.Host()) &&
			s.State.HasLogin(d.System.SID) && s.State.PasswordRight {
			names = append(names, name)
		}
	}
	return names
}
