// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// Pods runs commands in pods.
type Pods interface {
	// Run returns what the command wrote to its standard output. The error carries what it wrote to the other.
	Run(ctx context.Context, config *rest.Config, namespace, pod, container string, command ...string) ([]byte, error)
}

// podExec runs commands through the API server of the pod's site.
type podExec struct{}

// maxComplaint bounds how much of a command's complaint is kept.
const maxComplaint = 400

// Run implements Pods.
func (podExec) Run(
	ctx context.Context,
	config *rest.Config,
	namespace, pod, container string,
	command ...string,
) ([]byte, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for pod %s: %w", pod, err)
	}
	target := rc.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true},
			scheme.ParameterCodec).
		URL()
	executor, err := executorFor(config, target)
	if err != nil {
		return nil, fmt.Errorf("run a command in pod %s: %w", pod, err)
	}
	var out, complaint bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &complaint}); err != nil {
		text := strings.TrimSpace(complaint.String())
		return nil, fmt.Errorf(
			"run %s in container %s of pod %s: %w: %s",
			strings.Join(command[:min(len(command), 3)], " "),
			container,
			pod,
			err,
			conditions.Shorten(text, maxComplaint),
		)
	}
	return out.Bytes(), nil
}

// notSpoken says that the command was not begun because WebSocket is not understood on the way. After any other error -
// the command's own, a time-out, a stream that broke - it may have run, and must not run a second time.
func notSpoken(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// executorFor speaks WebSocket, and SPDY with API servers that do not.
func executorFor(config *rest.Config, target *url.URL) (remotecommand.Executor, error) {
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	if err != nil {
		return nil, err
	}
	socket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, target.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, notSpoken)
}
