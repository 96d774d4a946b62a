// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// authorizeMetrics lets those read metrics whose bearer token the API server knows (TokenReview) and who may get the
// non-resource path /metrics (SubjectAccessReview).
func authorizeMetrics(cfg *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	c, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a client to authorize readers of metrics: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
			defer cancel()
			code, err := mayRead(ctx, c, r)
			if err != nil {
				log.Error(err, "authorizing a reader of metrics")
			}
			if code != http.StatusOK {
				http.Error(w, http.StatusText(code), code)
				return
			}
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

func mayRead(ctx context.Context, c kubernetes.Interface, r *http.Request) (int, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	review, err := c.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("reviewing a token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	access, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}},
	}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("reviewing the access of %s: %w", user.Username, err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
