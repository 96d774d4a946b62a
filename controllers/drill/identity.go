// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
)

// identity is what runs of a server. Its text, String, is an entry of a fault's status.effect.identity.
type identity struct {
	server v1alpha1.ServerName
	// looked says that the server's site has answered; all else is empty when it has not.
	looked bool
	// pod is the UID of the server's pod; empty when its site says that there is none.
	pod types.UID
	// engine is the container of the engine; nil while the kubelet has not reported it.
	engine *engine
}

// engine is a container of an engine.
type engine struct {
	container string
	restarts  int32
	ready     bool
}

const (
	// noPod stands for a server whose site says that it has no pod, notLooked for one whose site does not answer.
	noPod, notLooked = "none", "unknown"
)

// String is the server's name, its pod's UID, the engine's container, how often that was started, and whether it is
// ready.
func (i identity) String() string {
	switch {
	case !i.looked:
		return fmt.Sprintf("%s %s", i.server, notLooked)
	case i.pod == "":
		return fmt.Sprintf("%s %s", i.server, noPod)
	case i.engine == nil:
		return fmt.Sprintf("%s %s", i.server, i.pod)
	}
	return fmt.Sprintf("%s %s %s %d %t", i.server, i.pod, i.engine.container, i.engine.restarts, i.engine.ready)
}

// parseIdentity reads what String has written.
func parseIdentity(text string) identity {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return identity{}
	}
	i := identity{server: v1alpha1.ServerName(fields[0])}
	if len(fields) == 1 || fields[1] == notLooked {
		return i
	}
	i.looked = true
	if fields[1] == noPod {
		return i
	}
	i.pod = types.UID(fields[1])
	if len(fields) == 5 {
		restarts, err := strconv.ParseInt(fields[3], 10, 32)
		ready, err2 := strconv.ParseBool(fields[4])
		if err == nil && err2 == nil {
			i.engine = &engine{container: fields[2], restarts: int32(restarts), ready: ready}
		}
	}
	return i
}

// identity of a server as it was seen now.
func (w *Observed) identity(name v1alpha1.ServerName) identity {
	i := identity{server: name}
	pod, looked := w.pods[name]
	i.looked = looked
	if pod == nil {
		return i
	}
	i.pod = pod.UID
	for _, c := range pod.Status.ContainerStatuses {
		// A container that waits to be started has no ID yet.
		if c.Name == fault.EngineContainer && c.ContainerID != "" {
			i.engine = &engine{container: c.ContainerID, restarts: c.RestartCount, ready: c.Ready}
		}
	}
	return i
}

// same says whether what a kind of fault takes away is the same in both: the pod, or the engine's container. It is not
// known while the kubelet has not reported a container.
func (i identity) same(before identity, kind v1alpha1.DrillFaultKind) (same, known bool) {
	switch {
	case kind == v1alpha1.FaultPodKill:
		return i.pod == before.pod, true
	case before.engine == nil:
		return false, false
	case i.pod == "":
		return false, true
	case i.engine == nil:
		return false, false
	}
	// Whether it is ready says nothing: a probe that fails kills no container.
	was, is := before.engine, i.engine
	return i.pod == before.pod && is.container == was.container && is.restarts == was.restarts, true
}
