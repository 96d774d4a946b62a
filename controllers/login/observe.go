// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

const (
	// serverTimeout bounds all questions to one engine.
	serverTimeout = 12 * time.Second
	// siteTimeout bounds the questions to one API server.
	siteTimeout = 5 * time.Second
)

// world is one observation.
type world struct {
	desired  Desired
	observed Observed
}

func (r *Reconciler) observe(ctx context.Context, login *v1alpha1.Login) (*world, error) {
	w := &world{desired: Desired{Login: login}, observed: Observed{
		Servers: map[v1alpha1.ServerName]Server{}, Users: map[string]User{}, Secrets: map[string]Secret{}}}
	if err := r.desire(ctx, &w.desired); err != nil {
		return nil, err
	}
	if w.desired.Missing != "" && login.DeletionTimestamp == nil {
		return w, nil
	}
	r.observeServers(ctx, w)
	r.observeUsers(ctx, w)
	r.observeSecrets(ctx, w)
	return w, nil
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
		in := InGroup{Group: v1alpha1.ObjectName(g.Name)}
		if !strings.EqualFold(g.Status.Primary, credentials.HostName(server)) {
			in.Elsewhere = g.Status.Primary
		}
		for _, u := range d.Login.Spec.Users {
			if replica && contains(g.Spec.Databases, string(u.Database)) {
				d.InGroup[strings.ToLower(string(u.Database))] = in
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
		d.Databases = append(d.Databases, string(database))
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
		if other.Login.Name == d.Login.Name || !strings.EqualFold(other.name(), d.name()) || !first(other.Login, d.Login) {
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

// first orders Logins by age, then by name.
func first(a, b *v1alpha1.Login) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// secrets reads the password and the CA.
func (r *Reconciler) secrets(ctx context.Context, d *Desired) error {
	ref := d.Login.Spec.PasswordSecretRef
	key := ref.Key
	if key == "" {
		key = "password"
	}
	secret, err := r.secret(ctx, d.Login.Namespace, ref.Name)
	if err != nil {
		return err
	}
	if secret != nil {
		d.Password = strings.TrimRight(string(secret.Data[key]), "\r\n")
	}
	if d.Password == "" {
		d.Missing = fmt.Sprintf("Secret %s with key %s is needed for the password", ref.Name, key)
		return nil
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

// observeServers asks every engine for the login.
func (r *Reconciler) observeServers(ctx context.Context, w *world) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, server := range w.desired.Servers {
		wg.Go(func() {
			var s Server
			s.Err = r.ask(ctx, w, server, "master", func(ctx context.Context, db *mssql.DB) (err error) {
				s.Login, err = mssql.ReadLogin(ctx, db, w.desired.name(), w.desired.Password)
				if err == nil && s.Login != nil && w.desired.dropped() {
					err = s.readHold(ctx, db, w.desired.name())
				}
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			w.observed.Servers[server] = s
		})
	}
	wg.Wait()
}

// readHold reads what keeps a login from being dropped.
func (s *Server) readHold(ctx context.Context, db *mssql.DB, login string) error {
	err := db.Query(ctx, tsql.LoginSessions(login), func(r mssql.Row) error {
		var id int
		err := r.Scan(&id)
		s.Sessions = append(s.Sessions, id)
		return err
	})
	if err != nil {
		return err
	}
	s.Owns, err = mssql.ReadOwned(ctx, db, tsql.LoginOwns(login))
	return err
}

// observeUsers asks the primary for the users.
func (r *Reconciler) observeUsers(ctx context.Context, w *world) {
	if w.desired.Primary == "" {
		return
	}
	for _, u := range w.desired.Login.Spec.Users {
		var user User
		user.Err = r.ask(ctx, w, w.desired.Primary, string(u.Database), func(ctx context.Context, db *mssql.DB) (err error) {
			user.State, err = mssql.ReadUser(ctx, db, w.desired.user(u))
			if err == nil && user.State != nil && w.desired.dropped() {
				user.Owns, err = mssql.ReadOwned(ctx, db, tsql.UserOwns(w.desired.user(u)))
			}
			return err
		})
		if mssql.Number(user.Err) != 0 {
			// The engine answers, and does not let into a database: there may be none.
			if there, err := r.exists(ctx, w, u.Database); err == nil && !there {
				user = User{NoDatabase: true}
			}
		}
		w.observed.Users[string(u.Database)] = user
	}
	r.observeFormerUsers(ctx, w)
}

// exists asks the primary whether it has a database of the name.
func (r *Reconciler) exists(ctx context.Context, w *world, database v1alpha1.DatabaseName) (there bool, err error) {
	err = r.ask(ctx, w, w.desired.Primary, "master", func(ctx context.Context, db *mssql.DB) error {
		return db.Query(ctx, tsql.DatabaseExists(string(database)), func(r mssql.Row) error { return r.Scan(&there) })
	})
	return there, err
}

// ask asks an engine as sa: the hash of a password shows to nobody else.
func (r *Reconciler) ask(
	ctx context.Context,
	w *world,
	server v1alpha1.ServerName,
	database string,
	question func(context.Context, *mssql.DB) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: w.desired.Login.Namespace, Server: server, Database: database, Role: credentials.RoleSA},
	)
	if err != nil {
		return err
	}
	err = question(ctx, db)
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(w.desired.Login.Namespace, server)
	}
	return err
}

// observeSecrets reads the connection Secret, and those of former names, in the hub and at every site where the
// namespace is allowed.
func (r *Reconciler) observeSecrets(ctx context.Context, w *world) {
	look := func(place string, reader client.Reader, err error) {
		at := func(name string) Secret {
			if err != nil {
				return Secret{Err: err}
			}
			return observeSecret(ctx, w, reader, name)
		}
		w.observed.Secrets[place] = at(w.desired.secretName())
		for _, name := range w.desired.formerSecrets() {
			w.observed.Former = append(w.observed.Former, FormerSecret{Place: place, Name: name, Secret: at(name)})
		}
	}
	look("", r.fresh, nil)
	for _, p := range r.members(ctx, w.desired.Login.Namespace) {
		var reader client.Reader
		if p.err == nil {
			reader = p.member.APIReader
		}
		look(p.name, reader, p.err)
	}
}

func observeSecret(ctx context.Context, w *world, reader client.Reader, name string) Secret {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var secret corev1.Secret
	err := reader.Get(ctx, client.ObjectKey{Namespace: w.desired.Login.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return Secret{}
	case err != nil:
		return Secret{Err: err}
	}
	own := secret.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy &&
		secret.Labels[v1alpha1.LabelLogin] == w.desired.Login.Name &&
		secret.Labels[v1alpha1.LabelNamespace] == w.desired.Login.Namespace
	return Secret{Exists: true, Own: own, UID: secret.UID, Data: secret.Data}
}

// place is a site at which a namespace may be used, or why it cannot be now.
type place struct {
	name   string
	member *sites.Member
	err    error
}

// members are the sites that allow the namespace. Lost ones are left out.
func (r *Reconciler) members(ctx context.Context, namespace string) []place {
	var list v1alpha1.SiteList
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	if err := r.hub.List(ctx, &list); err != nil {
		return []place{{name: "?", err: err}}
	}
	var places []place
	for i := range list.Items {
		site := &list.Items[i]
		if site.Spec.Lifecycle == v1alpha1.SiteLost || !slices.Contains(site.Spec.AllowedNamespaces, namespace) {
			continue
		}
		p := place{name: site.Name}
		p.member, p.err = r.sites.Member(v1alpha1.SiteName(site.Name))
		if p.err == nil {
			p.err = p.member.CheckNamespace(namespace)
		}
		if errors.Is(p.err, sites.ErrSiteLost) {
			continue
		}
		places = append(places, p)
	}
	return places
}
