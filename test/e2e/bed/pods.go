// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubectl runs the bed's kubectl against the site and returns its two outputs. The error carries the second.
func (s *Site) Kubectl(ctx context.Context, arguments ...string) (stdout, stderr string, err error) {
	command := exec.CommandContext(ctx, filepath.Join(s.bed.Cache, "bin/kubectl"),
		append([]string{"--kubeconfig", s.Kubeconfig, "--context", "kind-" + s.Name}, arguments...)...)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err = command.Run(); err != nil {
		err = fmt.Errorf(
			"kubectl %s at %s: %w: %s",
			strings.Join(arguments, " "),
			s.Name,
			err,
			strings.TrimSpace(complaint.String()),
		)
	}
	return out.String(), complaint.String(), err
}

// Namespace makes a namespace under restricted pod security at every site and removes it after the test.
// The name is the prefix and some letters that no other has.
func (b *Bed) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	name := fmt.Sprintf("%s-%x", prefix, time.Now().UnixNano()&0xffffff)
	for _, site := range b.Sites {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{
				"pod-security.kubernetes.io/enforce": "restricted",
				"app.kubernetes.io/part-of":          "geosql-e2e",
			}}}
		if err := site.Client.Create(t.Context(), namespace); err != nil {
			t.Fatalf("namespace %s at %s: %v", name, site.Name, err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := client.IgnoreNotFound(site.Client.Delete(ctx, namespace)); err != nil {
				t.Errorf("removal of namespace %s at %s: %v", name, site.Name, err)
			}
		})
	}
	return name
}

// Shell is a pod with bash, curl, iproute2, socat and iperf3 that runs until the test is over.
type Shell struct {
	Site *Site
	Pod  *corev1.Pod
}

// ShellPod is the pod that StartShell starts: user 10001, restricted pod security, `script` run by bash.
func (s *Site) ShellPod(t testing.TB, namespace, name, script string) *corev1.Pod {
	t.Helper()
	yes, no, user, grace := true, false, int64(10001), int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "shell", Image: s.bed.Image(t, "SHELL_IMAGE"), ImagePullPolicy: corev1.PullNever,
				Command: []string{"bash", "-c", script},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
}

// StartShell creates the pod and waits until its container runs.
func (s *Site) StartShell(t testing.TB, pod *corev1.Pod) *Shell {
	t.Helper()
	if err := s.Client.Create(t.Context(), pod); err != nil {
		t.Fatalf("pod %s/%s at %s: %v", pod.Namespace, pod.Name, s.Name, err)
	}
	Wait(
		t,
		fmt.Sprintf("pod %s/%s at %s runs", pod.Namespace, pod.Name, s.Name),
		90*time.Second,
		func(ctx context.Context) (bool, string, error) {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return false, "", err
			}
			for _, status := range pod.Status.ContainerStatuses {
				if waiting := status.State.Waiting; waiting != nil {
					return false, waiting.Reason + " " + waiting.Message, nil
				}
			}
			return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "", string(pod.Status.Phase), nil
		},
	)
	return &Shell{Site: s, Pod: pod}
}

// Ready tells whether a pod is ready and stays: one that is being deleted may still be.
func Ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// NextPod waits until a pod of that name has come after the one with that UID and is ready, and returns it.
func (s *Site) NextPod(t testing.TB, namespace, name string, old types.UID, timeout time.Duration) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	Wait(
		t,
		fmt.Sprintf("pod %s/%s at %s has been replaced and is ready", namespace, name, s.Name),
		timeout,
		func(ctx context.Context) (bool, string, error) {
			if err := s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
				return false, "", err
			}
			if pod.UID == old {
				return false, "the old pod is there", nil
			}
			return Ready(pod), string(pod.Status.Phase), nil
		},
	)
	return pod
}

// Copy brings a file of this machine, a program, into the container.
func (h *Shell) Copy(ctx context.Context, file, to string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	command := exec.CommandContext(ctx, filepath.Join(h.Site.bed.Cache, "bin/kubectl"), "--kubeconfig", h.Site.Kubeconfig,
		"--context", "kind-"+h.Site.Name, "exec", "-i", "-n", h.Pod.Namespace, h.Pod.Name, "-c", "shell", "--", "bash", "-c",
		"cat > "+to+" && chmod +x "+to)
	command.Stdin = content
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s into pod %s at %s: %w: %s", file, h.Pod.Name, h.Site.Name, err, out)
	}
	return nil
}

// Run runs a bash script in the pod and returns its standard output without surrounding blanks.
func (h *Shell) Run(ctx context.Context, script string) (string, error) {
	out, _, err := h.Site.Exec(ctx, h.Pod.Namespace, h.Pod.Name, "", "bash", "-c", script)
	return strings.TrimSpace(out), err
}

// Wait asks `done` twice a second until it says so. Its progress text is logged when it changes and every 15 s, and
// stands in the failure when `timeout` is over. An error from `done` is progress too, unless the object is gone for
// good (then it is up to `done` to call t.Fatal).
func Wait(
	t testing.TB,
	what string,
	timeout time.Duration,
	done func(ctx context.Context) (ok bool, progress string, err error),
) {
	t.Helper()
	if err := until(t.Context(), t, what, timeout, done); err != nil {
		t.Fatal(err)
	}
}

// Until is Wait for the time when the test is over: it returns what Wait would fail with.
func Until(
	t testing.TB,
	what string,
	timeout time.Duration,
	done func(ctx context.Context) (ok bool, progress string, err error),
) error {
	t.Helper()
	return until(context.Background(), t, what, timeout, done)
}

func until(
	ctx context.Context,
	t testing.TB,
	what string,
	timeout time.Duration,
	done func(ctx context.Context) (ok bool, progress string, err error),
) error {
	t.Helper()
	since, last, lastLog := time.Now(), "", time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, progress, err := done(ctx)
		if ok && err == nil {
			return nil
		}
		switch {
		case apierrors.IsNotFound(err):
			progress = "not there yet"
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			progress = err.Error()
		}
		if progress != "" && (progress != last || time.Since(lastLog) > 15*time.Second) {
			t.Logf("%5.1fs waiting until %s: %s", time.Since(since).Seconds(), what, progress)
			last, lastLog = progress, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s it is not so that %s: %s", timeout, what, last)
		case <-ticker.C:
		}
	}
}
