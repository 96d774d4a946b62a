// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// Exec runs a command in a pod's container ("" for its first) and returns its two outputs. It asks the API server
// itself: tests do so several times a second, and a process of kubectl for each of them takes more of a processor than
// the command.
func (s *Site) Exec(
	ctx context.Context,
	namespace, pod, container string,
	command ...string,
) (stdout, stderr string, err error) {
	var out, complaint bytes.Buffer
	executor, err := s.executor(
		namespace,
		pod,
		&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true},
	)
	if err == nil {
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &complaint})
	}
	if err != nil {
		err = fmt.Errorf(
			"run %s in pod %s/%s at %s: %w: %s",
			strings.Join(command, " "),
			namespace,
			pod,
			s.Name,
			err,
			strings.TrimSpace(complaint.String()),
		)
	}
	return out.String(), complaint.String(), err
}

// Attached is a command in a pod that is fed and read while it runs.
type Attached struct {
	// Stdin is the command's standard input, Stdout its standard output. Both fail when the command has ended.
	Stdin  io.WriteCloser
	Stdout io.Reader
	stop   context.CancelFunc
}

// endsWithin is how long a command has to end when it has read all that it will get.
const endsWithin = 2 * time.Second

// Close lets the command find the end of its standard input, and ends it where that does not.
func (a *Attached) Close() error {
	time.AfterFunc(endsWithin, a.stop)
	return a.Stdin.Close()
}

// Attach starts a command in the pod's first container. It ends with the context, when it is closed, or by itself.
func (s *Site) Attach(ctx context.Context, namespace, pod string, command ...string) (*Attached, error) {
	executor, err := s.executor(namespace, pod, &corev1.PodExecOptions{Command: command, Stdin: true, Stdout: true})
	if err != nil {
		return nil, fmt.Errorf("attach to a command in pod %s/%s at %s: %w", namespace, pod, s.Name, err)
	}
	ctx, stop := context.WithCancel(ctx)
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go func() {
		defer stop()
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out})
		if err == nil {
			err = io.EOF
		}
		_ = in.CloseWithError(err)
		_ = out.CloseWithError(err)
	}()
	return &Attached{Stdin: stdin, Stdout: stdout, stop: stop}, nil
}

// executor speaks WebSocket, as the API servers of the bed do.
func (s *Site) executor(namespace, pod string, options *corev1.PodExecOptions) (remotecommand.Executor, error) {
	target := s.Clientset.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("exec").
		VersionedParams(options, scheme.ParameterCodec).URL()
	return remotecommand.NewWebSocketExecutor(s.Config, http.MethodGet, target.String())
}
