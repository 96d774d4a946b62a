// SPDX-License-Identifier: Apache-2.0

// Package login keeps declared SQL logins: the same SID and password on every server that they are for, their users and
// what these may do, and a Secret with which applications connect. What is changed by hand is changed back.
package login

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a Login asks for.
type Desired struct {
	Login *v1alpha1.Login
	// Missing says what the Login refers to and is not there; empty when everything is. Servers are then those that status
	// knows.
	Missing string
	// Owner is another Login of the same name on one of the servers, which came first; empty when there is none.
	Owner string
	// Password of the login; empty where one is to be made, or where NoPassword says why there is none.
	Password   string
	NoPassword string
	// PasswordFor is the request that the password was made for, where the operator makes it.
	PasswordFor string
	// Servers on which the login must exist: the server, or the replicas of the group that hold databases.
	Servers []v1alpha1.ServerName
	// Primary is where the users are: the server, or the group's primary; empty while that is not known.
	Primary v1alpha1.ServerName
	// Databases of the group; nil for a server, which may have any.
	Databases []string
	// InGroup are the users' databases that are a group's though a server is the target, by their names in lower case.
	InGroup map[string]InGroup
	// Host and Port at which applications connect.
	Host string
	Port int32
	// CA has signed the certificates of the servers; PEM.
	CA []byte
	// Gone are servers that nobody expects back; read for a deletion alone.
	Gone sites.Gone
	// keepsPassword says that the login is there with a password that nobody can tell now, and keeps it.
	keepsPassword bool
	// adopted is the SID of a login that is taken over; nil when there is none.
	adopted []byte
}

// InGroup is a group that has a database of a server.
type InGroup struct {
	Group v1alpha1.ObjectName
	// Made says that some server was once seen with the group.
	Made bool
	// Elsewhere is the primary, where that is another server; empty where it is this one, or not known.
	Elsewhere string
}

// inGroup finds the group that has a database of the target, which is a server.
func (d Desired) inGroup(database v1alpha1.DatabaseName) (InGroup, bool) {
	in, ok := d.InGroup[strings.ToLower(string(database))]
	return in, ok
}

// wayOut says what is to be declared instead of a server that is a replica.
func (in InGroup) wayOut(database v1alpha1.DatabaseName) string {
	return fmt.Sprintf("database %s is in AvailabilityGroup %s, whose primary moves: delete this Login with "+
		"reclaimPolicy Retain, and declare it again with target.availabilityGroup %s, which takes over what is there",
		database, in.Group, in.Group)
}

// name of the login.
func (d Desired) name() string {
	if d.Login.Spec.Name != "" {
		return d.Login.Spec.Name
	}
	return d.Login.Name
}

// sid is the one that status keeps, else the one that is taken over, else that of the namespace's logins of the name.
func (d Desired) sid() []byte {
	if kept, err := hex.DecodeString(strings.TrimPrefix(d.Login.Status.SID, "0x")); err == nil && len(kept) == 16 {
		return kept
	}
	if d.adopted != nil {
		return d.adopted
	}
	return credentials.SID(d.Login.Namespace, d.name())
}

// user is the name of the login's user in a database.
func (d Desired) user(u v1alpha1.LoginUser) string {
	if u.Name != "" {
		return u.Name
	}
	return d.name()
}

// dropped tells that login and users go with the object.
func (d Desired) dropped() bool {
	return d.Login.DeletionTimestamp != nil && d.Login.Spec.ReclaimPolicy == v1alpha1.ReclaimDelete
}

// ofGroup tells that a group declares the database: one that its present primary does not have may be on a replica that
// becomes primary later.
func (d Desired) ofGroup(database v1alpha1.DatabaseName) bool {
	_, grouped := d.inGroup(database)
	return grouped || contains(d.Databases, string(database))
}

// groupOf is the group that has the database, false where it is a server's alone.
func (d Desired) groupOf(database v1alpha1.DatabaseName) (v1alpha1.ObjectName, bool) {
	if contains(d.Databases, string(database)) {
		return d.Login.Spec.Target.AvailabilityGroup, true
	}
	in, grouped := d.inGroup(database)
	return in.Group, grouped
}

// unproved says why what Desired.Primary answers of a database is no evidence of what that has: it is a group's,
// and another server may be primary by now. Empty where it is.
func (o Observed) unproved(d Desired, database v1alpha1.DatabaseName) string {
	group, grouped := d.groupOf(database)
	if !grouped {
		return ""
	}
	switch leads, err := o.Leads[group].Get(); {
	case err != nil:
		return fmt.Sprintf("whether %s is the primary of group %s: %v", credentials.HostName(d.Primary), group, err)
	case !leads:
		return fmt.Sprintf("%s does not say that it is the primary of group %s", credentials.HostName(d.Primary), group)
	}
	return ""
}

// recorded are the databases of the users that are declared, and of those that were.
func (d Desired) recorded() []v1alpha1.DatabaseName {
	var names []v1alpha1.DatabaseName
	for _, u := range d.Login.Spec.Users {
		names = append(names, u.Database)
	}
	for _, u := range d.Login.Status.Users {
		names = append(names, u.Database)
	}
	return names
}

// made tells that the login was made somewhere, as far as is recorded.
func (d Desired) made() bool { return d.Login.Status.SID != "" }

func (d Desired) secretName() string {
	if d.Login.Spec.ConnectionSecret != "" {
		return d.Login.Spec.ConnectionSecret
	}
	return d.Login.Name + "-connection"
}

// formerSecrets are the names under which the connection Secret may still be and is no longer to be, oldest first.
func (d Desired) formerSecrets() []string {
	names := slices.Clone(d.Login.Status.FormerSecrets)
	if last := d.Login.Status.ConnectionSecret; last != "" && !slices.Contains(names, last) {
		names = append(names, last)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == d.secretName() })
	return names[max(0, len(names)-maxFormer):]
}

// maxFormer is how many former names status takes.
const maxFormer = 16

// adopts says whether a login that somebody else made may be taken over, with its SID.
func (d Desired) adopts() bool { return d.Login.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// adopting takes over the SID of a login that is there on the primary, where it may be and status keeps none yet. The
// status that is reported keeps it from then on.
func (d Desired) adopting(o Observed) Desired {
	s := o.Servers[d.Primary]
	if d.adopts() && d.Login.Status.SID == "" && s.Err == nil && s.Login != nil && len(s.Login.SID) == 16 {
		d.adopted = s.Login.SID
	}
	return d
}

// connection is what applications need: the keys of https://servicebinding.io ("Well-known Secret Entries"), the CA,
// and connection strings. Each driver tries all addresses at once (MultiSubnetFailover), as a listener wants it.
func (d Desired) connection() map[string][]byte {
	database := ""
	if len(d.Login.Spec.Users) > 0 {
		database = string(d.Login.Spec.Users[0].Database)
	}
	values := map[string]string{
		"type": "sqlserver", "provider": "geosql", "host": d.Host, "port": fmt.Sprint(d.Port), "username": d.name(),
		"password": d.Password, "database": database,
		"ado": fmt.Sprintf(
			"Server=tcp:%s,%d;Database=%s;User "+
				"ID=%s;Password=%s;Encrypt=True;TrustServerCertificate=False;MultiSubnetFailover=True;ConnectRetryCount=3",
			d.Host,
			d.Port,
			quoteADO(database),
			quoteADO(d.name()),
			quoteADO(d.Password),
		),
		"jdbc": fmt.Sprintf(
			"jdbc:sqlserver://%s:%d;databaseName=%s;user=%s;password=%s;encrypt=true;trustServerCertificate=false;"+
				"multiSubnetFailover=true",
			d.Host,
			d.Port,
			quoteJDBC(database),
			quoteJDBC(d.name()),
			quoteJDBC(d.Password),
		),
		"url": (&url.URL{Scheme: "sqlserver", User: url.UserPassword(d.name(), d.Password),
			Host: fmt.Sprintf("%s:%d", d.Host, d.Port),
			RawQuery: url.Values{"database": {database}, "encrypt": {"true"},
				"multisubnetfailover": {"true"}}.Encode()}).String(),
	}
	data := map[string][]byte{"ca.crt": d.CA}
	for key, value := range values {
		data[key] = []byte(value)
	}
	return data
}

// quoteADO quotes a value of an ADO.NET connection string: in double quotes, which are doubled inside
// (System.Data.Common.DbConnectionStringBuilder).
func quoteADO(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// quoteJDBC quotes a value of a JDBC URL: in braces, of which the closing one is doubled inside
// (docs/connect/jdbc/building-the-connection-url.md, "Escaping values in the connection URL").
func quoteJDBC(s string) string {
	return "{" + strings.ReplaceAll(s, "}", "}}") + "}"
}

// desireLogin is what a Login asks for.
func (r *Reconciler) desireLogin(ctx context.Context, login *v1alpha1.Login) (Desired, error) {
	d := Desired{Login: login}
	return d, r.desire(ctx, &d)
}

// desire resolves what the Login refers to.
func (r *Reconciler) desire(ctx context.Context, d *Desired) error {
	deleting := d.Login.DeletionTimestamp != nil
	var err error
	if deleting {
		if d.Gone, err = sites.ReadGone(ctx, r.hub, d.Login.Namespace, time.Now()); err != nil {
			return err
		}
	}
	if err := r.target(ctx, d); err != nil || d.Missing != "" && !deleting {
		return err
	}
	if err := r.others(ctx, d); err != nil || deleting {
		return err
	}
	return r.secrets(ctx, d)
}

// target resolves the server or the group. Where there is none any more, the servers are those that status knows.
func (r *Reconciler) target(ctx context.Context, d *Desired) error {
	resolve := func() error { return r.desireGroup(ctx, d, d.Login.Spec.Target.AvailabilityGroup) }
	if server := d.Login.Spec.Target.Server; server != "" {
		resolve = func() error { return r.desireServer(ctx, d, server) }
	}
	err := resolve()
	if err == nil && d.Missing != "" {
		for _, s := range d.Login.Status.Servers {
			d.Servers = append(d.Servers, credentials.ServerOf(s.Server))
		}
	}
	return err
}

func (r *Reconciler) desireServer(ctx context.Context, d *Desired, name v1alpha1.ServerName) error {
	var server v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Login.Namespace, Name: string(name)}, &server)
	if apierrors.IsNotFound(err) {
		d.Missing = fmt.Sprintf("there is no SQLServer %s", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read SQLServer %s/%s: %w", d.Login.Namespace, name, err)
	}
	d.Servers, d.Primary = []v1alpha1.ServerName{name}, name
	d.Host, d.Port = credentials.HostName(name)+"."+d.Login.Namespace+".svc", mssql.Port
	return r.groupsOf(ctx, d, name)
}

// groupsOf finds the users' databases that are a group's of which the server is a replica.
func (r *Reconciler) groupsOf(ctx context.Context, d *Desired, server v1alpha1.ServerName) error {
	var groups v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &groups, client.InNamespace(d.Login.Namespace)); err != nil {
		return fmt.Errorf("list the AvailabilityGroups of namespace %s: %w", d.Login.Namespace, err)
	}
	d.InGroup = map[string]InGroup{}
	for _, g := range groups.Items {
		replica := slices.ContainsFunc(g.Spec.Replicas, func(r v1alpha1.Replica) bool {
			return r.Server == server && r.AvailabilityMode != v1alpha1.ConfigurationOnly
		})
		in := InGroup{Group: v1alpha1.ObjectName(g.Name), Made: g.Status.GroupID != ""}
		if !strings.EqualFold(g.Status.Primary, credentials.HostName(server)) {
			in.Elsewhere = g.Status.Primary
		}
		for _, database := range d.recorded() {
			if replica && g.Spec.Database(string(database)) != nil {
				d.InGroup[strings.ToLower(string(database))] = in
			}
		}
	}
	return nil
}

func (r *Reconciler) desireGroup(ctx context.Context, d *Desired, name v1alpha1.ObjectName) error {
	var group v1alpha1.AvailabilityGroup
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Login.Namespace, Name: string(name)}, &group)
	if apierrors.IsNotFound(err) {
		d.Missing = fmt.Sprintf("there is no AvailabilityGroup %s", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read AvailabilityGroup %s/%s: %w", d.Login.Namespace, name, err)
	}
	d.Databases = []string{}
	for _, database := range group.Spec.Databases {
		d.Databases = append(d.Databases, string(database.Name))
	}
	for _, replica := range group.Spec.Replicas {
		if replica.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		d.Servers = append(d.Servers, replica.Server)
		if strings.EqualFold(group.Status.Primary, credentials.HostName(replica.Server)) {
			d.Primary = replica.Server
		}
	}
	listener, port := group.Name, int32(mssql.Port)
	if l := group.Spec.Listener; l != nil {
		if l.Name != "" {
			listener = l.Name
		}
		if l.Port != 0 {
			port = l.Port
		}
	}
	d.Host, d.Port = listener+"."+d.Login.Namespace+".svc", port
	return nil
}

// others finds a Login that came first and has the same name on one of the servers.
func (r *Reconciler) others(ctx context.Context, d *Desired) error {
	var list v1alpha1.LoginList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Login.Namespace)); err != nil {
		return fmt.Errorf("list the Logins of namespace %s: %w", d.Login.Namespace, err)
	}
	for i := range list.Items {
		other := Desired{Login: &list.Items[i]}
		if other.Login.Name == d.Login.Name || !strings.EqualFold(other.name(), d.name()) ||
			!v1alpha1.Older(other.Login, d.Login) {
			continue
		}
		if err := r.target(ctx, &other); err != nil {
			return err
		}
		if slices.ContainsFunc(other.Servers, func(s v1alpha1.ServerName) bool { return slices.Contains(d.Servers, s) }) {
			d.Owner = other.Login.Name
		}
	}
	return nil
}

// secrets reads the password and the CA.
func (r *Reconciler) secrets(ctx context.Context, d *Desired) error {
	if err := r.password(ctx, d); err != nil || d.Missing != "" {
		return err
	}
	var bundles [][]byte
	for _, server := range d.Servers {
		certificate, err := r.secret(ctx, d.Login.Namespace, credentials.CertificateName(server))
		if err != nil {
			return err
		}
		if certificate != nil {
			// Any of them may be the next primary, and each may have a CA of its own.
			bundles = append(bundles, credentials.TrustOf(certificate.Data))
		}
	}
	if d.CA = credentials.MergeCAs(bundles...); len(d.CA) > 0 {
		return nil
	}
	d.Missing = "none of the servers has its certificate yet"
	return nil
}

// secret of the hub, nil when there is none.
func (r *Reconciler) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var secret corev1.Secret
	err := r.fresh.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Secret %s/%s in the hub: %w", namespace, name, err)
	}
	return &secret, nil
}
