// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// lackedKey is a certificate by which databases of the group are encrypted, and that a replica's server lacks.
type lackedKey struct {
	server v1alpha1.ServerName
	// thumbprint in hexadecimal digits.
	thumbprint string
	databases  []string
	// bare says that the server has the certificate, without a private key that its master key opens.
	bare bool
	// from has it to give, empty where no server that answers does; name is what it is called at the server that lacks it.
	from v1alpha1.ServerName
	name string
}

// encryptors are what encrypts the group's databases by the word of the primary, of the server that is to be the first
// where there is no group yet: certificates by their thumbprints, with the databases, and the databases whose key a
// provider outside has. Nothing is known without either.
func (o Observed) encryptors(d Desired) (certificates map[string][]string, outside []string, known bool) {
	server := o.primary(d)
	if server == "" && !o.exists(d) {
		server = d.Group.Spec.InitialPrimary
	}
	i, ok := o.Instances[server]
	if !ok || i.Err != nil {
		return nil, nil, false
	}
	certificates = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(i.Mirroring.Encryptors)) {
		switch e := i.Mirroring.Encryptors[name]; {
		case !contains(d.databases(), name) && (i.Group == nil || !contains(i.Group.Databases, name)):
		case e.Certificate:
			certificates[e.Thumbprint] = append(certificates[e.Thumbprint], name)
		default:
			outside = append(outside, name)
		}
	}
	return certificates, outside, true
}

// lackedKeys are the keys that replicas with data lack, of those that answer.
func (o Observed) lackedKeys(d Desired) (lacked []lackedKey) {
	certificates, _, _ := o.encryptors(d)
	for _, r := range d.Group.Spec.Replicas {
		i, ok := o.Instances[r.Server]
		if !ok || i.Err != nil || r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		for _, thumbprint := range slices.Sorted(maps.Keys(certificates)) {
			have := key(i.Mirroring, thumbprint)
			if have != nil && have.PrivateKey {
				continue
			}
			l := lackedKey{server: r.Server, thumbprint: thumbprint, databases: certificates[thumbprint], bare: have != nil}
			if !l.bare {
				l.from, l.name = o.source(d, thumbprint, i.Mirroring)
			}
			lacked = append(lacked, l)
		}
	}
	return lacked
}

// source is a server that has a certificate to give, the primary before others, and the name that it gets where it is
// lacked: its own, unless another one has that there. What names itself as the operator's is a server's own at its
// endpoint: whoever had its private key could pass for that server.
func (o Observed) source(d Desired, thumbprint string, lacks mssql.Mirroring) (v1alpha1.ServerName, string) {
	servers := o.answering(d)
	if primary := o.primary(d); primary != "" {
		servers = append([]v1alpha1.ServerName{primary}, servers...)
	}
	for _, s := range servers {
		have := key(o.Instances[s].Mirroring, thumbprint)
		if have == nil || !have.PrivateKey || strings.HasPrefix(strings.ToLower(have.Name), operators) {
			continue
		}
		name := have.Name
		if taken(lacks, name) {
			name = shortened(name, longestName-len(thumbprint)-1) + "_" + thumbprint
		}
		return s, name
	}
	return "", ""
}

// operators begins the names of what the operator makes for itself.
const operators = "geosql_"

// longestName is how many characters a name of the engine has at most (sysname).
const longestName = 128

func shortened(name string, most int) string {
	runes := []rune(name)
	return string(runes[:min(len(runes), most)])
}

// taken tells that there is a certificate of a name, compared as the server's default collation does.
func taken(m mssql.Mirroring, name string) bool {
	for have := range m.Certificates {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}

// key is the certificate of a thumbprint, nil where there is none.
func key(m mssql.Mirroring, thumbprint string) *mssql.Certificate {
	for _, c := range m.Certificates {
		if c.Thumbprint == thumbprint {
			return &c
		}
	}
	return nil
}

// keyless tells that a server lacks the certificate by which the primary's database of the name is encrypted.
func (o Observed) keyless(d Desired, server v1alpha1.ServerName, name string) bool {
	for database, e := range o.Instances[o.primary(d)].Mirroring.Encryptors {
		if strings.EqualFold(database, name) && e.Certificate {
			have := key(o.Instances[server].Mirroring, e.Thumbprint)
			return have == nil || !have.PrivateKey
		}
	}
	return false
}

// planKeys brings the certificates of the group's encrypted databases to the replicas that lack them, from one that has
// them. A replica that has joined goes on with everything else meanwhile, one that has not waits for them: what is
// seeded without them fails. sa reads and makes them: both take CONTROL, of the certificate and of master.
func planKeys(d Desired, o Observed, p *reconcile.Plan) bool {
	waits := false
	for _, l := range o.lackedKeys(d) {
		if l.from == "" || !o.Instances[l.server].Mirroring.MasterKey {
			continue
		}
		copied := CopyKey{From: l.from, To: l.server, Thumbprint: l.thumbprint, Name: l.name, Databases: l.databases}
		if o.Instances[l.server].Group == nil {
			p.Add(copied)
			waits = true
			continue
		}
		p.Beside(copied, v1alpha1.ReasonKeyMissing)
	}
	if waits {
		return p.Settle(creating("the certificates of the encrypted databases are brought to the replicas that lack them"))
	}
	return true
}

// words says of a lacked key which and where, and what is to be done about it.
func (l lackedKey) words() string {
	says := fmt.Sprintf("%s lacks the certificate with the thumbprint 0x%s, by which %s is encrypted", host(l.server),
		l.thumbprint, list(l.databases))
	switch {
	case l.from != "":
		return says + "; it is copied from " + host(l.from)
	case l.bare:
		return fmt.Sprintf("%s has the certificate with the thumbprint 0x%s, by which %s is encrypted, without a private "+
			"key that its master key opens: drop it there, or give it the key by ALTER CERTIFICATE", host(l.server),
			l.thumbprint, list(l.databases))
	}
	return says + "; no replica that answers has it to give: make it there (" + keysPage + ")"
}

// keysPage says how a certificate is brought to a server by hand.
const keysPage = "docs/runbooks/encrypted.md"

// keysLacked is what the group waits for where replicas lack keys; false where none does.
func keysLacked(d Desired, o Observed) (conditions.Outcome, bool) {
	var copied, asked []string
	for _, l := range o.lackedKeys(d) {
		if l.from != "" {
			copied = append(copied, l.words())
		} else {
			asked = append(asked, l.words())
		}
	}
	serves := host(o.primary(d)) + " is primary and serves; "
	switch {
	case len(asked) > 0:
		return conditions.Stalled(v1alpha1.ReasonKeyMissing, serves+strings.Join(append(asked, copied...), ". ")), true
	case len(copied) > 0:
		return conditions.InProgress(v1alpha1.ReasonKeyMissing, serves+strings.Join(copied, ". ")), true
	}
	return conditions.Outcome{}, false
}

// keysComplete says whether every replica has what the group's encrypted databases are opened by; nil of a group
// without any. It is not known while nobody tells what is encrypted.
func keysComplete(d Desired, o Observed) (*metav1.Condition, bool) {
	certificates, outside, known := o.encryptors(d)
	if !known || len(certificates)+len(outside) == 0 {
		return nil, known
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionKeysComplete, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonKeysPresent, Message: "every replica has the certificates of the encrypted databases"}
	var lacked []string
	for _, l := range o.lackedKeys(d) {
		lacked = append(lacked, l.words())
	}
	var silent []v1alpha1.ServerName
	for _, r := range d.Group.Spec.Replicas {
		if r.AvailabilityMode != v1alpha1.ConfigurationOnly && slices.Contains(o.silent(d), r.Server) {
			silent = append(silent, r.Server)
		}
	}
	switch {
	case len(lacked) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonKeyMissing, strings.Join(lacked, ". ")
	case len(silent) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonReplicaNotAnswering
		c.Message = "whether these have the certificates of the encrypted databases is not known: " + list(silent)
	case len(outside) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonKeyOfProvider
		c.Message = "encrypted by a key of a provider outside, which nobody compares: " + list(outside)
	}
	return c, true
}
