// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sort"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"geosql.dev/operator/api/v1alpha1"
)

// prober asks a site's API server how it is, over connections of its own that it drops after every failure, so that no
// half-open connection hides that the site is back.
type prober struct {
	site       v1alpha1.SiteName
	namespaces []string
	expires    time.Time
	dialer     *connrotation.Dialer
	client     kubernetes.Interface
	needed     authorizationv1.ResourceAttributes
	anonymous  bool
}

// answer of a probe.
type answer struct {
	at         time.Time
	roundTrip  time.Duration
	version    string
	clusterUID string
	usable     []string
	unusable   map[string]string
	// gone are the unusable ones that do not exist, or are being deleted.
	gone map[string]bool
}

func newProber(run *engagement) (*prober, error) {
	p := &prober{
		site:       run.name,
		namespaces: run.site.Spec.AllowedNamespaces,
		needed:     run.p.opts.Needed,
		anonymous:  run.p.opts.Anonymous,
	}
	p.expires, _ = CredentialsExpire(run.cfg)
	p.dialer = newDialer()
	cfg := rest.CopyConfig(run.cfg)
	cfg.Dial = p.dialer.DialContext
	cfg.QPS, cfg.Burst = -1, -1
	cfg.Wrap(run.clock.Wrap)
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client for site %s: %w", run.name, err)
	}
	p.client = c
	return p, nil
}

func newDialer() *connrotation.Dialer {
	d := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 10 * time.Second}
	return connrotation.NewDialer(d.DialContext)
}

// full asks everything. The round trip is measured last, on a connection that is open by then.
func (p *prober) full(ctx context.Context) (answer, error) {
	if _, err := p.beat(ctx); err != nil {
		return answer{}, err
	}
	a := answer{unusable: map[string]string{}, gone: map[string]bool{}}
	if !p.anonymous {
		system, err := p.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return a, p.failed(fmt.Errorf("reading namespace %s: %w", metav1.NamespaceSystem, err))
		}
		a.clusterUID = string(system.UID)
	}
	for _, name := range p.namespaces {
		reason, gone, err := p.namespace(ctx, name)
		if err != nil {
			return a, p.failed(err)
		}
		if reason == "" {
			a.usable = append(a.usable, name)
		} else {
			a.unusable[name], a.gone[name] = reason, gone
		}
	}
	sort.Strings(a.usable)
	last, err := p.beat(ctx)
	a.at, a.roundTrip, a.version = last.at, last.roundTrip, last.version
	return a, err
}

// beat is one small question. A token or certificate that is no longer accepted makes it fail with 401, although
// /version is open to everybody.
func (p *prober) beat(ctx context.Context) (answer, error) {
	start := time.Now()
	body, err := p.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return answer{}, p.failed(fmt.Errorf("asking for the version: %w", err))
	}
	a := answer{at: start, roundTrip: time.Since(start)}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return answer{}, p.failed(fmt.Errorf("the server does not speak like a Kubernetes API server: %w", err))
	}
	a.version = info.GitVersion
	return a, nil
}

// namespace returns why a namespace cannot be used, or "", and whether that is because it is gone or going.
func (p *prober) namespace(ctx context.Context, name string) (reason string, gone bool, err error) {
	ns, err := p.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "it does not exist there", true, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	if ns.DeletionTimestamp != nil {
		return "it is being deleted there", true, nil
	}
	needed := p.needed
	needed.Namespace = name
	review, err := p.client.AuthorizationV1().
		SelfSubjectAccessReviews().
		Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &needed},
		}, metav1.CreateOptions{})
	if err != nil {
		return "", false, fmt.Errorf("asking for the rights in namespace %s: %w", name, err)
	}
	if !review.Status.Allowed {
		return "the credentials have no rights there", false, nil
	}
	return "", false, nil
}

// failed drops the connections and says in the site's terms what happened.
func (p *prober) failed(err error) error {
	p.dialer.CloseAll()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch status.Status().Code {
		case http.StatusUnauthorized, http.StatusForbidden:
			denied := &CredentialsError{Site: p.site, Cause: err}
			if !p.expires.IsZero() && time.Now().After(p.expires) {
				denied.Expired = p.expires
			}
			return denied
		}
	}
	return err
}
