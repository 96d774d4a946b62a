// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
)

// login is who logs in, by what. It is in this process' memory alone.
type login struct {
	access mssql.Access
	// roles whose passwords are tried, in this order: of a change of sa's nobody knows whether the engine has taken it.
	roles []credentials.Role
	// name of a declared login; empty for sa.
	name string
	// from is the Secret, for people.
	from string
}

// user is the login's name.
func (l login) user() string {
	if l.name != "" {
		return l.name
	}
	return credentials.RoleSA.Login()
}

// readSA reads the credentials of the server's administrator.
func (g *goal) readSA(ctx context.Context) (login, error) {
	passwords, err := g.secret(ctx, credentials.PasswordsName(g.server))
	if err != nil {
		return login{}, err
	}
	certificate, err := g.secret(ctx, credentials.CertificateName(g.server))
	if err != nil {
		return login{}, err
	}
	l := login{access: mssql.Access{Passwords: passwords.Data, CA: credentials.TrustOf(certificate.Data)},
		from: g.named(passwords)}
	for _, role := range append([]credentials.Role{credentials.RoleSA}, credentials.FormerAdministrators()...) {
		if l.access.Passwords.Of(role) != "" {
			l.roles = append(l.roles, role)
		}
	}
	if len(l.roles) == 0 {
		return login{}, fmt.Errorf("%s has no key %s", l.from, credentials.KeySA)
	}
	return l, nil
}

// readLogin reads the connection Secret of a Login that is for the server.
func (g *goal) readLogin(ctx context.Context, name string) (login, error) {
	secret := name + "-connection"
	if g.logins != nil {
		declared, err := g.declaredLogin(ctx, name)
		if err != nil {
			return login{}, err
		}
		if declared.Spec.ConnectionSecret != "" {
			secret = declared.Spec.ConnectionSecret
		}
		if declared.Status.ConnectionSecret != "" {
			secret = declared.Status.ConnectionSecret
		}
	}
	found, err := g.secret(ctx, secret)
	if err != nil {
		return login{}, err
	}
	l := login{name: string(found.Data["username"]), from: g.named(found), roles: []credentials.Role{credentials.RoleSA},
		access: mssql.Access{CA: found.Data[credentials.KeyCA], Passwords: credentials.Passwords{
			// Of a Target with a Login the password is the role's.
			credentials.RoleSA.Key(): found.Data[credentials.KeyPassword]}}}
	for _, key := range []string{"username", credentials.KeyPassword, credentials.KeyCA} {
		if len(found.Data[key]) == 0 {
			return login{}, fmt.Errorf("%s has no key %s: the operator has not written it, or somebody else has", l.from, key)
		}
	}
	return l, nil
}

// declaredLogin is a Login of the hub that has to be for the goal's server.
func (g *goal) declaredLogin(ctx context.Context, name string) (*v1alpha1.Login, error) {
	var l v1alpha1.Login
	if err := cli.Find(ctx, g.logins, &l, g.namespace, name); err != nil {
		return nil, err
	}
	on := l.Spec.Target.Server == g.server ||
		g.group != "" && string(l.Spec.Target.AvailabilityGroup) == g.group ||
		slices.ContainsFunc(l.Status.Servers, func(s v1alpha1.LoginServerStatus) bool { return s.Server == string(g.server) })
	if !on {
		where := "server " + string(l.Spec.Target.Server)
		if l.Spec.Target.AvailabilityGroup != "" {
			where = "group " + string(l.Spec.Target.AvailabilityGroup)
		}
		return nil, fmt.Errorf("login %s is for %s, and as far as is known not on server %s", name, where, g.server)
	}
	return &l, nil
}

// secret reads one where the credentials are.
func (g *goal) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var s corev1.Secret
	err := g.secrets.Get(ctx, client.ObjectKey{Namespace: g.namespace, Name: name}, &s)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("read the credentials: %w; with --login NAME those of a Login are read and no others", err)
	case err != nil:
		return nil, fmt.Errorf("read Secret %s/%s in %s: %w", g.namespace, name, g.of, err)
	}
	return &s, nil
}

// named is a Secret for people.
func (g *goal) named(s *corev1.Secret) string {
	return fmt.Sprintf("Secret %s/%s of %s", s.Namespace, s.Name, g.of)
}
