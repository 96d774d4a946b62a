// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/report"
	"geosql.dev/operator/internal/sites"
)

const (
	// evidenceFolder names the folder for what tests leave; they leave it in the bed's cache otherwise.
	evidenceFolder = "GEOSQL_TEST_RESULTS"
	// evidenceWithin bounds how long the end of a test that has failed waits for its evidence.
	evidenceWithin = 30 * time.Second
	// maxLog of a container, the newest, and maxConditions of all objects are written.
	maxLog, maxConditions = 4 << 20, 1 << 20
	// logLines are asked for of a container; formerLines of one that ended before.
	logLines, formerLines = 20_000, 2000
	// maxListed are the objects of a kind.
	maxListed = 500
)

// failing is what is asked of a test.
type failing interface {
	Name() string
	Failed() bool
	Logf(format string, arguments ...any)
}

// evidence is what a test that has failed leaves for whoever looks why: the conditions of all objects of the hub, and
// what the managers have logged since it began.
type evidence struct {
	t       failing
	began   time.Time
	folder  string
	objects client.Reader
	pods    typedcorev1.PodsGetter

	mu   sync.Mutex
	done bool
}

// ofTests are the evidences of the tests that have opened the bed: a test may open it more than once, also in its end.
var ofTests sync.Map

// evidenceOf has a test that has opened the bed for the first time leave evidence when it has failed.
func (b *Bed) evidenceOf(t testing.TB) *evidence {
	e := &evidence{t: t, began: time.Now(), folder: os.Getenv(evidenceFolder)}
	if e.folder == "" {
		e.folder = filepath.Join(b.Cache, "failed")
	}
	if known, is := ofTests.LoadOrStore(t, e); is {
		return known.(*evidence)
	}
	t.Cleanup(e.end)
	return e
}

// of says where the evidence is. Until then there is none: a test that finds no bed has touched nothing.
func (e *evidence) of(hub *Site) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.objects, e.pods = hub.Client, hub.Clientset.CoreV1()
}

// end is the last look. After it the test writes no line any more, while others may go on with its clients.
func (e *evidence) end() {
	e.keep()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
}

// keep writes the file, once, if the test has failed.
func (e *evidence) keep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || e.pods == nil || !e.t.Failed() {
		return
	}
	e.done = true
	ctx, cancel := context.WithTimeout(context.Background(), evidenceWithin)
	defer cancel()
	path, err := e.write(ctx)
	if err != nil {
		e.t.Logf("what the managers logged cannot be kept: %v", err)
		return
	}
	e.t.Logf("what the managers logged since the test began, and the conditions of all objects: %s", path)
}

// write says in the file itself what could not be read.
func (e *evidence) write(ctx context.Context) (string, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s, begun %s, failed before %s\n", e.t.Name(), e.began.UTC().Format(time.RFC3339),
		time.Now().UTC().Format(time.RFC3339))
	e.conditions(ctx, &text)
	e.logs(ctx, &text)
	if err := os.MkdirAll(e.folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(e.folder, strings.NewReplacer("/", "-", " ", "-").Replace(e.t.Name())+".failed.txt")
	return path, os.WriteFile(path, []byte(report.Clean(text.String())), 0o600)
}

// conditions adds those of every object of the operator's kinds.
func (e *evidence) conditions(ctx context.Context, text *bytes.Buffer) {
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := e.objects.List(ctx, list, client.Limit(maxListed)); err != nil {
			fmt.Fprintf(text, "\n%s: %v\n", kind, err)
			continue
		}
		for _, o := range list.Items {
			if text.Len() > maxConditions {
				fmt.Fprintf(text, "\nwhat comes after %s %s/%s is left out\n", kind, o.GetNamespace(), o.GetName())
				return
			}
			fmt.Fprintf(text, "\n%s %s/%s, generation %d", kind, o.GetNamespace(), o.GetName(), o.GetGeneration())
			if at := o.GetDeletionTimestamp(); at != nil {
				fmt.Fprintf(text, ", being deleted since %s", at.UTC().Format(time.RFC3339))
			}
			text.WriteString("\n")
			all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			for _, c := range all {
				if c, is := c.(map[string]any); is {
					fmt.Fprintf(text, "  %v %v %v since %v (generation %v): %v\n", c["type"], c["status"], c["reason"],
						c["lastTransitionTime"], c["observedGeneration"], c["message"])
				}
			}
		}
	}
}

// kinds are those of the operator, sorted.
func kinds() (all []string) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	known, own := scheme.KnownTypes(v1alpha1.GroupVersion), reflect.TypeFor[v1alpha1.Site]().PkgPath()
	for name := range known {
		if list, is := known[name+"List"]; is && list.PkgPath() == own {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// logs adds those of the managers that there are, and of those that ran in their pods before.
func (e *evidence) logs(ctx context.Context, text *bytes.Buffer) {
	pods, err := e.pods.Pods(sites.OperatorNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=geosql-operator"})
	if err != nil {
		fmt.Fprintf(text, "\nthe managers' pods: %v\n", err)
		return
	}
	since := metav1.NewTime(e.began)
	for _, pod := range pods.Items {
		fmt.Fprintf(text, "\npod %s, made %s, on node %s, %s\n", pod.Name, pod.CreationTimestamp.UTC().Format(time.RFC3339),
			pod.Spec.NodeName, pod.Status.Phase)
		for _, c := range pod.Spec.Containers {
			restarted := slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
				return s.Name == c.Name && s.RestartCount > 0
			})
			if restarted {
				e.log(ctx, text, pod.Name, &corev1.PodLogOptions{Container: c.Name, Timestamps: true, Previous: true,
					TailLines: ptr.To[int64](formerLines)})
			}
			e.log(ctx, text, pod.Name, &corev1.PodLogOptions{Container: c.Name, Timestamps: true, SinceTime: &since,
				TailLines: ptr.To[int64](logLines)})
		}
	}
}

func (e *evidence) log(ctx context.Context, text *bytes.Buffer, pod string, o *corev1.PodLogOptions) {
	fmt.Fprintf(text, "\nlog of container %s of pod %s", o.Container, pod)
	if o.Previous {
		text.WriteString(", as it ran before")
	}
	text.WriteString(":\n")
	stream, err := e.pods.Pods(sites.OperatorNamespace).GetLogs(pod, o).Stream(ctx)
	if err != nil {
		fmt.Fprintf(text, "%v\n", err)
		return
	}
	defer func() { _ = stream.Close() }()
	kept, err := newest(stream, maxLog)
	text.Write(kept)
	if err != nil {
		fmt.Fprintf(text, "\nwhat came after this: %v\n", err)
	}
}

// newest are the last lines of a log, so many bytes of them at most.
func newest(log io.Reader, most int) ([]byte, error) {
	var kept []byte
	cut, next := false, make([]byte, 64<<10)
	for {
		n, err := log.Read(next)
		kept = append(kept, next[:n]...)
		if len(kept) > 2*most || err != nil && len(kept) > most {
			kept, cut = append(kept[:0], kept[len(kept)-most:]...), true
		}
		if err == nil {
			continue
		}
		if cut {
			kept = append([]byte("(older lines are left out)\n"), kept[bytes.IndexByte(kept, '\n')+1:]...)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return kept, err
	}
}

// keeping has the evidence of a test that has failed kept before its end takes objects away.
type keeping struct {
	client.Client
	keep func()
}

// Delete keeps first what there is.
func (c keeping) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	c.keep()
	return c.Client.Delete(ctx, obj, options...)
}

// DeleteAllOf keeps first what there is.
func (c keeping) DeleteAllOf(ctx context.Context, obj client.Object, options ...client.DeleteAllOfOption) error {
	c.keep()
	return c.Client.DeleteAllOf(ctx, obj, options...)
}
