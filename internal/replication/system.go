// SPDX-License-Identifier: Apache-2.0

// Package replication is what Distributors, Publications and Subscriptions have in common: the names of logins and
// jobs, the agents' command lines, who publishes, and how steps are planned and carried out on servers.
package replication

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// System is a Distributor with what follows from it: everything that publishes through one distributor shares a login
// for its agents, with one SID and one password, so that agents may follow a group from replica to replica.
type System struct {
	Namespace string
	// Name of the Distributor.
	Name string
	// Server that distributes.
	Server v1alpha1.ServerName
	// Database is the distribution database.
	Database string
	// Retention and HistoryRetention in hours.
	Retention, HistoryRetention int
	// WorkingDirectory is the snapshot folder as publishers and agents know it.
	WorkingDirectory string
	// Login of the agents on every server, with its SID.
	Login string
	SID   []byte
	// SetUpLogin is that of log readers at the distributor while they set subscribers up that begin without a snapshot.
	SetUpLogin string
	SetUpSID   []byte
	// SetUpPassword is the set-up login's, AgentPassword the agents', LinkPassword that of the link from publishers to the
	// distributor, KeyPassword that of the master keys which engines may want for the passwords that they keep. They are
	// empty until ReadPasswords.
	SetUpPassword, AgentPassword, LinkPassword, KeyPassword string
}

// Defaults of a Distributor (docs/relational-databases/system-stored-procedures/sp-adddistributiondb-transact-sql.md).
const (
	defaultDatabase         = "distribution"
	defaultRetention        = 72
	defaultHistoryRetention = 48
)

// setUpSuffix ends the name of a set-up login. No Distributor's name has an underscore: it is no agents' login.
const setUpSuffix = "_setup"

// SystemOf is the system of a Distributor, without passwords.
func SystemOf(d *v1alpha1.Distributor) System {
	s := System{
		Namespace: d.Namespace, Name: d.Name, Server: d.Spec.Server, Database: string(d.Spec.Database),
		Retention: defaultRetention, HistoryRetention: defaultHistoryRetention,
		WorkingDirectory: conf.Share(d.Spec.Server),
		Login:            AgentsLogin(d.Name),
	}
	if s.Database == "" {
		s.Database = defaultDatabase
	}
	if r := d.Spec.Retention; r != nil {
		s.Retention = int(r.Duration / time.Hour)
	}
	if r := d.Spec.HistoryRetention; r != nil {
		s.HistoryRetention = int(r.Duration / time.Hour)
	}
	if f := d.Spec.SnapshotFolder; f != "" && f != conf.SnapshotDir {
		s.WorkingDirectory = f
	}
	s.SID = credentials.SID(d.Namespace, s.Login)
	s.SetUpLogin = s.Login + setUpSuffix
	s.SetUpSID = credentials.SID(d.Namespace, s.SetUpLogin)
	return s
}

// ReadPasswords derives the passwords from those of the distributor's server.
func (s *System) ReadPasswords(ctx context.Context, source mssql.AccessSource) error {
	access, err := source.Access(ctx, s.Namespace, s.Server)
	if err != nil {
		return fmt.Errorf("find the credentials of server %s/%s: %w", s.Namespace, s.Server, err)
	}
	if s.AgentPassword, err = credentials.Derive(access.Passwords, "agents of distributor "+s.Name); err == nil {
		s.LinkPassword, err = credentials.Derive(access.Passwords, "link to distributor "+s.Name)
	}
	if err == nil {
		s.SetUpPassword, err = credentials.Derive(access.Passwords, "set-ups of distributor "+s.Name)
	}
	if err == nil {
		s.KeyPassword, err = credentials.Derive(access.Passwords, "master keys of distributor "+s.Name)
	}
	if err != nil {
		return fmt.Errorf("derive the passwords of distributor %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

// MirrorToken is what the sidecar of a subscriber shows to the sidecar of the distributor to read its snapshots.
func (s *System) MirrorToken(
	ctx context.Context,
	source mssql.AccessSource,
	subscriber v1alpha1.ServerName,
) (string, error) {
	access, err := source.Access(ctx, s.Namespace, s.Server)
	if err != nil {
		return "", fmt.Errorf("find the credentials of server %s/%s: %w", s.Namespace, s.Server, err)
	}
	return credentials.Derive(access.Passwords, "snapshots for "+string(subscriber))
}

// Host is the distributor's name.
func (s *System) Host() string { return credentials.HostName(s.Server) }

// Mirrored tells that the snapshot folder is the one that subscribers' sidecars mirror.
func (s *System) Mirrored() bool {
	return s.WorkingDirectory == conf.Share(s.Server) || s.WorkingDirectory == s.LocalDirectory()
}

// LocalDirectory is the path under which both the distributor and every subscriber have its snapshots on their own
// volumes: for an engine that follows no UNC name. The sidecars make it.
func (s *System) LocalDirectory() string { return conf.Mirror(s.Server) }

// Uses tells whether a publisher's snapshot folder, as the distributor has it, is the one that is declared, or stands
// for it.
func (s *System) Uses(directory string) bool {
	return SamePath(directory, s.WorkingDirectory) ||
		s.WorkingDirectory == conf.Share(s.Server) && SamePath(directory, s.LocalDirectory())
}

// SamePath compares paths as engines may give them back: with the other slashes, with or without one at the end, and in
// capitals.
func SamePath(a, b string) bool {
	plain := func(path string) string { return strings.TrimRight(strings.ReplaceAll(path, `\`, "/"), "/") }
	return strings.EqualFold(plain(a), plain(b))
}

// ServerOf is the server of an instance's name; false for an instance that is none of the operator's.
func ServerOf(instance string) (v1alpha1.ServerName, bool) {
	name := credentials.ServerOf(instance)
	return name, credentials.HostName(name) == strings.ToLower(instance)
}

// Party is a publisher or a subscriber: one server, or a group.
type Party struct {
	// Name as messages say it, such as "AvailabilityGroup content".
	Name string
	// Group is empty for a server alone.
	Group string
	// Servers are the server, or the group's replicas that have data.
	Servers []v1alpha1.ServerName
	// Address is what agents connect to: the server's name, or the listener's, with ",port" unless it is 1433.
	Address string
	// Missing says which object does not exist (yet), empty when all do.
	Missing string
	// Databases are those that a server alone declares: nobody else makes them.
	Databases []v1alpha1.Database
	// SubscribeOnly are those of the servers whose declared editions neither publish nor distribute.
	SubscribeOnly []v1alpha1.ServerName
}

// MaySend refuses servers that can only subscribe (docs/sql-server/editions-and-components-of-sql-server-2022.md,
// "Replication"): what would be sent to them is refused there, by one statement after another.
func MaySend(subscribeOnly []v1alpha1.ServerName) (conditions.Outcome, bool) {
	if len(subscribeOnly) == 0 {
		return conditions.Outcome{}, true
	}
	names := make([]string, len(subscribeOnly))
	for i, s := range subscribeOnly {
		names[i] = string(s)
	}
	return conditions.Stalled(v1alpha1.ReasonEditionSubscribesOnly, fmt.Sprintf(
		"SQLServer %s has the edition %s or %s, which can subscribe, and neither publish nor distribute: raise spec.edition "+
			"there, or name another server", strings.Join(names, ", "), v1alpha1.EditionExpress, v1alpha1.EditionWeb)), false
}

// Resolve finds the servers of a publisher or subscriber.
func Resolve(ctx context.Context, reader client.Reader, namespace string, who v1alpha1.ServerOrGroup) (Party, error) {
	if who.Server != "" {
		p := Party{
			Name:    "SQLServer " + string(who.Server),
			Servers: []v1alpha1.ServerName{who.Server},
			Address: credentials.HostName(who.Server),
		}
		return p, p.read(ctx, reader, namespace)
	}
	p := Party{Name: "AvailabilityGroup " + string(who.AvailabilityGroup), Group: string(who.AvailabilityGroup)}
	var group v1alpha1.AvailabilityGroup
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: p.Group}, &group)
	if apierrors.IsNotFound(err) {
		p.Missing = p.Name
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("read %s/%s: %w", namespace, p.Name, err)
	}
	p = PartyOf(&group)
	return p, p.read(ctx, reader, namespace)
}

// PartyOf is a group as a publisher or subscriber.
func PartyOf(group *v1alpha1.AvailabilityGroup) Party {
	p := Party{Name: "AvailabilityGroup " + group.Name, Group: group.Name, Address: group.Name}
	for _, r := range group.Spec.Replicas {
		if r.AvailabilityMode != v1alpha1.ConfigurationOnly {
			p.Servers = append(p.Servers, r.Server)
		}
	}
	if l := group.Spec.Listener; l != nil {
		if l.Name != "" {
			p.Address = l.Name
		}
		if l.Port != 0 && l.Port != mssql.Port {
			p.Address = fmt.Sprintf("%s,%d", p.Address, l.Port)
		}
	}
	return p
}

// read finds out which of the servers do not exist, or can only subscribe.
func (p *Party) read(ctx context.Context, reader client.Reader, namespace string) error {
	for _, name := range p.Servers {
		var server v1alpha1.SQLServer
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &server)
		if apierrors.IsNotFound(err) {
			p.Missing = "SQLServer " + string(name)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read SQLServer %s/%s: %w", namespace, name, err)
		}
		if server.Spec.DeclaredEdition().SubscribesOnly() {
			p.SubscribeOnly = append(p.SubscribeOnly, name)
		}
		if p.Group == "" {
			p.Databases = server.Spec.Databases
		}
	}
	return nil
}

// Declares tells that a group or server alone has a database of its own accord: what is published there, or received,
// is only used.
func (p *Party) Declares(database string) bool {
	return p.Group != "" || slices.ContainsFunc(p.Databases, func(d v1alpha1.Database) bool {
		return strings.EqualFold(string(d.Name), database)
	})
}

// Description marks what belongs to an object, on the server.
func Description(namespace, name string) string { return descriptionPrefix + namespace + "/" + name }

const descriptionPrefix = "geosql.dev "

// Described tells that a description marks something as the operator's.
func Described(description string) bool { return strings.HasPrefix(description, descriptionPrefix) }

// Contains tells whether the names have one, compared without case.
func Contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}
