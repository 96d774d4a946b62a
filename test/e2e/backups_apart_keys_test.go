// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// apartLost is the server in whose folder the bucket has the backup of an encrypted database, and its certificate.
const apartLost = "apartlost"

// isLost puts into the bucket what there is of an encrypted database whose server is lost: its full backup, and the
// certificate, sealed by the secret. The stand-in encrypts no database: it is one of the source's, whose description
// says by what it was encrypted. The certificate is of the source's engine, which has it no more then.
func (x *apart) isLost(secret string) (thumbprint string) {
	t, g, source := x.t, NewWithT(x.t), x.sa(x.source, "master")
	t.Helper()
	write(t, source, "IF NOT EXISTS (SELECT 1 FROM sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##') "+
		"CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'One-longpass.word1'")
	write(t, source, "CREATE CERTIFICATE LostKey WITH SUBJECT = N'lost'")
	has, err := mssql.ReadEncryption(t.Context(), source)
	g.Expect(err).NotTo(HaveOccurred())
	thumbprint = has.Certificates["LostKey"].Thumbprint
	password, err := credentials.NewPassword()
	g.Expect(err).NotTo(HaveOccurred())
	read, err := mssql.ReadKey(t.Context(), source, thumbprint, password)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(source.Exec(t.Context(), tsql.DropCertificate("LostKey"))).To(Succeed())
	sealed, err := backup.Key{Name: read.Name, Thumbprint: thumbprint, Certificate: read.DER, PrivateKey: read.PrivateKey,
		Password: password}.Seal([]byte(secret), "lost")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := sealed.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	x.put(backup.KeyObject(x.at.name, "server/"+apartLost, thumbprint), content)

	bucket := x.kept[apartBucket]
	full := bucket.of(t, x.folder(apartSource), backup.Full)[0]
	lost := full
	lost.Target, lost.EncryptedBy = "server/"+apartLost, thumbprint
	for _, f := range full.Files {
		x.pod.putThere(t, lost.KeyOf(f.Name), bucket.root+"/"+full.KeyOf(f.Name))
	}
	content, err = lost.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	x.put(lost.Key(), content)
	return thumbprint
}

// put makes an object of the bucket.
func (x *apart) put(key string, content []byte) {
	x.t.Helper()
	file := filepath.Join(x.t.TempDir(), "object")
	NewWithT(x.t).Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	x.pod.put(x.t, key, file)
}

// certificates counts those of a thumbprint with their private key at a server.
func (x *apart) certificates(server *v1alpha1.SQLServer, thumbprint string) int {
	x.t.Helper()
	return x.count(server, "SELECT COUNT(*) FROM sys.certificates WHERE pvt_key_encryption_type = 'MK' AND "+
		"thumbprint = 0x"+thumbprint)
}

// comesBackWithItsKey restores the database of the server that is lost: it waits until the Secret is there that opens
// what the bucket keeps, and the certificate is made of that.
func (x *apart) comesBackWithItsKey(rows []int) {
	t, g := x.t, NewWithT(x.t)
	t.Helper()
	const secret = "what is kept outside of the cluster"
	thumbprint := x.isLost(secret)
	r := x.restore("unlocked", apartBucket, func(s *v1alpha1.RestoreSpec) {
		s.Source.Path = x.folder(apartLost)
		s.Keys = &v1alpha1.SealedKeys{SealSecretRef: v1alpha1.SecretReference{Name: apartSeal}}
	})
	g.Expect(x.says(r, v1alpha1.ReasonKeyAwaited, time.Minute)).To(And(ContainSubstring("0x"+thumbprint),
		ContainSubstring("Secret "+apartSeal+" is not there")))
	g.Expect(x.knows(t.Context(), "dublin")).NotTo(BeEmpty(), "who restores has the key for that time")
	g.Expect(x.knows(t.Context(), "tukwila")).To(BeEmpty(), "who backs up has the public one alone")
	g.Expect(r.Status.DownloadedBytes).To(BeZero())
	g.Expect(x.databases(x.keeper, "unlocked")).To(BeZero())
	g.Expect(x.certificates(x.keeper, thumbprint)).To(BeZero())
	x.create(&corev1.Secret{ObjectMeta: x.at.of(apartSeal), StringData: map[string]string{v1alpha1.KeySeal: secret}})
	x.succeeds(r)
	g.Expect(x.certificates(x.keeper, thumbprint)).To(Equal(1))
	x.has(x.keeper, "unlocked", rows)
}

// knows are the Secrets of a site that have the private key, but for the user's own.
func (x *apart) knows(ctx context.Context, site string) (names []string, err error) {
	var all corev1.SecretList
	err = x.b.Site(site).Client.List(ctx, &all, client.InNamespace(x.at.name))
	for _, s := range all.Items {
		for _, data := range s.Data {
			if s.Name != apartKey && bytes.Contains(data, []byte(x.key.String())) {
				names = append(names, s.Name)
			}
		}
	}
	return names, err
}

// forgets waits until no Secret of a site has the private key: what Restores were told is taken back.
func (x *apart) forgets(site string) {
	x.t.Helper()
	bed.Wait(x.t, "nothing at "+site+" has the private key", time.Minute, func(ctx context.Context) (bool, string, error) {
		names, err := x.knows(ctx, site)
		return err == nil && len(names) == 0, fmt.Sprint(names), err
	})
}
