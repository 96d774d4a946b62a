// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

const (
	// serverTimeout bounds all questions to one engine.
	serverTimeout = 12 * time.Second
	// siteTimeout bounds the questions to one API server.
	siteTimeout = 5 * time.Second
)

func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	o := Observed{Servers: map[v1alpha1.ServerName]Server{}, Users: map[string]User{}, Secrets: map[string]Secret{}}
	if d.Missing != "" && d.Login.DeletionTimestamp == nil {
		return o, nil
	}
	r.observeServers(ctx, d, &o)
	r.observeUsers(ctx, d, &o)
	r.observeSecrets(ctx, d, &o)
	return o, nil
}

// observeServers asks every engine for the login.
func (r *Reconciler) observeServers(ctx context.Context, d Desired, o *Observed) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, server := range d.Servers {
		wg.Go(func() {
			var s Server
			s.Err = r.ask(ctx, d, server, "master", func(ctx context.Context, db *mssql.DB) (err error) {
				s.Login, err = mssql.ReadLogin(ctx, db, d.name(), d.Password)
				if err == nil && s.Login != nil && d.dropped() {
					err = s.readHold(ctx, db, d.name())
				}
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			o.Servers[server] = s
		})
	}
	wg.Wait()
}

// readHold reads what keeps a login from being dropped.
func (s *Server) readHold(ctx context.Context, db *mssql.DB, login string) error {
	var err error
	if s.Sessions, err = mssql.ReadSessions(ctx, db, tsql.LoginSessions(login)); err != nil {
		return err
	}
	s.Owns, err = mssql.ReadOwned(ctx, db, tsql.LoginOwns(login))
	return err
}

// observeUsers asks the primary for the users.
func (r *Reconciler) observeUsers(ctx context.Context, d Desired, o *Observed) {
	if d.Primary == "" {
		return
	}
	r.observeLeads(ctx, d, o)
	for _, u := range d.Login.Spec.Users {
		var user User
		user.Err = r.ask(ctx, d, d.Primary, string(u.Database), func(ctx context.Context, db *mssql.DB) (err error) {
			user.State, err = mssql.ReadUser(ctx, db, d.user(u))
			if err == nil && user.State != nil && d.dropped() {
				user.Owns, err = mssql.ReadOwned(ctx, db, tsql.UserOwns(d.user(u)))
			}
			if err == nil && !d.dropped() {
				err = user.observeAbsent(ctx, db, u.Grants)
			}
			return err
		})
		if mssql.Number(user.Err) != 0 {
			// The engine answers, and does not let into a database: there may be none.
			if there, err := r.exists(ctx, d, u.Database); err == nil && !there {
				user = User{NoDatabase: true}
			}
		}
		o.Users[string(u.Database)] = user
	}
	r.observeFormerUsers(ctx, d, o)
}

// observeLeads asks the primary whether it is that of the groups of the users' databases, before it is asked for them.
func (r *Reconciler) observeLeads(ctx context.Context, d Desired, o *Observed) {
	o.Leads = map[v1alpha1.ObjectName]reconcile.Reading[bool]{}
	for _, database := range d.recorded() {
		group, grouped := d.groupOf(database)
		if _, asked := o.Leads[group]; asked || !grouped {
			continue
		}
		leads := false
		err := r.ask(ctx, d, d.Primary, "master", func(ctx context.Context, db *mssql.DB) error {
			g, err := mssql.ReadGroup(ctx, db, string(group))
			leads = err == nil && d.proves(database, g)
			return err
		})
		o.Leads[group] = reconcile.Asked(leads, err)
	}
}

// proves says whether what the primary answers of a group's database is so in the group: the engine has the group, nil
// for not, as its primary, or the group was never made and has taken no database from the server.
func (d Desired) proves(database v1alpha1.DatabaseName, group *mssql.Group) bool {
	if group != nil {
		return group.Role == string(ballot.RolePrimary)
	}
	in, ofServer := d.inGroup(database)
	return ofServer && !in.Made
}

// exists asks the primary whether it has a database of the name.
func (r *Reconciler) exists(ctx context.Context, d Desired, database v1alpha1.DatabaseName) (there bool, err error) {
	err = r.ask(ctx, d, d.Primary, "master", func(ctx context.Context, db *mssql.DB) error {
		return db.Query(ctx, tsql.DatabaseExists(string(database)), func(r mssql.Row) error { return r.Scan(&there) })
	})
	return there, err
}

// ask asks an engine as sa: the hash of a password shows to nobody else.
func (r *Reconciler) ask(
	ctx context.Context,
	d Desired,
	server v1alpha1.ServerName,
	database string,
	question func(context.Context, *mssql.DB) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: d.Login.Namespace, Server: server, Database: database, Role: credentials.RoleSA},
	)
	if err != nil {
		return err
	}
	err = question(ctx, db)
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(d.Login.Namespace, server)
	}
	return err
}

// observeSecrets reads the connection Secret, and those of former names, in the hub and at every site where the
// namespace is allowed.
func (r *Reconciler) observeSecrets(ctx context.Context, d Desired, o *Observed) {
	look := func(place string, reader client.Reader, err error) {
		at := func(name string) Secret {
			if err != nil {
				return Secret{Err: err}
			}
			return observeSecret(ctx, d, reader, name)
		}
		o.Secrets[place] = at(d.secretName())
		for _, name := range d.formerSecrets() {
			o.Former = append(o.Former, FormerSecret{Place: place, Name: name, Secret: at(name)})
		}
	}
	look("", r.fresh, nil)
	if name := d.generatedSecret(); d.unusedPassword() {
		o.Former = append(o.Former, FormerSecret{Name: name, Secret: observeSecret(ctx, d, r.fresh, name)})
	}
	o.Unasked = map[v1alpha1.SiteName]string{}
	for _, p := range r.members(ctx, d.Login.Namespace) {
		if p.unasked != "" {
			o.Unasked[v1alpha1.SiteName(p.name)] = p.unasked
			continue
		}
		var reader client.Reader
		if p.err == nil {
			reader = p.member.APIReader
		}
		look(p.name, reader, p.err)
	}
}

func observeSecret(ctx context.Context, d Desired, reader client.Reader, name string) Secret {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var secret corev1.Secret
	err := reader.Get(ctx, client.ObjectKey{Namespace: d.Login.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return Secret{}
	case err != nil:
		return Secret{Err: err}
	}
	return Secret{Exists: true, Own: own(d.Login, &secret), UID: secret.UID, Data: secret.Data}
}

// place is a site at which a namespace may be used, or why it cannot be now.
type place struct {
	name   string
	member *sites.Member
	err    error
	// unasked says why nobody can look there; empty where one can, now or later.
	unasked string
}

// members are the sites, each with whether it may be asked.
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
		p := place{name: site.Name}
		switch {
		case site.Spec.Lifecycle == v1alpha1.SiteLost:
			p.unasked = "the site is declared lost"
		case !slices.Contains(site.Spec.AllowedNamespaces, namespace):
			p.unasked = "the site does not allow namespace " + namespace + " any more"
		}
		if p.unasked != "" {
			places = append(places, p)
			continue
		}
		p.member, p.err = r.sites.Member(v1alpha1.SiteName(site.Name))
		if p.err == nil {
			p.err = p.member.CheckNamespace(namespace)
		}
		if errors.Is(p.err, sites.ErrSiteLost) {
			p.unasked = "the site is declared lost"
		}
		places = append(places, p)
	}
	return places
}
