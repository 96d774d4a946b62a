// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// StartControllers starts kube-controller-manager with those of its controllers that make deletion real: what a
// namespace has goes with it, what an owner has goes with that, and a volume that is in use stays. Others may be named,
// as Kubernetes calls them. It ends with the test.
func (a *Server) StartControllers(t testing.TB, others ...string) {
	t.Helper()
	// All programs of Kubernetes are one, which goes by the name that it is called by.
	program, err := filepath.EvalSymlinks(filepath.Join(assets(t), "kube-apiserver"))
	if err != nil {
		t.Fatalf("looking for kube-controller-manager: %v", err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, Kubeconfig(a.Config), 0o600); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	var output bytes.Buffer
	controllers := append([]string{"namespace-controller", "garbage-collector-controller",
		"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller"}, others...)
	cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=1000", "--controllers="+strings.Join(controllers, ","))
	cmd.Args[0] = "kube-controller-manager"
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting kube-controller-manager: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text := output.Bytes()
			t.Logf("kube-controller-manager:\n%s", text[max(0, len(text)-2000):])
		}
	})
}
