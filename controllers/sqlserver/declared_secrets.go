// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// DeclaredSecret is a value that the specification takes from a Secret of the user's in the hub.
type DeclaredSecret struct {
	// Field of the specification that names the Secret; empty where none is named.
	Field string
	// Secret and Key as they are named.
	Secret, Key string
	// Value is nil where there is none, or where Wrong says why it can't be used.
	Value []byte
	// Missing tells that there is no such Secret, or no such key in it.
	Missing bool
	// Wrong is why the value can't be used.
	Wrong error
	// InTheWay is a Secret of somebody else's at the place where the operator would keep the value; empty for none.
	InTheWay string
}

// why says what is the matter with the Secret; empty when nothing is. It never has the value.
func (s DeclaredSecret) why() string {
	switch {
	case s.InTheWay != "":
		return fmt.Sprintf("Secret %s is not the operator's, which would keep there what Secret %s of %s has: remove it, or "+
			"name the server otherwise", s.InTheWay, s.Secret, s.Field)
	case s.Field == "" || s.Value != nil:
		return ""
	case s.Missing:
		return fmt.Sprintf("Secret %s of %s does not exist in the hub, or has no key %s", s.Secret, s.Field, s.Key)
	}
	return fmt.Sprintf("Secret %s of %s can't be used: of key %s, %v", s.Secret, s.Field, s.Key, s.Wrong)
}

// outcome is that of a server that can't be made without the Secret.
func (s DeclaredSecret) outcome() conditions.Outcome {
	switch {
	case s.InTheWay != "":
		return conditions.Stalled(v1alpha1.ReasonObjectConflict, s.why())
	case s.Missing:
		return conditions.InProgress(v1alpha1.ReasonReferenceMissing, s.why())
	}
	return conditions.Stalled(v1alpha1.ReasonSecretNotTaken, s.why())
}

// kept is the outcome of a server that serves without the Secret.
func (s DeclaredSecret) kept() conditions.Outcome {
	message := s.why() + ". The server goes on with the value that it has; everything else is as declared"
	if s.Missing && s.InTheWay == "" {
		return conditions.InProgress(v1alpha1.ReasonSecretKept, message)
	}
	return conditions.Stalled(v1alpha1.ReasonSecretKept, message)
}

// observeDeclared reads what the specification takes from Secrets of the user's.
func (r *Reconciler) observeDeclared(ctx context.Context, d Desired, o *Observed) (err error) {
	spec := d.Server.Spec
	if o.DeclaredSA, err = r.declaredSecret(ctx, d, "spec.saPasswordSecretRef", spec.SAPasswordSecretRef,
		credentials.KeyPassword, credentials.CheckPassword); err != nil {
		return err
	}
	if o.DeclaredKey, err = r.declaredSecret(ctx, d, "spec.productKeySecretRef", spec.ProductKeySecretRef,
		credentials.KeyProductKey, credentials.CheckProductKey); err != nil {
		return err
	}
	name := credentials.ProductKeyName(d.name())
	if spec.ProductKeySecretRef != nil {
		site := fmt.Sprintf("site %s", spec.Site)
		secret, err := readSecret(ctx, d.member.APIReader, site, d.Server.Namespace, name)
		switch {
		case err != nil || secret == nil:
			return err
		case owned(d, secret.Labels):
			o.ProductKey = dataOf(secret)
		default:
			o.DeclaredKey.InTheWay = name + " of " + site
		}
		return nil
	}
	// The cache has the operator's own alone: what may be left of a key that was declared.
	var secret corev1.Secret
	found, err := r.find(ctx, d, name, &secret)
	if found {
		o.ProductKey = dataOf(&secret)
	}
	return err
}

func (r *Reconciler) declaredSecret(ctx context.Context, d Desired, field string, ref *v1alpha1.SecretReference,
	key string, check func([]byte) error) (DeclaredSecret, error) {
	if ref == nil {
		return DeclaredSecret{}, nil
	}
	s := DeclaredSecret{Field: field, Secret: ref.Name, Key: cmp.Or(ref.Key, key)}
	data, err := secretData(ctx, r.secrets, theHub, d.Server.Namespace, ref.Name)
	if err != nil {
		return s, err
	}
	// What `echo` and editors add is no part of a password that anybody means.
	value := bytes.TrimRight(data[s.Key], "\r\n")
	if s.Missing = len(value) == 0; s.Missing {
		return s, nil
	}
	if s.Wrong = check(value); s.Wrong == nil {
		s.Value = value
	}
	return s, nil
}

// productKey is the one that the engine is to have: the declared one, or while that can't be used the one it has; nil
// where it has none.
func (o Observed) productKey() []byte {
	switch {
	case o.DeclaredKey.Field == "" || o.DeclaredKey.InTheWay != "":
		return nil
	case o.DeclaredKey.Value != nil:
		return o.DeclaredKey.Value
	}
	return o.ProductKey[credentials.KeyProductKey]
}

// keepEdition has a server go on with what its pod is made with while there is no product key that can be used: nothing
// else of it waits for one.
func keepEdition(d Desired, o Observed) Desired {
	if d.Server.Spec.ProductKeySecretRef == nil || o.productKey() != nil || o.StatefulSet == nil {
		return d
	}
	template := o.StatefulSet.Spec.Template
	for _, c := range template.Spec.Containers {
		for _, v := range c.Env {
			if c.Name == ContainerEngine && v.Name == productKeyVariable {
				d.keptEdition, d.keptMark = &v, template.Annotations[annotationProductKey]
			}
		}
	}
	return d
}

func productKeySecret(d Desired, key []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta(d, credentials.ProductKeyName(d.name())),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{credentials.KeyProductKey: key},
	}
}

// RemoveProductKey deletes the site's copy of a product key that is declared no more.
type RemoveProductKey struct{ Secret string }

// Describe names the Secret.
func (s RemoveProductKey) Describe() string {
	return "delete Secret " + s.Secret + ": no product key is declared any more"
}

func (r *Reconciler) removeProductKey(ctx context.Context, d Desired, s RemoveProductKey) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Server.Namespace, Name: s.Secret}}
	return removeOwn(ctx, d, d.member.APIReader, d.member.Client, secret)
}

// planProductKey brings the product key to the site before the pod that needs it.
func planProductKey(d Desired, o Observed, p *reconcile.Plan) bool {
	have, key := o.ProductKey, o.productKey()
	switch {
	case o.DeclaredKey.Field == "":
		// A pod that has it could not start its engine again without.
		if have != nil && o.Pod != nil && !hasProductKey(o.Pod) {
			p.Beside(RemoveProductKey{Secret: credentials.ProductKeyName(d.name())}, "")
		}
		return true
	case key == nil && d.keptEdition != nil:
		// planKeptSecrets says so, once everything else is as declared.
		return true
	case key == nil:
		return p.Settle(o.DeclaredKey.outcome())
	case !bytes.Equal(have[credentials.KeyProductKey], key):
		p.Add(ApplyObject{Object: productKeySecret(d, key), Reason: "the product key that is declared is another one"})
		return p.Settle(inProgress("the product key is being written"))
	}
	return true
}

func hasProductKey(pod *corev1.Pod) bool {
	for _, c := range pod.Spec.Containers {
		for _, v := range c.Env {
			if c.Name == ContainerEngine && v.Name == productKeyVariable {
				return v.ValueFrom != nil
			}
		}
	}
	return false
}

// planKeptSecrets says, when everything else is as declared, which Secret of the user's the server goes on without.
func planKeptSecrets(_ Desired, o Observed, p *reconcile.Plan) bool {
	for _, s := range []DeclaredSecret{o.DeclaredSA, o.DeclaredKey} {
		if s.why() != "" {
			return p.Settle(s.kept())
		}
	}
	return true
}

// userSA is the password of sa that is declared, as it is now.
func (r *Reconciler) userSA(ctx context.Context, d Desired) ([]byte, error) {
	s, err := r.declaredSecret(ctx, d, "spec.saPasswordSecretRef", d.Server.Spec.SAPasswordSecretRef,
		credentials.KeyPassword, credentials.CheckPassword)
	return s.Value, err
}
