// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// ConfigurationName is the name of the ValidatingWebhookConfiguration that the chart installs and into which the
// manager writes its CA.
const ConfigurationName = "geosql-operator"

// SecretName is the name of the Secret, in the operator's namespace, with the CA and the certificate by which the
// manager serves webhooks and metrics. ca.crt has the CA, and those before it that have not ended.
const SecretName = "geosql-operator-webhook"

// keys of the Secret.
const (
	keyCA    = "ca.crt"
	keyCAKey = "ca.key"
)

// recheck is how often the certificate and the CA in the webhook configuration are looked at.
const recheck = time.Minute

// ServingOptions say under which names the manager is called.
type ServingOptions struct {
	// Namespace of the operator.
	Namespace string
	// Service of the webhooks in it, and MetricsService, that of the metrics; empty where there is none.
	Service, MetricsService string
	// Host, a name or an IP address, at which the API server calls when that is not the Service.
	Host string
	// Clock compares the manager's clock with the hub's: by one that is wrong nothing is issued.
	Clock *sites.Clock
}

// Serving keeps the certificate by which the manager serves webhooks and metrics: issued by a CA of its own that lives
// in a Secret, renewed when two thirds of its life are over, and trusted by the API server because the manager writes
// the CA into the ValidatingWebhookConfiguration. Every manager serves, also one that does not lead.
type Serving struct {
	opts    ServingOptions
	log     logr.Logger
	client  client.Client
	reader  client.Reader
	current atomic.Pointer[tls.Certificate]
	// leaf is the PEM of current.
	leaf atomic.Pointer[[]byte]
}

// NewServing makes a Serving; SetupWithManager must be called before the manager starts.
func NewServing(opts ServingOptions) *Serving { return &Serving{opts: opts} }

// TLSOptions make a server show the current certificate.
func (s *Serving) TLSOptions() []func(*tls.Config) {
	return []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert := s.current.Load()
			if cert == nil {
				return nil, errNotReady
			}
			return cert, nil
		}
	}}
}

// SetupWithManager adds the keeping of the certificate to the manager.
func (s *Serving) SetupWithManager(mgr manager.Manager) error {
	s.client, s.reader = mgr.GetClient(), mgr.GetAPIReader()
	s.log = mgr.GetLogger().WithName("webhook-certificate")
	if err := mgr.AddReadyzCheck("webhook-certificate", s.ready); err != nil {
		return err
	}
	return mgr.Add(s)
}

// NeedLeaderElection says that every manager serves.
func (s *Serving) NeedLeaderElection() bool { return false }

// Start keeps certificate and configuration right until ctx ends.
func (s *Serving) Start(ctx context.Context) error {
	for {
		wait := recheck
		if err := s.ensure(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			s.log.Error(err, "keeping the webhook certificate; trying again")
			wait = 2 * time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (s *Serving) ensure(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, 20*time.Second)
	defer cancel()
	secret, err := s.ensureSecret(ctx)
	if secret == nil {
		return err
	}
	wrote, injection := s.inject(ctx, secret.Data[keyCA])
	if s.current.Load() == nil || injection == nil && !wrote {
		// What is of another CA is shown from the next look on: API servers hear of the CA some time after it is written.
		err = errors.Join(err, s.use(secret))
	}
	return errors.Join(err, injection)
}

// errNotReady says that nothing was issued, or read, so far.
var errNotReady = errors.New("the certificate of webhooks and metrics is not ready yet")

// ensureSecret returns a Secret with a certificate that is good for a while, or, with an error, the one that is there
// and cannot be renewed now. When two managers issue at once, one write fails and that manager reads the other's.
func (s *Serving) ensureSecret(ctx context.Context) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: s.opts.Namespace, Name: SecretName}
	for attempt := 0; attempt < 5; attempt++ {
		secret := &corev1.Secret{}
		err := s.reader.Get(ctx, key, secret)
		exists := err == nil
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading the Secret %s: %w", key, err)
		}
		if exists && s.good(secret, time.Now()) {
			return secret, nil
		}
		if err := s.clockDiffers(time.Now()); err != nil {
			if !exists {
				secret = nil
			}
			return secret, err
		}
		data, err := s.issue(secret.Data, time.Now())
		if err != nil {
			return nil, err
		}
		secret.Type, secret.Data = corev1.SecretTypeTLS, data
		if exists {
			err = s.client.Update(ctx, secret)
		} else {
			secret.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
				Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}}
			err = s.client.Create(ctx, secret)
		}
		if err == nil {
			s.log.Info("issued a certificate for webhooks and metrics")
			return secret, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("writing the Secret %s: %w", key, err)
		}
	}
	return nil, fmt.Errorf("writing the Secret %s: other managers keep changing it", key)
}

// use makes the Secret's certificate the one that is shown.
func (s *Serving) use(secret *corev1.Secret) error {
	leaf := secret.Data[corev1.TLSCertKey]
	if old := s.leaf.Load(); old != nil && bytes.Equal(*old, leaf) {
		return nil
	}
	cert, err := tls.X509KeyPair(leaf, secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("the Secret %s/%s holds no usable certificate: %w", s.opts.Namespace, SecretName, err)
	}
	s.current.Store(&cert)
	s.leaf.Store(&leaf)
	return nil
}

// inject writes the CAs into every webhook of the configuration, and tells whether they were others. A configuration
// that does not exist is a manager that runs without the chart's: there is nothing to inject.
func (s *Serving) inject(ctx context.Context, ca []byte) (wrote bool, err error) {
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	err = s.reader.Get(ctx, client.ObjectKey{Name: ConfigurationName}, &configuration)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the ValidatingWebhookConfiguration %s: %w", ConfigurationName, err)
	}
	before := configuration.DeepCopy()
	for i := range configuration.Webhooks {
		if !bytes.Equal(configuration.Webhooks[i].ClientConfig.CABundle, ca) {
			configuration.Webhooks[i].ClientConfig.CABundle = ca
			wrote = true
		}
	}
	if !wrote {
		return false, nil
	}
	if err := s.client.Patch(ctx, &configuration, client.MergeFrom(before)); err != nil {
		return false, fmt.Errorf("writing the CA into the ValidatingWebhookConfiguration %s: %w", ConfigurationName, err)
	}
	s.log.Info("wrote the CA into the webhook configuration")
	return true, nil
}
