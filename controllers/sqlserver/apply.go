// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// apply carries out the steps in order and stops at the first that fails. Each step may be carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, o Observed, p reconcile.Plan) error {
	carryOut := func(ctx context.Context, s reconcile.Step) error { return r.applyStep(ctx, d, &o, s) }
	err := reconcile.WithAside(ctx, p, carryOut, func() error { return reconcile.InOrder(ctx, p.Steps, carryOut) })
	if err == nil && p.Done {
		r.reporter.TellLeft(d.Server, p.Left)
	}
	return err
}

func (r *Reconciler) applyStep(ctx context.Context, d Desired, o *Observed, step reconcile.Step) error {
	switch s := step.(type) {
	case ApplyObject:
		err := d.member.Apply(ctx, s.Object)
		if _, is := s.Object.(*networkingv1.NetworkPolicy); is {
			return asUnwritten(err)
		}
		return err
	case TellStaging:
		return r.tellStaging(ctx, d, s)
	case CompleteReaders:
		return r.completeReaders(ctx, d, s)
	case ForgetCAs:
		return r.forgetCAs(ctx, d, s)
	case AgreePasswords:
		return r.agreePasswords(ctx, d, o, s)
	case MakeAuthority:
		_, err := r.authority(ctx)
		return err
	case IssueCertificate:
		return r.issueCertificate(ctx, d, s)
	case CopyCertificate:
		return r.writeCertificate(ctx, d, o, s.Data, s.Site, s.Hub)
	case TakeTurn:
		return r.passTurn(ctx, d, s.Group, true)
	case ReleaseTurn:
		return r.passTurn(ctx, d, s.Group, false)
	case AskSwitchover:
		return r.askSwitchover(ctx, d, s)
	case RestartPod:
		return r.restartPod(ctx, d, s)
	case TellLinks:
		return r.tellLinks(ctx, d, s)
	case ReplaceSidecar:
		return r.replaceSidecar(ctx, d, s)
	case RemoveProductKey:
		return r.removeProductKey(ctx, d, s)
	case RemoveIssued:
		return r.removeIssued(ctx, d)
	case LabelPod:
		return r.labelPod(ctx, d, s)
	case ForgetPreviousSA:
		return r.forgetPreviousSA(ctx, d, o)
	case RefreshPod:
		return r.refreshPod(ctx, d, s)
	case mssql.Execute:
		return r.execute(ctx, d, s)
	case ArrangeTempDB:
		return asRefused(r.execute(ctx, d, s.Execute))
	case DeleteStatefulSet:
		return deleteStatefulSet(ctx, d, s)
	case RemovePolicy:
		policy := &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Name, UID: s.UID}}
		return asUnwritten(reconcile.Remove(ctx, d.member.Client, policy))
	case databases.MakeRestore:
		return s.Apply(ctx, r.hub, r.secrets)
	case TakeAway:
		return r.takeAway(ctx, d, s)
	}
	return fmt.Errorf("step %T is not known", step)
}

// agreePasswords reads the Secrets again, so that what was planned on cannot overwrite what has come since.
func (r *Reconciler) agreePasswords(ctx context.Context, d Desired, o *Observed, s AgreePasswords) error {
	namespace, name := d.Server.Namespace, credentials.PasswordsName(d.name())
	atSite, err := secretData(ctx, d.member.APIReader, "site "+string(d.member.Name()), namespace, name)
	if err != nil {
		return err
	}
	atHub, err := secretData(ctx, r.secrets, "the hub", namespace, name)
	if err != nil {
		return err
	}
	declared, err := r.userSA(ctx, d)
	if err != nil {
		return err
	}
	agreement, err := o.administrator(declared).Agree(atSite, atHub, s.VolumesExist)
	if err != nil {
		return err
	}
	return r.writeSecrets(ctx, d, passwordSecret(d, agreement.Passwords), agreement.WriteSite, agreement.WriteHub)
}

// forgetPreviousSA writes the passwords that were observed without the former ones of sa, unless somebody has changed
// them since: what has come meanwhile must not be lost. Each side keeps its own, for where they differ they have not
// agreed.
func (r *Reconciler) forgetPreviousSA(ctx context.Context, d Desired, o *Observed) error {
	namespace, name := d.Server.Namespace, credentials.PasswordsName(d.name())
	for _, at := range []struct {
		reader client.Reader
		where  string
		seen   credentials.Passwords
	}{
		{d.member.APIReader, "site " + string(d.member.Name()), o.SitePasswords},
		{r.secrets, "the hub", o.HubPasswords},
	} {
		data, err := secretData(ctx, at.reader, at.where, namespace, name)
		if err != nil || !maps.EqualFunc(data, at.seen, bytes.Equal) {
			return err
		}
	}
	if err := r.writeSecrets(ctx, d, passwordSecret(d, credentials.Settled(o.SitePasswords)), true, false); err != nil {
		return err
	}
	return r.writeSecrets(ctx, d, passwordSecret(d, credentials.Settled(o.HubPasswords)), false, true)
}

// refreshPod touches an annotation of the pod: a changed pod is synchronized at once, its volumes with it.
func (r *Reconciler) refreshPod(ctx context.Context, d Desired, s RefreshPod) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		annotationRefreshed: r.now().UTC().Format(time.RFC3339Nano)}}})
	if err != nil {
		return fmt.Errorf("encode an annotation: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Name}}
	return client.IgnoreNotFound(
		d.member.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner),
	)
}

// writeSecrets writes the site's Secret first: it is what a rebuilt hub adopts.
func (r *Reconciler) writeSecrets(ctx context.Context, d Desired, secret *corev1.Secret, site, hub bool) error {
	defer r.connector.Reread(d.Server.Namespace, d.name())
	if site {
		if err := d.member.Apply(ctx, secret); err != nil {
			return fmt.Errorf("at site %s: %w", d.member.Name(), err)
		}
	}
	if !hub {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := sites.Apply(ctx, r.hub, secret); err != nil {
		return fmt.Errorf("in the hub: %w", err)
	}
	return nil
}

func (r *Reconciler) restartPod(ctx context.Context, d Desired, s RestartPod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Name, UID: s.UID,
		ResourceVersion: s.Version}}
	err := reconcile.RemoveUnchanged(ctx, d.member.Client, pod)
	if apierrors.IsConflict(err) {
		// Another one is there already, or what let it be deleted is so no more: that is looked at again.
		return nil
	}
	if client.IgnoreNotFound(err) != nil || s.Once == "" {
		return client.IgnoreNotFound(err)
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotationRestarted: s.Once}}},
	)
	if err != nil {
		return fmt.Errorf("encode the mark of the restart: %w", err)
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: d.Server.Name},
	}
	return d.member.Client.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner+"-restarts")
}

func (r *Reconciler) execute(ctx context.Context, d Desired, s mssql.Execute) error {
	t := target(d, s.Role)
	t.Database = s.Database
	if s.Statement.Exclusive {
		// The operator's own connections use the database, too.
		r.connector.Forget(t.Namespace, t.Server)
	}
	db, err := r.connector.Open(ctx, t)
	if err != nil {
		return err
	}
	return db.Exec(ctx, s.Statement)
}
