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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// apply carries out the steps in order and stops at the first that fails. Each step may be carried out again.
func (r *Reconciler) apply(ctx context.Context, w *world, p Plan) error {
	return reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, s Step) error { return r.applyStep(ctx, w, s) })
}

func (r *Reconciler) applyStep(ctx context.Context, w *world, step Step) error {
	switch s := step.(type) {
	case ApplyObject:
		return w.member.Apply(ctx, s.Object)
	case CompleteReaders:
		return r.completeReaders(ctx, w, s)
	case AgreePasswords:
		return r.agreePasswords(ctx, w, s)
	case MakeAuthority:
		_, err := r.authority(ctx)
		return err
	case IssueCertificate:
		return r.issueCertificate(ctx, w, s)
	case CopyCertificate:
		return r.writeCertificate(ctx, w, s.Data, s.Site, s.Hub)
	case TakeTurn:
		return r.passTurn(ctx, w, s.Group, true)
	case ReleaseTurn:
		return r.passTurn(ctx, w, s.Group, false)
	case AskSwitchover:
		return r.askSwitchover(ctx, w, s)
	case RestartPod:
		return r.restartPod(ctx, w, s)
	case ReplaceSidecar:
		return r.replaceSidecar(ctx, w, s)
	case ForgetPreviousSA:
		return r.forgetPreviousSA(ctx, w)
	case RefreshPod:
		return r.refreshPod(ctx, w, s)
	case Execute:
		return r.execute(ctx, w, s)
	case DeleteStatefulSet:
		return deleteStatefulSet(ctx, w, s)
	case TakeAway:
		return r.takeAway(ctx, w, s)
	}
	return fmt.Errorf("step %T is not known", step)
}

// agreePasswords reads the Secrets again, so that what was planned on cannot overwrite what has come since.
func (r *Reconciler) agreePasswords(ctx context.Context, w *world, s AgreePasswords) error {
	namespace, name := w.desired.Server.Namespace, credentials.PasswordsName(w.desired.name())
	atSite, err := secretData(ctx, w.member.APIReader, "site "+string(w.member.Name()), namespace, name)
	if err != nil {
		return err
	}
	atHub, err := secretData(ctx, r.secrets, "the hub", namespace, name)
	if err != nil {
		return err
	}
	agreement, err := credentials.Agree(atSite, atHub, s.VolumesExist)
	if err != nil {
		return err
	}
	return r.writeSecrets(ctx, w, passwordSecret(w.desired, agreement.Passwords), agreement.WriteSite, agreement.WriteHub)
}

// forgetPreviousSA writes the passwords that were observed without the previous one, unless somebody has changed them
// since: what has come meanwhile must not be lost.
func (r *Reconciler) forgetPreviousSA(ctx context.Context, w *world) error {
	namespace, name := w.desired.Server.Namespace, credentials.PasswordsName(w.desired.name())
	for _, at := range []struct {
		reader client.Reader
		where  string
		seen   credentials.Passwords
	}{
		{w.member.APIReader, "site " + string(w.member.Name()), w.observed.SitePasswords},
		{r.secrets, "the hub", w.observed.HubPasswords},
	} {
		data, err := secretData(ctx, at.reader, at.where, namespace, name)
		if err != nil || !maps.EqualFunc(data, at.seen, bytes.Equal) {
			return err
		}
	}
	return r.writeSecrets(ctx, w, passwordSecret(w.desired, credentials.Settled(w.observed.SitePasswords)), true, true)
}

// refreshPod touches an annotation of the pod: a changed pod is synchronized at once, its volumes with it.
func (r *Reconciler) refreshPod(ctx context.Context, w *world, s RefreshPod) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		annotationRefreshed: r.now().UTC().Format(time.RFC3339Nano)}}})
	if err != nil {
		return fmt.Errorf("encode an annotation: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.desired.Server.Namespace, Name: s.Name}}
	return client.IgnoreNotFound(
		w.member.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner),
	)
}

// writeSecrets writes the site's Secret first: it is what a rebuilt hub adopts.
func (r *Reconciler) writeSecrets(ctx context.Context, w *world, secret *corev1.Secret, site, hub bool) error {
	if site {
		if err := w.member.Apply(ctx, secret); err != nil {
			return fmt.Errorf("at site %s: %w", w.member.Name(), err)
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

func (r *Reconciler) restartPod(ctx context.Context, w *world, s RestartPod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.desired.Server.Namespace, Name: s.Name}}
	err := w.member.Client.Delete(ctx, pod, client.Preconditions{UID: &s.UID, ResourceVersion: &s.Version})
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
		ObjectMeta: metav1.ObjectMeta{Namespace: w.desired.Server.Namespace, Name: w.desired.Server.Name},
	}
	return w.member.Client.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch), sites.FieldOwner+"-restarts")
}

func (r *Reconciler) execute(ctx context.Context, w *world, s Execute) error {
	t := target(w.desired, s.Role)
	t.Database = s.Database
	db, err := r.connector.Open(ctx, t)
	if err != nil {
		return err
	}
	return db.Exec(ctx, s.Statement)
}
