// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// passwordKey is the key of a password in its Secret unless another is given.
const passwordKey = "password"

// MakePassword makes a password, and writes it into the Secret that the operator keeps for it. The statement that gives
// it to the login follows once it is read from there: one that was given and not kept would let nobody in.
type MakePassword struct {
	// Request that it is made for; empty for the first one.
	Request string
}

// Describe says which.
func (s MakePassword) Describe() string {
	if s.Request == "" {
		return "make the password of the login, and keep it in its Secret"
	}
	return "make another password of the login, as was asked for, and keep it in its Secret"
}

// generates tells that the operator makes the password.
func (d Desired) generates() bool { return d.Login.Spec.PasswordSecretRef == nil }

// generatedSecret is the name of the Secret that the operator keeps a password in.
func (d Desired) generatedSecret() string { return d.Login.Name + "-password" }

// unusedPassword tells that what the operator made as a password, if it did, is of no use any more: the Login is being
// deleted, or names a Secret.
func (d Desired) unusedPassword() bool {
	ref := d.Login.Spec.PasswordSecretRef
	return (d.Login.DeletionTimestamp != nil || ref != nil && ref.Name != d.generatedSecret()) &&
		d.secretName() != d.generatedSecret()
}

// rotation is the request for another password, empty when there is none: one for another object of the name, as of
// before a restore, is none.
func (d Desired) rotation() string {
	request := d.Login.Annotations[v1alpha1.RotateAnnotation]
	if !d.generates() || !strings.HasPrefix(request, string(d.Login.UID)+"/") {
		return ""
	}
	return request
}

// dueToMake tells that a password is to be made: there is none, or another one was asked for.
func (d Desired) dueToMake() bool {
	return d.generates() && d.NoPassword == "" && (d.Password == "" || d.rotation() != "" && d.rotation() != d.PasswordFor)
}

// inUse is why no password is made although there is none: the login is there, so applications have one that was kept
// and is gone, or it is not known whether it is. Nil where nobody has one yet, or another one was asked for.
func inUse(d Desired, o Observed) *conditions.Outcome {
	if d.rotation() != "" {
		return nil
	}
	for _, server := range d.Servers {
		switch s := o.Servers[server]; {
		case s.Err != nil:
			held := conditions.Unknown(v1alpha1.ReasonLoginUnknown, fmt.Sprintf(
				"a password is made once it is known that no server has the login yet: %s (%v)",
				credentials.HostName(server), s.Err))
			return &held
		case s.Login != nil:
			held := conditions.Stalled(v1alpha1.ReasonReferenceMissing, fmt.Sprintf(
				"Secret %s, which had the password, is gone, and login %s is on %s: put the password into a Secret and name that "+
					"in spec.passwordSecretRef (a site's connection Secret may have it still), or have another one made, which "+
					"shuts out who has the former one: kubectl geosql login rotate %s -n %s",
				d.generatedSecret(), d.name(), credentials.HostName(server), d.Login.Name, d.Login.Namespace))
			return &held
		}
	}
	return nil
}

// lacksPassword is why there is no password to give to the login; nil where there is one, or one is to be made.
func lacksPassword(d Desired, o Observed) *conditions.Outcome {
	if d.NoPassword != "" {
		missing := conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.NoPassword)
		return &missing
	}
	if d.dueToMake() {
		return inUse(d, o)
	}
	return nil
}

// everywhere tells that each server was seen to have the login.
func everywhere(d Desired, o Observed) bool {
	return len(d.Servers) > 0 && !slices.ContainsFunc(d.Servers, func(server v1alpha1.ServerName) bool {
		s := o.Servers[server]
		return s.Err != nil || s.Login == nil
	})
}

// password reads the password.
func (r *Reconciler) password(ctx context.Context, d *Desired) error {
	name, key := d.generatedSecret(), passwordKey
	if ref := d.Login.Spec.PasswordSecretRef; ref != nil {
		name = ref.Name
		if ref.Key != "" {
			key = ref.Key
		}
	}
	secret, err := r.secret(ctx, d.Login.Namespace, name)
	if err != nil {
		return err
	}
	if secret != nil {
		d.Password = strings.TrimRight(string(secret.Data[key]), "\r\n")
		d.PasswordFor = secret.Annotations[v1alpha1.RotateAnnotation]
	}
	switch {
	case d.generates() && secret != nil && !own(d.Login, secret):
		d.NoPassword = fmt.Sprintf("Secret %s, which the password would be kept in, was made by somebody else: name it in "+
			"spec.passwordSecretRef, or delete it", name)
	case !d.generates() && d.Password == "":
		d.NoPassword = fmt.Sprintf("Secret %s with key %s is needed for the password", name, key)
	}
	return nil
}

// own tells that the operator made a Secret for the Login.
func own(l *v1alpha1.Login, secret *corev1.Secret) bool {
	return secret.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy &&
		secret.Labels[v1alpha1.LabelLogin] == l.Name && secret.Labels[v1alpha1.LabelNamespace] == l.Namespace
}

// ownLabels are those of the Secrets that the operator makes for the Login.
func (d Desired) ownLabels() map[string]string {
	labels := maps.Clone(map[string]string(sites.OwnLabels()))
	labels[v1alpha1.LabelNamespace], labels[v1alpha1.LabelLogin] = d.Login.Namespace, d.Login.Name
	return labels
}

// makePassword writes another password over the one that was read. It has no owner reference: after a restore the
// garbage collector would take it, and the applications' password with it.
func (r *Reconciler) makePassword(ctx context.Context, d Desired, s MakePassword) error {
	password, err := credentials.NewPassword()
	if err != nil {
		return fmt.Errorf("make the password of login %s: %w", d.name(), err)
	}
	secret, err := r.secret(ctx, d.Login.Namespace, d.generatedSecret())
	if err != nil {
		return err
	}
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Login.Namespace, Name: d.generatedSecret(), Labels: d.ownLabels()},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{passwordKey: []byte(password)}}
	if s.Request != "" {
		made.Annotations = map[string]string{v1alpha1.RotateAnnotation: s.Request}
	}
	if secret == nil {
		err = r.hub.Create(ctx, made, owner)
	} else if string(secret.Data[passwordKey]) == d.Password && secret.Annotations[v1alpha1.RotateAnnotation] ==
		d.PasswordFor {
		// Another manager, or the pass before, may have made one since this was read: that one stays.
		before := secret.DeepCopy()
		secret.Data, secret.Annotations = made.Data, made.Annotations
		err = r.hub.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner)
	}
	if err != nil {
		return fmt.Errorf("write the password of login %s into Secret %s/%s: %w", d.name(), d.Login.Namespace,
			d.generatedSecret(), err)
	}
	return nil
}
