// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/mssql"
)

// holes are sidecars that answer, beside engines of which some take what is sent and never answer.
type holes struct {
	// silent says of which databases of an engine nothing is heard; msdb is one of them.
	silent func(database string) bool
}

func (h *holes) Orders(context.Context, string, v1alpha1.ServerName) (map[string][]byte, error) {
	return nil, nil
}

func (h *holes) Write(context.Context, string, v1alpha1.ServerName, client.FieldOwner, map[string][]byte) error {
	return nil
}

func (h *holes) Part(_ context.Context, _ string, _ v1alpha1.ServerName, _ string, into any) error {
	*into.(*[]backups.Status) = []backups.Status{{Policy: "nightly"}}
	return nil
}

func (h *holes) User(ctx context.Context, _ string, _ v1alpha1.ServerName, database string) (*mssql.UserState, error) {
	if !h.silent(database) {
		return user(), nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *holes) Edition(context.Context, string, v1alpha1.ServerName) (int, error) {
	return mssql.EngineEditionEnterprise, nil
}

func (h *holes) Encryption(context.Context, string, v1alpha1.ServerName) (mssql.Encryption, error) {
	return mssql.Encryption{}, nil
}

func (h *holes) Models(context.Context, string, v1alpha1.ServerName) (map[string]mssql.BackupModel, error) {
	return map[string]mssql.BackupModel{"content": {Recovery: "FULL"}}, nil
}

// A primary that takes what is sent and never answers leaves time for the report, whatever it does not answer and
// however many databases it has; what the sidecars say is known all the same.
func TestAPrimaryThatNeverAnswersLeavesTimeForTheReport(t *testing.T) {
	for why, silent := range map[string]func(string) bool{
		"for nothing":       func(string) bool { return true },
		"for its databases": func(database string) bool { return database != "msdb" },
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h := &holes{silent: silent}
				r := &Reconciler{sidecars: h, engines: h, now: time.Now}
				d := desired()
				for n := range 60 {
					d.Databases = append(d.Databases, v1alpha1.DatabaseName(fmt.Sprintf("Orders%d", n)))
				}
				begun := time.Now()
				o, err := r.observe(t.Context(), d)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(time.Since(begun)).To(BeNumerically("<", reconcileTimeout/2))
				says, err := o.Servers["tukpub"].Says.Get()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(says.Policy).To(Equal("nightly"))
				for _, name := range d.Databases {
					g.Expect(o.Users[name].Err()).To(HaveOccurred())
				}
			})
		})
	}
}
