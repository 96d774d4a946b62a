// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/account"
	"geosql.dev/operator/internal/tsql"
)

// statementTimeout bounds a statement; CREATE AVAILABILITY GROUP waits for the answers of the other replicas.
const statementTimeout = 60 * time.Second

// apply carries out the steps in order, or those of each server, and stops at the first that fails. Each step may be
// carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, o Observed, p reconcile.Plan) error {
	carryOut := func(ctx context.Context, s reconcile.Step) error { return r.applyStep(ctx, d, &o, s) }
	err := reconcile.WithAside(ctx, p, carryOut, func() error {
		if p.Apart {
			return reconcile.EachInOrder(ctx, p.Steps, placeOf, carryOut)
		}
		return reconcile.InOrder(ctx, p.Steps, carryOut)
	})
	if err == nil && p.Done {
		r.reporter.TellLeft(d.Group, p.Left)
	}
	return err
}

func (r *Reconciler) applyStep(ctx context.Context, d Desired, o *Observed, step reconcile.Step) error {
	switch s := step.(type) {
	case mssql.Execute:
		return r.execute(ctx, d, s)
	case AddListener:
		return firstTaken(s.forms(), func(form mssql.Execute) error { return r.execute(ctx, d, form) })
	case RestartEndpoint:
		return r.restartEndpoint(ctx, d, s)
	case CreateMasterKey:
		return r.createMasterKey(ctx, d, s)
	case CreatePartnerLogin:
		return r.createPartnerLogin(ctx, d, s)
	case CopyKey:
		return r.copyKey(ctx, d, s)
	case CreateLease:
		return r.createLease(ctx, d, s)
	case GiveOrders:
		return r.giveOrders(ctx, d, o, s)
	case TakeOrders:
		return r.writeOrders(ctx, d, s.Server, map[string][]byte{orders.EndedKey(d.name()): []byte("true")})
	case MarkEnding:
		return r.markEnding(ctx, d, o, s)
	case RemoveVotes:
		return r.removeVotes(ctx, d, s)
	case databases.MakeRestore:
		return s.Apply(ctx, r.hub, r.secrets)
	}
	return fmt.Errorf("step %T is not known", step)
}

// execute executes a statement. One whose time grows with the data, such as the first backup of a database that may
// have been filled before it was declared, goes on by itself.
func (r *Reconciler) execute(ctx context.Context, d Desired, s mssql.Execute) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	target := mssql.Target{Namespace: d.Group.Namespace, Server: s.Server, Role: s.Role, Database: s.Database}
	if s.Statement.Long {
		err := r.connector.ExecLong(ctx, d.Group.UID, target, s.Statement)
		return r.distrust(d.Group.Namespace, s.Server, err)
	}
	if s.Statement.Exclusive {
		// The operator's own connections use the database, too.
		r.connector.Forget(d.Group.Namespace, s.Server)
	}
	db, err := r.connector.Open(ctx, target)
	if err != nil {
		return err
	}
	return r.distrust(d.Group.Namespace, s.Server, db.Exec(ctx, s.Statement))
}

// restartEndpoint counts as tried whatever becomes of it. It goes on when this manager is to end: the endpoint would be
// left stopped until the next plan, which starts it.
func (r *Reconciler) restartEndpoint(ctx context.Context, d Desired, s RestartEndpoint) error {
	r.restarted.add(client.ObjectKeyFromObject(d.Group), s.For, r.now())
	return r.execute(context.WithoutCancel(ctx), d, s.statement())
}

// distrust closes the connections to a server after an error whose outcome is unknown: when the engine was restarted
// all idle ones are dead, and each would fail one more step.
func (r *Reconciler) distrust(namespace string, server v1alpha1.ServerName, err error) error {
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(namespace, server)
	}
	return err
}

func (r *Reconciler) createMasterKey(ctx context.Context, d Desired, s CreateMasterKey) error {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: d.Group.Namespace, Name: credentials.PasswordsName(s.Server)}
	if err := r.secrets.Get(ctx, key, &secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", key, err)
	}
	password := string(secret.Data[credentials.KeyMasterKey])
	if password == "" {
		return fmt.Errorf("the passwords in Secret %s have no key %s", key, credentials.KeyMasterKey)
	}
	made := tsql.CreateMasterKey(password)
	return r.execute(
		ctx,
		d,
		mssql.Execute{Server: s.Server, Role: credentials.RoleSA, Database: "master", Statement: made},
	)
}

func (r *Reconciler) createPartnerLogin(ctx context.Context, d Desired, s CreatePartnerLogin) error {
	password, err := credentials.NewPassword()
	if err != nil {
		return err
	}
	login := tsql.Login{Name: s.Login, SID: credentials.SID(d.Group.Namespace, s.Login), Password: password}
	made := tsql.CreateLogin(login)
	return r.execute(
		ctx,
		d,
		mssql.Execute{Server: s.Server, Role: credentials.RoleOperator, Database: "master", Statement: made},
	)
}

// createLease never changes a Lease that is there: it may be held.
func (r *Reconciler) createLease(ctx context.Context, d Desired, s CreateLease) error {
	member, err := r.member(s.Site, d.Group.Namespace)
	if err != nil {
		return err
	}
	lease := votes.NewLease(d.Group.Namespace, s.Group, s.InitialPrimary, s.Configuration)
	lease.Labels = groupLabels(d.Group)
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	if err := member.Client.Create(ctx, lease); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// giveOrders makes the agents' accounts and tokens at the voters that answer and writes the server's Secret. Of a voter
// that does not answer the agent keeps what it was told before. A server that is yet to be added was told nothing: it
// is told the way there when the voter answers, and does until then as if it were cut off from it.
func (r *Reconciler) giveOrders(ctx context.Context, d Desired, o *Observed, s GiveOrders) error {
	told := o.Orders
	if told.Timings == nil {
		return errors.New("by what timings the group's agents count is not known")
	}
	told.Voters, told.Joining = slices.Clone(told.Voters), slices.Clone(told.Joining)
	before := map[string]orders.Voter{}
	if old := o.Agents[s.Server].Told; old != nil {
		for _, v := range old.Reached() {
			before[v.Site] = v
		}
	}
	for _, list := range [][]orders.Voter{told.Voters, told.Joining} {
		for i, site := range list {
			had, known := before[site.Site]
			v, err := r.credentialsAt(ctx, d, o, v1alpha1.SiteName(site.Site), had)
			// Nobody expects a lost site back: an agent that has lost its orders as well does without that voter.
			lost := errors.Is(err, sites.ErrSiteLost)
			if errors.Is(err, errNoWay) && (s.New || lost || known && had.Token == "") {
				v, err = orders.Voter{Site: site.Site}, nil
			}
			if err != nil {
				return err
			}
			list[i] = v
		}
	}
	data, err := told.Encode()
	if err != nil {
		return err
	}
	return r.writeOrders(ctx, d, s.Server, map[string][]byte{told.Key(): data})
}

// markEnding writes the orders that an agent has with nothing else changed: it needs no voter.
func (r *Reconciler) markEnding(ctx context.Context, d Desired, o *Observed, s MarkEnding) error {
	had := o.Agents[s.Server].Told
	if had == nil {
		return fmt.Errorf("the agent of %s has no orders", host(s.Server))
	}
	told := *had
	told.Ending, told.EndingID = s.Ending, s.ID
	data, err := told.Encode()
	if err != nil {
		return err
	}
	return r.writeOrders(ctx, d, s.Server, map[string][]byte{told.Key(): data})
}

// errNoWay is that of a voter that does not answer and to which an agent was never told the way.
var errNoWay = errors.New("the agent was not told the way to it before")

func (r *Reconciler) credentialsAt(
	ctx context.Context,
	d Desired, o *Observed,
	site v1alpha1.SiteName,
	before orders.Voter,
) (orders.Voter, error) {
	access := o.accounts[site]
	member, err := r.member(site, d.Group.Namespace)
	if err == nil {
		err = access.err
	}
	switch {
	case errors.Is(err, account.ErrNoAPIServer):
		return orders.Voter{}, err
	case err != nil && before.Token == "":
		return orders.Voter{}, fmt.Errorf("voter %s: %w: %w", site, errNoWay, err)
	case err != nil:
		return before, nil
	}
	v := access.voter
	if before.Token != "" && before.AccountUID == v.AccountUID && before.Left(o.Now) >= 2*account.RenewBelow {
		v.Token, v.Issued, v.Expires = before.Token, before.Issued, before.Expires
		return v, nil
	}
	if err := mintAt(ctx, member, d.Group, &v, o.Now); err != nil {
		return orders.Voter{}, err
	}
	return v, nil
}

// writeOrders applies this group's key of the server's Secret under a field manager of the group's own, so that the
// keys of other groups stay. A key that is not given again goes.
func (r *Reconciler) writeOrders(
	ctx context.Context,
	d Desired,
	server v1alpha1.ServerName,
	data map[string][]byte,
) error {
	member, err := r.member(d.Sites[server], d.Group.Namespace)
	if err != nil {
		return err
	}
	labels := map[string]string(sites.OwnLabels())
	labels[v1alpha1.LabelNamespace] = d.Group.Namespace
	labels[v1alpha1.LabelServer] = string(server)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Group.Namespace, Name: credentials.OrdersName(server), Labels: labels},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
	if err := sites.ApplyAs(ctx, member.Client, secret, client.FieldOwner("geosql-group-"+d.name())); err != nil {
		return fmt.Errorf("at site %s: %w", member.Name(), err)
	}
	return nil
}

// removeVotes deletes the Lease last: while it is there the step is planned again.
func (r *Reconciler) removeVotes(ctx context.Context, d Desired, s RemoveVotes) error {
	group := d.Group
	member, err := r.member(s.Site, group.Namespace)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: group.Namespace, Name: accountName(group.Name)}
	for _, obj := range []client.Object{
		&rbacv1.RoleBinding{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta}, &corev1.ServiceAccount{ObjectMeta: meta},
	} {
		err := member.APIReader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) || err == nil && obj.GetLabels()[v1alpha1.LabelGroup] != group.Name {
			continue
		}
		if err == nil {
			err = reconcile.Remove(ctx, member.Client, obj)
		}
		if err != nil {
			return fmt.Errorf("delete %T %s at voter %s: %w", obj, obj.GetName(), s.Site, err)
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace,
		Name: votes.LeaseName(group.Name), UID: s.UID, ResourceVersion: s.Version}}
	if err := reconcile.RemoveUnchanged(ctx, member.Client, lease); err != nil {
		return fmt.Errorf("delete Lease %s at voter %s, as it was read: %w", lease.Name, s.Site, err)
	}
	return nil
}
