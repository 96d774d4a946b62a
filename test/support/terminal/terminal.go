// SPDX-License-Identifier: Apache-2.0

// Package terminal runs the plugin's commands in tests as a person at a terminal does.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
)

// Run runs a command as a person would and returns what it prints.
func Run(t *testing.T, command *cobra.Command, input string, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetIn(strings.NewReader(input))
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(arguments)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// Hub is a hub in memory that has these objects.
func Hub(objects ...client.Object) *fake.ClientBuilder {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

// ExpectUnsure has a write end without an answer in several ways: each says that it is not known, and where to look. A
// refusal does not.
func ExpectUnsure(t *testing.T, look string, write func(err error) error) {
	t.Helper()
	g := gomega.NewWithT(t)
	for _, silence := range []error{
		context.DeadlineExceeded, apierrors.NewTimeoutError("slow", 1),
		&url.Error{Op: "Post", URL: "https://hub", Err: io.EOF}, apierrors.NewServiceUnavailable("a proxy lost the hub"),
	} {
		g.Expect(write(silence)).To(gomega.MatchError(gomega.And(
			gomega.ContainSubstring("whether it was written is not known"), gomega.HaveSuffix(look))))
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "failovers"}, "", errors.New("no"))
	g.Expect(write(forbidden)).To(gomega.MatchError(gomega.And(
		gomega.ContainSubstring("forbidden"), gomega.Not(gomega.ContainSubstring("not known")))))
}
