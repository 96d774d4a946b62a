// SPDX-License-Identifier: Apache-2.0

// Package inpod runs commands in pods, through the API server of their cluster.
package inpod

import (
	"bytes"
	"context"
	"errors"
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

const (
	// maxComplaint bounds how much of a command's complaint is told, in characters, and maxComplaints how much is read.
	maxComplaint, maxComplaints = 400, 64 << 10
)

// Run returns what a command wrote to its standard output, most bytes of it at most: one that writes more is ended, and
// has failed. The error carries what it wrote to the other.
func Run(
	ctx context.Context,
	config *rest.Config,
	most int,
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := capped{most: most, over: func() { cancel(errTooMuch) }}
	complaint := capped{most: maxComplaints}
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &complaint}); err != nil {
		return nil, failed(errors.Join(err, causeOf(ctx)), complaint.String(), pod, container, command)
	}
	if out.passed {
		return nil, failed(errTooMuch, complaint.String(), pod, container, command)
	}
	return out.Bytes(), nil
}

func failed(err error, complaint, pod, container string, command []string) error {
	return fmt.Errorf(
		"run %s in container %s of pod %s: %w: %s",
		strings.Join(command[:min(len(command), 3)], " "),
		container,
		pod,
		err,
		conditions.Shorten(strings.TrimSpace(complaint), maxComplaint),
	)
}

// errTooMuch is why a command is ended that writes on and on: a pod must not fill the memory of who runs it.
var errTooMuch = errors.New("it wrote more than is taken of it")

// causeOf is errTooMuch where that ended the command.
func causeOf(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errTooMuch) {
		return errTooMuch
	}
	return nil
}

// capped keeps what is written to it up to so many bytes. What comes after is dropped, and over is called, once.
type capped struct {
	bytes.Buffer
	most   int
	passed bool
	over   func()
}

// Write implements io.Writer. It takes everything: who writes would stop reading the stream otherwise.
func (c *capped) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), c.most-c.Len())])
	if c.Len() == c.most && !c.passed {
		c.passed = true
		if c.over != nil {
			c.over()
		}
	}
	return len(p), nil
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
