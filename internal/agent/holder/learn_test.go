// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// What is found out when nobody waits for it any more goes nowhere: a statement ends when it ends.
func TestWhatIsFoundOutTooLateGoesNowhere(t *testing.T) {
	g := NewWithT(t)
	agreement, err := credentials.Agree(nil, nil, false)
	g.Expect(err).NotTo(HaveOccurred())
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := authority.Issue(credentials.CertificateNames("web", "tukpub", nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	connector := mssql.NewConnector(
		mssql.Options{Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return mssql.Access{Passwords: agreement.Passwords, CA: data[credentials.KeyCA]}, nil
		})},
	)
	t.Cleanup(func() { _ = connector.Close() })
	e := &sqlEngine{
		connector: connector,
		target:    mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleAgent},
	}

	ctx, giveUp := context.WithCancel(t.Context())
	given, over := make(chan struct{}), make(chan struct{})
	found, err := learn(ctx, e, func(context.Context, *mssql.DB) ([]string, error) {
		defer close(over)
		giveUp()
		<-given
		return []string{"late"}, nil
	})
	close(given)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(found).To(BeNil())
	<-over
	g.Expect(found).To(BeNil())
}
