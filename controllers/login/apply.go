// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// owner is the field manager of the connection Secrets.
const owner = client.FieldOwner("geosql-login")

func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	err := r.carryOut(ctx, d, p)
	if err == nil && p.Done {
		r.reporter.TellLeft(d.Login, p.Left)
	}
	return err
}

func (r *Reconciler) carryOut(ctx context.Context, d Desired, p reconcile.Plan) error {
	carryOut := func(ctx context.Context, step reconcile.Step) error {
		switch s := step.(type) {
		case mssql.Execute:
			return r.ask(ctx, d, s.Server, s.Database,
				func(ctx context.Context, db *mssql.DB) error { return s.Settled(db.Exec(ctx, s.Statement)) })
		case MakePassword:
			return r.makePassword(ctx, d, s)
		case WriteSecret:
			return r.at(d, s.Place, func(c client.Client) error { return sites.ApplyAs(ctx, c, d.secret(), owner) })
		case DropSecret:
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Login.Namespace, Name: s.Name, UID: s.UID}}
			return r.at(d, s.Place, func(c client.Client) error { return reconcile.Remove(ctx, c, secret) })
		}
		return fmt.Errorf("step %T is not known", step)
	}
	if p.Apart {
		return reconcile.EachInOrder(ctx, p.Steps, placeOf, carryOut)
	}
	return reconcile.InOrder(ctx, p.Steps, carryOut)
}

// placeOf is a database of a server, or where a Secret is.
func placeOf(step reconcile.Step) string {
	switch s := step.(type) {
	case mssql.Execute:
		return fmt.Sprintf("%s/%s", s.Server, s.Database)
	case MakePassword:
		return "password"
	case DropSecret:
		return "Secret " + s.Place
	case WriteSecret:
		return "Secret " + s.Place
	}
	return ""
}

// secret for applications.
func (d Desired) secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Login.Namespace, Name: d.secretName(), Labels: d.ownLabels()},
		Type:       "servicebinding.io/sqlserver",
		Data:       d.connection(),
	}
}

// at calls do with a client of the hub or of a site.
func (r *Reconciler) at(d Desired, place string, do func(client.Client) error) error {
	if place == "" {
		return do(r.hub)
	}
	member, err := r.sites.Member(v1alpha1.SiteName(place))
	if err != nil {
		return err
	}
	if err := member.CheckNamespace(d.Login.Namespace); err != nil {
		return err
	}
	return do(member.Client)
}
