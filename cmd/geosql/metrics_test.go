// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Metrics are for those whom the API server knows and allows.
func TestMetricsAreForThoseWhoMay(t *testing.T) {
	api := fake.NewClientset()
	api.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: review.Spec.Token != "forged",
			User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		return true, review, nil
	})
	api.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		n := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && n.Path == "/metrics" && n.Verb == "get"
		return true, review, nil
	})
	for header, want := range map[string]int{
		"":                  http.StatusUnauthorized,
		"Basic cHJvbQ==":    http.StatusUnauthorized,
		"Bearer ":           http.StatusUnauthorized,
		"Bearer forged":     http.StatusUnauthorized,
		"Bearer somebody":   http.StatusForbidden,
		"Bearer prometheus": http.StatusOK,
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Authorization", header)
		code, err := mayRead(context.Background(), api, r)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(code).To(Equal(want), "%q", header)
	}
}
