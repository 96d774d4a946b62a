// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// observe reads what is there of a server that is wanted, or what is left of one that is being deleted. A site that
// can't be used is part of the observation, not an error.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	if d.Server.DeletionTimestamp != nil {
		return r.observeLeft(ctx, d)
	}
	o := Observed{Now: r.now(), Names: namesReady(d.Server), Site: d.unusable}
	if o.Site == nil {
		if err := r.observeAtSite(ctx, d, &o); err != nil {
			return o, err
		}
	}
	if r.settling.Of(o.Site, r.now()) {
		return o, reconcile.Later(lookSoon / 2)
	}
	return o, nil
}

func (r *Reconciler) observeAtSite(ctx context.Context, d Desired, o *Observed) error {
	for _, read := range []func(context.Context, Desired, *Observed) error{r.observeSecrets, r.observeStorage,
		r.observeAccount, r.observeWorkload, r.observeFormerIssue} {
		if err := read(ctx, d, o); err != nil {
			if unreachable(err) {
				// The site fell silent in between; its heartbeat will say so too.
				o.Site = &sites.UnreachableError{Site: d.Server.Spec.Site, Since: o.Now, Cause: err}
				return nil
			}
			return err
		}
	}
	var state sync.WaitGroup
	state.Go(func() { r.observeState(ctx, d, o) })
	o.Engine = r.observeEngine(ctx, d, o.Pod, o.HubPasswords)
	state.Wait()
	return r.observeTurns(ctx, d, o, d.groups)
}

// unreachable tells that a call to an API server got no answer.
func unreachable(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

func namesReady(server *v1alpha1.SQLServer) *metav1.Condition {
	return apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNamesReady)
}

// observeSecrets reads the server's Secrets at the site and in the hub, and the CA. They are read from the API servers:
// a password that was just written must not be made again because a cache is behind.
func (r *Reconciler) observeSecrets(ctx context.Context, d Desired, o *Observed) error {
	server := d.Server
	name := d.name()
	site := fmt.Sprintf("site %s", server.Spec.Site)
	var err error
	if o.SitePasswords, err = d.ownSecret(ctx, o, d.member.APIReader, site, credentials.PasswordsName(name)); err != nil {
		return err
	}
	o.SiteCertificate, err = d.ownSecret(ctx, o, d.member.APIReader, site, credentials.CertificateName(name))
	if err != nil {
		return err
	}
	if o.Readers, err = secretData(ctx, d.member.APIReader, site, server.Namespace, credentials.ReaderName); err != nil {
		return err
	}
	if o.HubPasswords, err = d.ownSecret(ctx, o, r.secrets, theHub, credentials.PasswordsName(name)); err != nil {
		return err
	}
	if o.HubCertificate, err = d.ownSecret(ctx, o, r.secrets, theHub, credentials.CertificateName(name)); err != nil {
		return err
	}
	if o.HubPasswords != nil && o.HubCertificate != nil {
		// A password is tried as it was read here, and nobody else needs to read it.
		r.connector.Keep(server.Namespace, name, mssql.Access{Passwords: o.HubPasswords,
			CA: credentials.TrustOf(o.HubCertificate)}, o.Now)
	} else {
		r.connector.Reread(server.Namespace, name)
	}
	if err := r.observeDeclared(ctx, d, o); err != nil {
		return err
	}
	o.SiteIsHub = d.member.Site.Spec.KubeconfigSecretRef == nil
	r.observePartners(ctx, d, o)
	if err := r.observeAuthority(ctx, d, o); err != nil {
		return err
	}
	r.observeClocks(d, o)
	o.ReadersFormer = reconcile.Asked(r.readersFormer(ctx, d, o))
	if authority := o.authority(d); len(authority) > 0 && o.changes(authority) {
		r.askPartners(ctx, d, o)
	}
	return nil
}

// observeClocks takes down how the manager's clock compares with those of hub and site, which have just answered.
func (r *Reconciler) observeClocks(d Desired, o *Observed) {
	now := r.now()
	for _, one := range []struct {
		of    string
		clock *sites.Clock
	}{{theHub, r.hubClock}, {fmt.Sprintf("site %s", d.Server.Spec.Site), d.member.Clock}} {
		if ahead, known := one.clock.Difference(now); known {
			o.Clocks = append(o.Clocks, Clock{Of: one.of, Ahead: ahead})
		}
	}
}

// observeAuthority reads the certificate of the user's or of the user's issuer, or the operator's CA.
func (r *Reconciler) observeAuthority(ctx context.Context, d Desired, o *Observed) (err error) {
	server := d.Server
	if d.issuer() != nil {
		return r.observeIssued(ctx, d, o)
	}
	if tls := server.Spec.TLS; tls != nil && tls.SecretName != "" {
		o.UserCertificate, err = secretData(ctx, r.secrets, theHub, server.Namespace, tls.SecretName)
		if err == nil && o.UserCertificate == nil {
			err = fmt.Errorf("secret %s/%s does not exist in the hub", server.Namespace, tls.SecretName)
		}
		o.UserCertificateError = err
		return nil
	}
	authority, err := secretData(ctx, r.secrets, theHub, r.namespace, credentials.CASecretName)
	if err != nil || authority == nil {
		return err
	}
	if o.Authority, err = credentials.ParseAuthority(authority); err != nil {
		o.Authority, o.AuthorityError = nil, fmt.Errorf("the operator's CA can't be used; restore or delete Secret %s/%s: %w",
			r.namespace, credentials.CASecretName, err)
	}
	return nil
}

// observePartners reads what the other servers of its groups show and trust. A site that was declared lost has nobody
// who could.
func (r *Reconciler) observePartners(ctx context.Context, d Desired, o *Observed) {
	namespace := d.Server.Namespace
	for _, name := range d.Partners {
		partner := Partner{Server: name}
		var server v1alpha1.SQLServer
		err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &server)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			if _, lost := r.sites.Member(server.Spec.Site); errors.Is(lost, sites.ErrSiteLost) {
				continue
			}
		}
		var data map[string][]byte
		if err == nil {
			data, err = secretData(ctx, r.secrets, theHub, namespace, credentials.CertificateName(name))
		}
		partner.Certificate = reconcile.Asked(data, err)
		o.Partners = append(o.Partners, partner)
	}
}

// theHub is what messages call the hub.
const theHub = "the hub"

// ownSecret is the data of one of the server's Secrets, nil when there is none, and notes if it is somebody else's.
// Passwords that a person has restored are the server's.
func (d Desired) ownSecret(
	ctx context.Context,
	o *Observed,
	reader client.Reader,
	where, name string,
) (map[string][]byte, error) {
	secret, err := readSecret(ctx, reader, where, d.Server.Namespace, name)
	if err != nil || secret == nil {
		return nil, err
	}
	restored := name == credentials.PasswordsName(d.name()) &&
		credentials.Passwords(secret.Data).Of(credentials.RoleSA) != ""
	// A Secret that spec.tls names may have the name that the operator would give it. Where it lies it is nobody else's.
	user := d.userSecret(name) && (where == theHub || d.member.Site.Spec.KubeconfigSecretRef == nil)
	if len(secret.Data) > 0 && !owned(d, secret.Labels) && !restored && !user {
		text := name + " of " + where
		if !slices.Contains(o.ForeignSecrets, text) {
			o.ForeignSecrets = append(o.ForeignSecrets, text)
		}
	}
	return dataOf(secret), nil
}

// secretData is the data of a Secret, nil when there is none.
func secretData(ctx context.Context, reader client.Reader, where, namespace, name string) (map[string][]byte, error) {
	secret, err := readSecret(ctx, reader, where, namespace, name)
	if err != nil || secret == nil {
		return nil, err
	}
	return dataOf(secret), nil
}

func dataOf(secret *corev1.Secret) map[string][]byte {
	if secret.Data == nil {
		return map[string][]byte{}
	}
	return secret.Data
}

// readSecret is a Secret, nil when there is none.
func readSecret(ctx context.Context, reader client.Reader, where, namespace, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var secret corev1.Secret
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s of %s: %w", namespace, name, where, err)
	}
	return &secret, nil
}

// observeStorage reads the server's claims with their volumes, and what the site says of nodes and storage.
func (r *Reconciler) observeStorage(ctx context.Context, d Desired, o *Observed) error {
	o.Claims = map[placement.Role]*corev1.PersistentVolumeClaim{}
	o.Bound = map[placement.Role]*corev1.PersistentVolume{}
	var (
		nodes      corev1.NodeList
		classes    storagev1.StorageClassList
		csiNodes   storagev1.CSINodeList
		capacities storagev1.CSIStorageCapacityList
		volumes    corev1.PersistentVolumeList
	)
	for _, list := range []client.ObjectList{&nodes, &classes, &csiNodes, &capacities, &volumes} {
		if err := d.member.Client.List(ctx, list); err != nil {
			return fmt.Errorf("list the objects of kind %s of site %s: %w", v1alpha1.ListedKind(list), d.member.Name(), err)
		}
	}
	o.Cluster = placement.Cluster{
		Nodes:      nodes.Items,
		Classes:    classes.Items,
		CSINodes:   csiNodes.Items,
		Capacities: capacities.Items,
	}
	byName := map[string]*corev1.PersistentVolume{}
	for i := range volumes.Items {
		byName[volumes.Items[i].Name] = &volumes.Items[i]
		if volumes.Items[i].Spec.ClaimRef == nil {
			o.Cluster.Volumes = append(o.Cluster.Volumes, volumes.Items[i])
		}
	}
	for _, role := range roles() {
		var c corev1.PersistentVolumeClaim
		found, err := r.find(ctx, d, claimName(d.Server.Name, role), &c)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		o.Claims[role] = &c
		if volume := byName[c.Spec.VolumeName]; volume != nil {
			o.Bound[role] = volume
		}
	}
	return nil
}

// observeWorkload reads the server's ConfigMap, StatefulSet and pod, and what its sidecar was told.
func (r *Reconciler) observeWorkload(ctx context.Context, d Desired, o *Observed) error {
	server := d.Server.Name
	var (
		conf corev1.ConfigMap
		set  appsv1.StatefulSet
		pod  corev1.Pod
		told corev1.Secret
	)
	if found, err := r.find(ctx, d, confName(server), &conf); err != nil {
		return err
	} else if found {
		o.ConfigMap = &conf
	}
	if found, err := r.find(ctx, d, server, &set); err != nil {
		return err
	} else if found {
		o.StatefulSet = &set
	}
	if found, err := r.find(ctx, d, d.host(), &pod); err != nil {
		return err
	} else if found {
		o.Pod = &pod
	}
	if _, err := r.find(ctx, d, credentials.OrdersName(d.name()), &told); err != nil {
		return err
	}
	o.Orders = told.Data
	if err := r.observeRefusal(ctx, d, o); err != nil {
		return err
	}
	if err := r.observeUnstarted(ctx, d, o); err != nil {
		return err
	}
	if err := r.observePolicy(ctx, d, o); err != nil {
		return err
	}
	return r.observeBudget(ctx, d, o)
}

// observeRefusal reads why there is no pod. A StatefulSet's controller tells it in events alone: a quota, a limit
// range, a policy, a priority class that is not there.
func (r *Reconciler) observeRefusal(ctx context.Context, d Desired, o *Observed) error {
	set := o.StatefulSet
	if o.Pod != nil || set == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var list corev1.EventList
	err := d.member.APIReader.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{
		"involvedObject.kind": "StatefulSet", "involvedObject.name": set.Name, "involvedObject.uid": string(set.UID),
		"reason": "FailedCreate"})
	if apierrors.IsForbidden(err) {
		// Without that right it stays unknown.
		return nil
	}
	if err != nil {
		return fmt.Errorf(
			"read the events of StatefulSet %s/%s at site %s: %w",
			set.Namespace,
			set.Name,
			d.member.Name(),
			err,
		)
	}
	o.Refusal = newestMessage(list.Items, o.Now)
	return nil
}

// refusedSince is how long ago the API server may have refused the pod last: a StatefulSet's controller tries again
// after 1000 s at most.
const refusedSince = 20 * time.Minute

// newestMessage is that of the event that happened last; empty when that is too long ago to tell of what is so.
func newestMessage(events []corev1.Event, now time.Time) string {
	var newest time.Time
	message := ""
	for _, e := range events {
		for _, at := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
			if at.After(newest) && now.Sub(at) < refusedSince {
				newest, message = at, e.Message
			}
		}
	}
	return message
}

// observeBudget reads the pod's PodDisruptionBudget from the API server: the kind is not among those that are watched
// at sites.
func (r *Reconciler) observeBudget(ctx context.Context, d Desired, o *Observed) error {
	var budget policyv1.PodDisruptionBudget
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: d.Server.Name}
	err := d.member.APIReader.Get(ctx, key, &budget)
	switch {
	case err == nil:
		o.Budget = &budget
	case apierrors.IsForbidden(err):
		o.BudgetDenied = true
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read PodDisruptionBudget %s at site %s: %w", key, d.member.Name(), err)
	}
	return nil
}

func (r *Reconciler) find(ctx context.Context, d Desired, name string, obj client.Object) (bool, error) {
	key := client.ObjectKey{Namespace: d.Server.Namespace, Name: name}
	err := d.member.Client.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s at site %s: %w", obj, key, d.member.Name(), err)
	}
	return true, nil
}

// callTimeout bounds one call to the hub's API server.
const callTimeout = 10 * time.Second
