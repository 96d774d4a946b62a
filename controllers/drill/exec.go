// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"

	"k8s.io/client-go/rest"

	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/sites/inpod"
)

// Pods runs commands in pods.
type Pods interface {
	// Run returns what the command wrote to its standard output. The error carries what it wrote to the other.
	Run(ctx context.Context, config *rest.Config, namespace, pod, container string, command ...string) ([]byte, error)
}

// podExec runs commands through the API server of the pod's site.
type podExec struct{}

// maxOutput bounds what a command may write, in bytes: twice what is kept of all that a drill's clients have.
const maxOutput = 2 * archive.DefaultTotal

// Run implements Pods.
func (podExec) Run(
	ctx context.Context,
	config *rest.Config,
	namespace, pod, container string,
	command ...string,
) ([]byte, error) {
	return inpod.Run(ctx, config, maxOutput, namespace, pod, container, command...)
}
